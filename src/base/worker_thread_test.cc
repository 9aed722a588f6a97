#include "base/worker_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

namespace sluice {
namespace {

TEST(WorkerThread, RunsTasksInTheirOrder) {
  std::vector<int> ran;
  WorkerThread worker(WorkerThread::AtEnd::kFinish);
  for (int i = 0; i < 100; ++i) worker.Post([&ran, i] { ran.push_back(i); });
  worker.WaitUntilIdle();
  ASSERT_EQ(ran.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

// Posts two tasks, and destroys the WorkerThread while the first runs. Returns how many tasks ran.
int RunAtEnd(WorkerThread::AtEnd at_end) {
  std::atomic<int> ran = 0;
  std::promise<void> began;
  std::promise<void> go_on;
  {
    std::thread releases;
    {
      WorkerThread worker(at_end);
      worker.Post([&] {
        began.set_value();
        go_on.get_future().wait();
        ++ran;
      });
      worker.Post([&] { ++ran; });
      began.get_future().wait();
      releases = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        go_on.set_value();
      });
    }
    releases.join();
  }
  return ran;
}

TEST(WorkerThread, FinishesWhatWasPosted) { EXPECT_EQ(RunAtEnd(WorkerThread::AtEnd::kFinish), 2); }

TEST(WorkerThread, DropsWhatHasNotBegun) { EXPECT_EQ(RunAtEnd(WorkerThread::AtEnd::kDrop), 1); }

TEST(WorkerThread, TakesTasksThatCannotBeCopied) {
  WorkerThread worker(WorkerThread::AtEnd::kFinish);
  int seen = 0;
  worker.Post([&seen, owned = std::make_unique<int>(7)] { seen = *owned; });
  worker.WaitUntilIdle();
  EXPECT_EQ(seen, 7);
}

TEST(WorkerThread, TakesNoSignals) {
  sigset_t mask;
  sigemptyset(&mask);
  WorkerThread worker(WorkerThread::AtEnd::kFinish);
  worker.Post([&mask] { pthread_sigmask(SIG_BLOCK, nullptr, &mask); });
  worker.WaitUntilIdle();
  EXPECT_TRUE(sigismember(&mask, SIGTERM));
  EXPECT_TRUE(sigismember(&mask, SIGPIPE));
  sigset_t here;
  pthread_sigmask(SIG_BLOCK, nullptr, &here);
  EXPECT_FALSE(sigismember(&here, SIGTERM));
}

TEST(Answers, AreTakenOnceAndMakeTheDescriptorReadable) {
  const int descriptor = eventfd(0, EFD_NONBLOCK);
  ASSERT_GE(descriptor, 0);
  Answers<int> answers(descriptor);
  const auto readable = [&] {
    struct pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    return poll(&wait, 1, 0) == 1;
  };
  EXPECT_FALSE(readable());
  answers.Add(1);
  answers.Add(2);
  EXPECT_TRUE(readable());
  EXPECT_EQ(answers.Take(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(answers.Take().empty());
  close(descriptor);
}

}  // namespace
}  // namespace sluice
