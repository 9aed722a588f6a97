// The conversation with a worker: how a stream is cut into lines, which messages are allowed
// when, and which are sent again.

#include "wire/worker_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "wire/outbox.h"
#include "wire/test_launch.h"

namespace sluice::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Step = WorkerLink::Step;

std::string LinkProblem(WorkerLink& link, const FromWorker& message) {
  const auto step = link.Hear(message, {});
  return step ? "" : step.error().message;
}

TEST(LineBufferTest, ReturnsTheSameLinesHoweverTheBytesArrive) {
  const std::string stream = "one\n\ntwo three\n" + std::string(5000, 'x') + "\nrest";
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    LineBuffer buffer;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size =
          std::min<std::size_t>(stream.size() - at, 1 + random.Below(seed < 25 ? 4 : 4000));
      buffer.Append(std::string_view(stream).substr(at, size));
      at += size;
      while (const auto line = buffer.Next()) lines.emplace_back(*line);
    }
    EXPECT_THAT(lines, ElementsAre("one", "", "two three", std::string(5000, 'x')));
    EXPECT_FALSE(buffer.overflown());
  }
}

TEST(LineBufferTest, ALineWithoutEndOverflows) {
  LineBuffer buffer;
  buffer.Append(std::string(kLongestLine, 'x'));
  EXPECT_FALSE(buffer.Next());
  EXPECT_FALSE(buffer.overflown());
  buffer.Append("x");
  EXPECT_FALSE(buffer.Next());
  EXPECT_TRUE(buffer.overflown());
}

TEST(WorkerLinkTest, HelloComesFirstAndOnce) {
  WorkerLink link;
  EXPECT_EQ(LinkProblem(link, Heartbeat{}), "expected hello first");
  EXPECT_EQ(LinkProblem(link, Report{kAt, 1, 1, {}}), "expected hello first");
  EXPECT_FALSE(link.greeted());
  Hello other;
  other.version = 3;
  EXPECT_EQ(LinkProblem(link, other),
            "expected version 1 to 2 of the protocol, found 3: update Sluice, or install the "
            "sluice package that came with it");
  other.version = 0;
  EXPECT_EQ(LinkProblem(link, other),
            "expected version 1 to 2 of the protocol, found 0: update the sluice package");
  EXPECT_FALSE(link.greeted());
  EXPECT_EQ(*link.Hear(Hello{}, FromMicros(5)), Step::kGreeted);
  EXPECT_EQ(link.heard(), FromMicros(5));
  EXPECT_EQ(*link.Hear(Heartbeat{}, FromMicros(9)), Step::kAlive);
  EXPECT_EQ(link.heard(), FromMicros(9));
  EXPECT_EQ(LinkProblem(link, Hello{}), "expected one hello per connection, found another");
}

TEST(WorkerLinkTest, QuestionsNeedNoHello) {
  WorkerLink link;
  EXPECT_EQ(*link.Hear(Ask{"stop", "s", {}}, {}), Step::kAsk);
}

TEST(WorkerLinkTest, OnlyWorkersThatTakeAnotherTrialAreReady) {
  WorkerLink link;
  (void)*link.Hear(Hello{}, {});
  EXPECT_EQ(LinkProblem(link, Ready{}),
            "expected 'reuse' in the hello of a worker that takes another trial");
  WorkerLink other;
  Hello hello;
  hello.reuse = true;
  (void)*other.Hear(hello, {});
  EXPECT_EQ(*other.Hear(Ready{}, {}), Step::kReady);
}

TEST(WorkerLinkTest, MessagesAreOfTheLaunchItHoldsWithoutGaps) {
  WorkerLink link;
  (void)*link.Hear(Hello{}, {});
  EXPECT_EQ(LinkProblem(link, Done{kAt, 1}),
            "expected messages of the launch it was given; found one of trial 7, launch 2");
  link.Hold(kAt, 3);
  EXPECT_EQ(LinkProblem(link, Done{{TrialId(7), LaunchId(1)}, 4}),
            "expected messages of the launch it was given; found one of trial 7, launch 1");
  EXPECT_EQ(LinkProblem(link, Report{kAt, 5, 1, {}}),
            "expected message 4, found 5: some are missing");
  EXPECT_EQ(*link.Hear(Report{kAt, 2, 1, {}}, {}), Step::kNumbered);  // sent again
  EXPECT_EQ(*link.Hear(Report{kAt, 4, 1, {}}, {}), Step::kNumbered);
  EXPECT_EQ(*link.Hear(Saved{kAt, 5, 1, 1}, {}), Step::kNumbered);
  EXPECT_EQ(*link.Hear(Done{kAt, 6}, {}), Step::kNumbered);
  link.ReleaseAll();
  EXPECT_EQ(LinkProblem(link, Done{kAt, 7}),
            "expected messages of the launch it was given; found one of trial 7, launch 2");
  link.Hold({TrialId(8), LaunchId(1)}, 0);
  EXPECT_EQ(*link.Hear(Done{{TrialId(8), LaunchId(1)}, 1}, {}), Step::kNumbered);
}

Hello Bundle(int capacity, std::vector<LaunchRef> launches) {
  return {.version = 2, .worker = "7.2", .launches = std::move(launches), .capacity = capacity};
}

