#include "client/client.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "client/test_controller.h"

namespace sluice::client {
namespace {

using std::chrono::milliseconds;

Moment Soon() { return Clock::now() + milliseconds(kLimitMs); }

template <typename T>
ErrorCode CodeOf(const Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? ErrorCode::kCorruption : result.error().code;
}

TEST(ClientTest, ManyReportsAreSentAtOnceAndABadOneDoesNotHoldTheOthersBack) {
  ClientWorld world;
  const auto client = world.Connected(4);
  world.Join(*client, TestLaunch(8));
  std::vector<LaunchReport> reports{{TestLaunch(7), 1, {{"loss", 1}}},
                                    {TestLaunch(9), 1, {{"loss", 9}}},
                                    {TestLaunch(8), 1, {{"loss", 2}}},
                                    {TestLaunch(7), 1, {{"loss", 3}}},
                                    {TestLaunch(7), 2, {{"loss", 4}}}};
  const Status status = client->Report(reports);
  EXPECT_EQ(CodeOf(status), ErrorCode::kNotFound);
  EXPECT_EQ(status.error().message,
            "expected a launch that this process carries (trial 7, trial 8), found trial 9, "
            "launch 1");
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i)
    losses.push_back(world.controller().Expect<wire::Report>().values.at(0).second);
  EXPECT_EQ(losses, (std::vector<double>{1, 2, 4}));
  world.controller().Acknowledge(TestLaunch(7), 2);
  world.controller().Acknowledge(TestLaunch(8), 1);
  client->Close();
  EXPECT_EQ(world.FileOf(TestLaunch(7), "acknowledged"), "00000000000000000002\n");
}

TEST(ClientTest, WrongInputIsAnErrorThatSaysWhatWasExpected) {
  ClientWorld world;
  const auto client = world.Connected(2);
  const LaunchRef at = TestLaunch(7);
  EXPECT_EQ(CodeOf(client->Report({at, -1})), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(client->Report({at, 3}));
  const Status status = client->Report({at, 3});
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message,
            "trial 7, launch 1: work: expected more than the 3 reported last, found 3");
  EXPECT_EQ(CodeOf(client->Report({at, 4, {{std::string(2 << 20, 'x'), 1}}})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->Report({at, 4, wire::Values(10'001, {"a", 1})})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->SetAttribute(at, "", true)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->Saved(at, -1, 0)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->Saved(at, 1, -1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->Profile(at, {.trials = 0})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->Profile(at, {.work_per_second = NAN})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->SetCapacity(0)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->SetCapacity(wire::kMostCapacity + 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client->Secure(TestLaunch(8))), ErrorCode::kNotFound);
  ASSERT_TRUE(client->Leave(at, Client::As::kDone));
  EXPECT_EQ(CodeOf(client->Leave(at, Client::As::kDone)), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(client->Report({at, 5})), ErrorCode::kNotFound);
  world.controller().Expect<wire::Report>();
  world.controller().Expect<wire::Done>();
  world.controller().Acknowledge(at, 2);
}

TEST(ClientTest, AFullWindowHoldsBackItsOwnLaunchOnly) {
  ClientWorld world;
  const auto client = world.Connected(2, /*window=*/1);
  world.Join(*client, TestLaunch(8), /*window=*/1);
  ASSERT_TRUE(client->Report({TestLaunch(7), 1}));
  std::atomic<bool> is_through = false;
  std::thread other([&] {
    EXPECT_TRUE(client->Report({TestLaunch(7), 2}));
    is_through = true;
  });
  ASSERT_TRUE(client->Report({TestLaunch(8), 1}));
  EXPECT_EQ(world.controller().Expect<wire::Report>().at, TestLaunch(7));
  EXPECT_EQ(world.controller().Expect<wire::Report>().at, TestLaunch(8));
  EXPECT_FALSE(is_through);
  world.controller().Acknowledge(TestLaunch(7), 1);
  EXPECT_EQ(world.controller().Expect<wire::Report>().work, 2);
  other.join();
  world.controller().Acknowledge(TestLaunch(7), 2);
  world.controller().Acknowledge(TestLaunch(8), 1);
}

TEST(ClientTest, ABatchLongerThanTheWindowGoesThrough) {
  ClientWorld world;
  const auto client = world.Connected(1, /*window=*/3);
  std::thread controller([&] {
    for (std::uint64_t seq = 1; seq <= 10; ++seq) {
      EXPECT_EQ(world.controller().Expect<wire::Report>().seq, seq);
      if (seq % 3 == 0 || seq == 10) world.controller().Acknowledge(TestLaunch(7), seq);
    }
  });
  std::vector<LaunchReport> reports;
  for (Work work = 1; work <= 10; ++work) reports.push_back({TestLaunch(7), work});
  EXPECT_TRUE(client->Report(reports));
  controller.join();
}

TEST(ClientTest, CapacityIsLoweredOnceEnoughLaunchesAreHandedBack) {
  ClientWorld world;
  const auto client = world.Connected(3);
  world.Join(*client, TestLaunch(8));
  world.Join(*client, TestLaunch(9));
  const Status status = client->SetCapacity(2);
  EXPECT_EQ(CodeOf(status), ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(status.error().message.ends_with("found 2: release 1 of them first"))
      << status.error().message;
  ASSERT_TRUE(client->Leave(TestLaunch(9), Client::As::kReleased));
  ASSERT_TRUE(client->SetCapacity(2));
  EXPECT_EQ(world.controller().Expect<wire::Released>().at, TestLaunch(9));
  EXPECT_EQ(world.controller().Expect<wire::Capacity>().capacity, 2);
  world.controller().Acknowledge(TestLaunch(9), 1);
}

// The program has not been told of the launch, so the client hands the launch back itself.
TEST(ClientTest, ALaunchThatTheProgramDoesNotKnowIsHandedBackForIt) {
  ClientWorld world;
  const auto client = world.Connected(2);
  world.controller().Send(world.Assign(TestLaunch(8)));
  while (client->Carried().size() < 2) std::this_thread::yield();
  ASSERT_TRUE(client->SetCapacity(1));
  EXPECT_EQ(world.controller().Expect<wire::Released>().at, TestLaunch(8));
  EXPECT_EQ(world.controller().Expect<wire::Capacity>().capacity, 1);
  EXPECT_TRUE(client->Take().joined.empty());
  EXPECT_EQ(client->Carried(), std::vector{TestLaunch(7)});
  world.controller().Acknowledge(TestLaunch(8), 1);
}

TEST(ClientTest, EverythingIsToldOnce) {
  ClientWorld world;
  const auto client = world.Connected(2);
  world.controller().Send(wire::Budget{.at = TestLaunch(7), .target = 5});
  const News first = client->Wait(Soon());
  ASSERT_EQ(first.targets.size(), 1u);
  EXPECT_EQ(first.targets.front().target, 5);
  world.controller().Send(wire::Pause{TestLaunch(7)});
  const News second = client->Wait(Soon());
  ASSERT_EQ(second.must_leave.size(), 1u);
  EXPECT_TRUE(second.targets.empty());
  // A stop for good overrides the pause; a pause does not override a stop.
  world.controller().Send(wire::Stop{.at = TestLaunch(7), .why = "stopped"});
  const News third = client->Wait(Soon());
  ASSERT_EQ(third.must_leave.size(), 1u);
  EXPECT_EQ(third.must_leave.front().why, MustLeave::Why::kStop);
  EXPECT_EQ(third.must_leave.front().reason, "stopped");
  world.controller().Send(wire::Pause{TestLaunch(7)});
  world.controller().Send(wire::Exit{});
  const News fourth = client->Wait(Soon());
  EXPECT_TRUE(fourth.must_leave.empty());
  EXPECT_TRUE(fourth.finished);
  EXPECT_EQ(fourth.alone, "");
}

TEST(ClientTest, WaitEndsAtItsDeadline) {
  ClientWorld world;
  const auto client = world.Connected(1);
  const Moment deadline = Clock::now() + milliseconds(30);
  const News news = client->Wait(deadline);
  EXPECT_GE(Clock::now(), deadline);
  EXPECT_TRUE(news.joined.empty() && !news.finished);
}

TEST(ClientTest, WhatIsSaidOfARefusedLaunchIsDropped) {
  ClientWorld world;
  const auto client = world.Connected(2);
  world.Join(*client, TestLaunch(8));
  ASSERT_TRUE(client->Report({TestLaunch(8), 1}));
  world.controller().Expect<wire::Report>();
  world.controller().Send(wire::Refuse{.reason = "given up", .at = TestLaunch(8)});
  while (client->Carried().size() > 1) std::this_thread::yield();
  EXPECT_TRUE(client->Report({TestLaunch(8), 2}));  // the program does not know yet
  const News news = client->Wait(Soon());
  ASSERT_EQ(news.must_leave.size(), 1u);
  EXPECT_EQ(news.must_leave.front().why, MustLeave::Why::kRefused);
  EXPECT_EQ(news.must_leave.front().reason, "given up");
  EXPECT_TRUE(client->Secure(TestLaunch(8)));
  EXPECT_TRUE(client->Leave(TestLaunch(8), Client::As::kPaused));
  EXPECT_EQ(CodeOf(client->Report({TestLaunch(8), 3})), ErrorCode::kNotFound);
  ASSERT_TRUE(client->Leave(TestLaunch(7), Client::As::kDone));
  world.controller().Expect<wire::Done>();
  world.controller().Acknowledge(TestLaunch(7), 1);
  client->Close();
  EXPECT_EQ(world.FileOf(TestLaunch(8), "spool.jsonl"), "");
}

TEST(ClientTest, AMessageThatCannotBeSpooledIsSecureOnceItIsAcknowledged) {
  ClientWorld world;
  const auto client = world.Connected(1);
  const std::string folder = world.Folder(TestLaunch(7));
  std::filesystem::create_directories(folder + "/spool.jsonl");  // cannot be written
  ASSERT_TRUE(client->Report({TestLaunch(7), 1}));
  std::thread controller([&] {
    world.controller().Expect<wire::Report>();
    world.controller().Acknowledge(TestLaunch(7), 1);
  });
  EXPECT_TRUE(client->Secure(TestLaunch(7)));
  controller.join();
}

TEST(ClientTest, TheClientOutlivesControllersAndLeavesWithoutOne) {
  ClientWorld world;
  auto settings = world.MakeSettings(2);
  settings.first.lease_ms = 300;
  world.EndController();
  const auto client = Client::Open(std::move(settings));
  ASSERT_TRUE(client);
  ASSERT_TRUE((*client)->Report({TestLaunch(7), 1}));
  EXPECT_TRUE(world.FileOf(TestLaunch(7), "spool.jsonl").ends_with("}\n"));
  News news = (*client)->Wait(Soon());  // it joined
  ASSERT_EQ(news.joined.size(), 1u);
  news = (*client)->Wait(Soon());
  ASSERT_EQ(news.must_leave.size(), 1u);
  EXPECT_EQ(news.must_leave.front().why, MustLeave::Why::kAlone);
  EXPECT_EQ(news.alone, "the controller was not heard for 0.3 s");
  (*client)->Close();
  EXPECT_TRUE(std::filesystem::exists(world.Folder(TestLaunch(7)) + "/paused"));
}

// Several threads report for several launches, and the connections break again and again. The
// controller must get every message, and those of each launch in order.
TEST(ClientTest, NothingIsLostWhenConnectionsBreak) {
  constexpr int kLaunches = 8;
  constexpr Work kReports = 400;
  ClientWorld world;
  auto opened = Client::Open(world.MakeSettings(kLaunches));
  ASSERT_TRUE(opened);
  Client& client = **opened;
  std::map<LaunchRef, std::uint64_t> last;
  std::set<LaunchRef> done;
  std::thread controller([&] {
    for (int connection = 0; done.size() < kLaunches; ++connection) {
      world.controller().Accept();
      world.controller().Welcome(/*window=*/16);
      for (std::uint32_t trial = 8; connection == 0 && trial < 7 + kLaunches; ++trial)
        world.controller().Send(world.Assign(TestLaunch(trial)));
      // Each connection breaks after some messages, while others are on their way.
      for (int left = 50 + 37 * (connection % 7); left > 0 && done.size() < kLaunches; --left) {
        const auto message = world.controller().Hear();
        if (!message) return ADD_FAILURE() << "the worker hung up", void();
        const auto [at, seq] = wire::NumberOf(*message);
        ASSERT_LE(seq, last[at] + 1) << "a message is missing";
        last[at] = std::max(last[at], seq);
        if (std::holds_alternative<wire::Done>(*message)) done.insert(at);
        if (left % 3 == 0) world.controller().Acknowledge(at, last[at]);
      }
    }
    for (const auto& [at, seq] : last) world.controller().Acknowledge(at, seq);
  });
  while (client.Carried().size() < kLaunches) std::this_thread::yield();
  std::vector<std::thread> programs;
  for (std::uint32_t part = 0; part < 4; ++part) {
    programs.emplace_back([&client, part] {
      const std::array<LaunchRef, 2> both{TestLaunch(7 + part), TestLaunch(11 + part)};
      for (Work work = 1; work <= kReports; ++work) {
        std::vector<LaunchReport> reports{{both[0], work}, {both[1], work}};
        EXPECT_TRUE(client.Report(reports));
        if (work % 100 == 0) {
          EXPECT_TRUE(client.Saved(both[0], work, 1));
        }
      }
      for (const LaunchRef at : both) EXPECT_TRUE(client.Leave(at, Client::As::kDone));
    });
  }
  for (std::thread& program : programs) program.join();
  controller.join();
  client.Close();
  EXPECT_EQ(done.size(), static_cast<std::size_t>(kLaunches));
  EXPECT_EQ(last[TestLaunch(7)], kReports + 4 + 1);
  EXPECT_EQ(last[TestLaunch(14)], kReports + 1);
  EXPECT_EQ(world.FileOf(TestLaunch(14), "acknowledged"), fmt::format("{:020}\n", kReports + 1));
}

}  // namespace
}  // namespace sluice::client
