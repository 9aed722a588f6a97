#include "train/bundle/workers.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>

#include "train/test_memory_limit.h"
#include "train/torch.h"

namespace sluice::train {
namespace {

TEST(WorkersTest, EachTaskRunsOnceAndAsManyAtATimeAsThereAreCores) {
  Workers workers(2);
  std::vector<int> calls(7);
  std::latch both(2);
  workers.Run(7, [&](std::size_t i) {
    ++calls[i];
    if (i < 2) both.arrive_and_wait();  // ends only if two tasks run at a time
  });
  EXPECT_EQ(calls, std::vector<int>(7, 1));
  workers.Run(0, [](std::size_t) { FAIL(); });
}

// A thread takes its stack from the memory that the process may have.
TEST(WorkersTest, TasksRunAlsoWhereNoThreadCanBeMade) {
  const auto runs_all = [] {
    const MemoryLimit limit(std::int64_t{4} << 20);  // a stack takes 8 MiB
    Workers workers(8);
    std::atomic<int> calls = 0;
    for (int round = 0; round < 2; ++round) workers.Run(9, [&](std::size_t) { ++calls; });
    _exit(calls == 18 ? 0 : 1);
  };
  // In a process of its own: the stacks of threads that have ended are kept for others.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runs_all(), testing::ExitedWithCode(0), "");
}

TEST(WorkersTest, TheThreadsHaveEqualSharesOfTheCores) {
  const int own = at::get_num_threads();
  Workers workers(5);
  const auto shares = [&](std::size_t count) {
    std::vector<int> found(count);
    workers.Run(count, [&](std::size_t i) { found[i] = at::get_num_threads(); });
    return std::set<int>(found.begin(), found.end());
  };
  EXPECT_EQ(shares(9), std::set<int>{1});
  EXPECT_EQ(shares(2), std::set<int>{2});
  EXPECT_EQ(shares(1), std::set<int>{5});
  EXPECT_EQ(at::get_num_threads(), own);
  int of_new_thread = 0;
  std::thread([&] { of_new_thread = at::get_num_threads(); }).join();
  EXPECT_EQ(of_new_thread, own);
}

TEST(WorkersTest, GradientsAreComputedByTheThreadThatAsksForThem) {
  Workers workers(2);
  std::latch both(2);
  std::atomic<int> hooks = 0;
  workers.Run(2, [&](std::size_t) {
    both.arrive_and_wait();
    const auto thread = std::this_thread::get_id();
    const at::Tensor weight = at::ones({300, 300}).requires_grad_();
    const at::Tensor product = at::mm(weight, weight);
    product.register_hook([&](const at::Tensor&) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      EXPECT_EQ(at::get_num_threads(), 1);
      ++hooks;
    });
    const auto gradients = torch::autograd::grad({product.sum()}, {weight});
    EXPECT_EQ(gradients[0][0][0].item<float>(), 600);
  });
  EXPECT_EQ(hooks, 2);
}

TEST(WorkersTest, SettingsOfTheCallerHold) {
  Workers workers(2);
  for (const bool enabled : {false, true}) {
    const at::AutoGradMode gradients(enabled);
    workers.Run(4, [&](std::size_t) { EXPECT_EQ(at::GradMode::is_enabled(), enabled); });
  }
}

TEST(WorkersTest, TheExceptionOfTheLowestNumberIsThrownAgain) {
  Workers workers(2);
  std::atomic<int> calls = 0;
  const auto fail = [&](std::size_t i) {
    ++calls;
    if (i == 3 || i == 5) throw std::runtime_error(std::to_string(i));
  };
  try {
    workers.Run(8, fail);
    FAIL() << "an exception was expected";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
  EXPECT_EQ(calls, 8) << "the other tasks run all the same";
  workers.Run(2, [](std::size_t) {});
}

}  // namespace
}  // namespace sluice::train