TEST(WorkerLinkTest, AProcessOfManyLaunchesNumbersEachByItself) {
  const LaunchRef other{TrialId(8), LaunchId(1)};
  WorkerLink link;
  ASSERT_TRUE(link.Hear(Bundle(2, {kAt}), {}));
  EXPECT_EQ(LinkProblem(link, Done{kAt, 1}),
            "expected no messages of launches, since this process has no launch; found one of "
            "trial 7, launch 2");
  link.Hold(kAt, 3);
  link.Hold(other, 0);
  EXPECT_EQ(*link.Hear(Report{other, 1, 1, {}}, {}), Step::kNumbered);
  EXPECT_EQ(*link.Hear(Report{kAt, 4, 1, {}}, {}), Step::kNumbered);
  EXPECT_EQ(LinkProblem(link, Report{other, 3, 1, {}}),
            "expected message 2, found 3: some are missing");
  EXPECT_EQ(LinkProblem(link, Report{{TrialId(9), LaunchId(1)}, 1, 1, {}}),
            "expected messages of the launches in this process (of trials 7, 8); found one of "
            "trial 9, launch 1");
  EXPECT_EQ(*link.Hear(Released{kAt, 5}, {}), Step::kNumbered);
  link.Release(kAt);
  EXPECT_THAT(LinkProblem(link, Done{kAt, 6}),
              testing::HasSubstr("found one of trial 7, launch 2"));
  link.Drop(other);
  EXPECT_EQ(*link.Hear(Report{other, 2, 2, {}}, {}), Step::kDropped);
  EXPECT_FALSE(link.Holds(other));
  link.Hold(other, 1);
  EXPECT_EQ(*link.Hear(Report{other, 2, 2, {}}, {}), Step::kNumbered);
}

TEST(WorkerLinkTest, CapacitiesAreSaidAndKept) {
  WorkerLink link;
  EXPECT_EQ(LinkProblem(link, Bundle(0, {})), "expected a capacity of at least 1, found 0");
  EXPECT_EQ(LinkProblem(link, Bundle(1, {kAt, {TrialId(8), LaunchId(1)}})),
            "expected at most as many launches as the capacity of 1, found 2");
  EXPECT_FALSE(link.greeted());
  ASSERT_TRUE(link.Hear(Bundle(16, {}), {}));
  EXPECT_EQ(*link.Hear(Capacity{9}, {}), Step::kCapacity);
  EXPECT_EQ(link.hello().capacity, 9);
  EXPECT_THAT(LinkProblem(link, Ready{}), testing::HasSubstr("workers of version 1 only"));
  WorkerLink old;
  ASSERT_TRUE(old.Hear(Hello{}, {}));
  EXPECT_EQ(LinkProblem(old, Capacity{2}),
            "expected this message from workers of version 2 only, found version 1");
}

TEST(OutboxTest, KeepsWhatIsNotAcknowledged) {
  Outbox outbox(kAt);
  EXPECT_THAT(outbox.unacknowledged(), IsEmpty());
  EXPECT_EQ(outbox.Add(Done{}), R"({"type":"done","trial":7,"launch":2,"seq":1})");
  outbox.Add(Report{{}, 0, 3, {{"loss", 0.5}}});
  outbox.Add(Failed{{}, 0, "x"});
  EXPECT_EQ(outbox.last(), 3U);
  EXPECT_TRUE(outbox.Full(3));
  EXPECT_FALSE(outbox.Full(4));
  outbox.Acknowledge(1);
  EXPECT_THAT(outbox.unacknowledged(), SizeIs(2));
  outbox.Acknowledge(1);
  outbox.Acknowledge(0);
  EXPECT_THAT(outbox.unacknowledged(), SizeIs(2));
  outbox.Acknowledge(99);  // cumulative, and never beyond what there is
  EXPECT_THAT(outbox.unacknowledged(), IsEmpty());
  EXPECT_EQ(outbox.Add(Done{}), R"({"type":"done","trial":7,"launch":2,"seq":4})");
}

// A worker whose connections break at any message, and the controller's end of these connections.
// Every message arrives, in order, exactly once.
TEST(OutboxTest, EverythingArrivesOnceOverConnectionsThatBreak) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Outbox outbox(kAt);
    std::uint64_t recorded = 0;  // what the engine has
    std::optional<WorkerLink> link;
    const auto deliver = [&](const std::string& line) {
      const auto message = DecodeFromWorker(line);
      ASSERT_TRUE(message);
      ASSERT_TRUE(link->Hear(*message, {})) << "seed " << seed;
      const std::uint64_t seq = NumberOf(*message).seq;
      if (seq <= recorded) return;  // seen
      ASSERT_EQ(seq, recorded + 1);
      recorded = seq;
    };
    for (int i = 0; i < 200; ++i) {
      if (!link || random.Chance(0.1)) {
        link.emplace();
        ASSERT_TRUE(link->Hear(Hello{}, {}));
        link->Hold(kAt, recorded);
        for (const std::string& line : outbox.unacknowledged()) {
          if (random.Chance(0.2)) {  // breaks again
            link.reset();
            break;
          }
          deliver(line);
        }
        if (!link) continue;
      }
      const std::string line = outbox.Add(Report{{}, 0, i, {}});
      if (random.Chance(0.2)) {
        link.reset();  // before it was sent
      } else {
        deliver(line);
      }
      if (random.Chance(0.3)) outbox.Acknowledge(recorded);
    }
    link.emplace();
    ASSERT_TRUE(link->Hear(Hello{}, {}));
    link->Hold(kAt, recorded);
    for (const std::string& line : outbox.unacknowledged()) deliver(line);
    EXPECT_EQ(recorded, outbox.last());
  }
}

}  // namespace
}  // namespace sluice::wire
