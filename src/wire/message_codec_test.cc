// The lines of the worker protocol: messages survive encoding and decoding, and errors say what is
// wrong with a line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "wire/message.h"
#include "wire/test_launch.h"

namespace sluice::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <typename Message>
Message FromThere(const Message& message) {
  const std::string line = Encode(FromWorker(message));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = DecodeFromWorker(line);
  EXPECT_TRUE(back) << line << ": " << back.error().message;
  EXPECT_EQ(Encode(*back), line);
  return std::get<Message>(*back);
}

template <typename Message>
Message ToThere(const Message& message) {
  const std::string line = Encode(ToWorker(message));
  const auto back = DecodeToWorker(line);
  EXPECT_TRUE(back) << line << ": " << back.error().message;
  EXPECT_EQ(Encode(*back), line);
  return std::get<Message>(*back);
}

std::string Problem(std::string_view line) {
  const auto message = DecodeFromWorker(line);
  if (message) return "";
  EXPECT_EQ(message.error().code, ErrorCode::kInvalidArgument);
  return message.error().message;
}

TEST(MessageCodecTest, MessagesAreAsTheProtocolSays) {
  EXPECT_EQ(Encode(FromWorker(Heartbeat{})), R"({"type":"heartbeat"})");
  EXPECT_EQ(Encode(FromWorker(Ready{})), R"({"type":"ready"})");
  EXPECT_EQ(Encode(ToWorker(Exit{})), R"({"type":"exit"})");
  EXPECT_EQ(
      Encode(FromWorker(Report{kAt, 1, 3, {{"accuracy", 0.91}}})),
      R"({"type":"report","trial":7,"launch":2,"seq":1,"work":3,"values":{"accuracy":0.91}})");
  EXPECT_EQ(Encode(ToWorker(Welcome{1, 60000, 1024})),
            R"({"type":"welcome","version":1,"lease_ms":60000,"window":1024})");
  EXPECT_EQ(Encode(ToWorker(Stop{{TrialId(7), LaunchId(1)}, "complete"})),
            R"({"type":"stop","trial":7,"launch":1,"why":"complete"})");
  EXPECT_EQ(Encode(ToWorker(Budget{{TrialId(7), LaunchId(1)}, 27})),
            R"({"type":"budget","trial":7,"launch":1,"target":27})");
  EXPECT_EQ(Encode(ToWorker(Budget{{TrialId(7), LaunchId(1)}, {}})),
            R"({"type":"budget","trial":7,"launch":1})");
}

TEST(MessageCodecTest, WorkersMessagesComeBack) {
  const Hello hello = FromThere(Hello{.version = 1,
                                      .worker = "7.1",
                                      .pid = 5,
                                      .client = "python 0.1",
                                      .reuse = true,
                                      .study = "s",
                                      .launches = {kAt}});
  EXPECT_EQ(hello.worker, "7.1");
  EXPECT_TRUE(hello.reuse);
  EXPECT_THAT(hello.launches, ElementsAre(kAt));
  EXPECT_THAT(FromThere(Hello{}).launches, IsEmpty());
  const LaunchRef left{TrialId(3), LaunchId(1)};
  const Hello second = FromThere(Hello{.version = 2,
                                       .worker = "7.1",
                                       .launches = {kAt, {TrialId(8), LaunchId(1)}},
                                       .ended = {left},
                                       .capacity = 16,
                                       .several_shapes = true});
  EXPECT_THAT(second.launches, ElementsAre(kAt, LaunchRef{TrialId(8), LaunchId(1)}));
  EXPECT_THAT(second.ended, ElementsAre(left));
  EXPECT_EQ(second.capacity, 16);
  EXPECT_TRUE(second.several_shapes);
  EXPECT_TRUE(second.reuse) << "a worker of version 2 takes further launches";
  EXPECT_EQ(FromThere(Capacity{9}).capacity, 9);
  EXPECT_EQ(FromThere(Released{kAt, 4}).seq, 4U);
  const Profile profile = FromThere(Profile{kAt, 5, 16, 1 << 20, 2.5});
  EXPECT_EQ(profile.trials, 16);
  EXPECT_EQ(profile.bytes, 1 << 20);
  EXPECT_EQ(profile.work_per_second, 2.5);
  FromThere(Heartbeat{});
  FromThere(Ready{});
  FromThere(Paused{kAt, 4});
  FromThere(Done{kAt, 4});
  EXPECT_EQ(FromThere(Failed{kAt, 4, "ValueError: \"x\"\n  at y"}).reason,
            "ValueError: \"x\"\n  at y");
  EXPECT_EQ(FromThere(Failed{kAt, 4, "caf\xe9"}).reason, "caf\xef\xbf\xbd");
  EXPECT_EQ(FromThere(Saved{kAt, 3, 3, 24576}).bytes, 24576);
  EXPECT_EQ(FromThere(Attributes{kAt, 2, R"({"params":61706,"name":"x","deep":{"a":[1,2.50]}})"})
                .attributes,
            R"({"params":61706,"name":"x","deep":{"a":[1,2.5]}})");
  EXPECT_EQ(FromThere(Ask{"retry", "s", TrialId(3)}).trial, TrialId(3));
  EXPECT_EQ(FromThere(Ask{"stop", "s", {}}).verb, "stop");
  const Ask enqueue{"enqueue", "s", {}, {R"({"lr":0.1,"act":"re\"lu"})", "{}"}};
  EXPECT_EQ(FromThere(enqueue).points, enqueue.points);
  EXPECT_EQ(FromThere(Ask{.verb = "lend", .study = "", .version = "1.2"}).version, "1.2");
  const Ask open{.verb = "open", .study = "s", .event = "study_resumed", .body = R"({"trials":3})"};
  EXPECT_EQ(FromThere(open).event, open.event);
  EXPECT_EQ(FromThere(open).body, open.body);
}

TEST(MessageCodecTest, ValuesKeepEveryBit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Values values = {{"b", 0.1},
                         {"a", 5e-324},
                         {"c", -0.0},
                         {"d", kInfinity},
                         {"e", -kInfinity},
                         {"f", 1.7976931348623157e308},
                         {"g", std::numeric_limits<double>::quiet_NaN()}};
  const Report back = FromThere(Report{kAt, 1, 1LL << 62, values});
  EXPECT_EQ(back.work, 1LL << 62);
  ASSERT_EQ(back.values.size(), values.size());
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    EXPECT_EQ(back.values[i], values[i]);
    EXPECT_EQ(std::signbit(back.values[i].second), std::signbit(values[i].second));
  }
  EXPECT_TRUE(std::isnan(back.values.back().second));
}

TEST(MessageCodecTest, ControllersMessagesComeBack) {
  Assign assign{.study = "s",
                .at = kAt,
                .params = R"({"lr":0.1,"n":3})",
                .target = 9,
                .work = 3,
                .checkpoint_dir = "/c",
                .folder = "/f",
                .seed = std::numeric_limits<std::uint64_t>::max(),
                .unit = "epoch",
                .objective = "loss",
                .maximize = true,
                .last_counts = true,
                .best = 0.25,
                .best_work = 2,
                .lease_ms = 60000,
                .window = 5};
  const Assign back = ToThere(assign);
  EXPECT_EQ(back.params, assign.params);
  EXPECT_EQ(back.target, 9);
  EXPECT_EQ(back.seed, assign.seed);
  EXPECT_EQ(back.window, 5);
  EXPECT_TRUE(back.maximize);
  EXPECT_TRUE(back.last_counts);
  EXPECT_EQ(back.best, 0.25);
  EXPECT_EQ(back.best_work, 2);
  assign.target.reset();
  assign.best.reset();
  assign.maximize = assign.last_counts = false;
  EXPECT_FALSE(ToThere(assign).target);
  EXPECT_FALSE(ToThere(assign).best);
  EXPECT_FALSE(ToThere(assign).maximize);
  EXPECT_FALSE(ToThere(assign).last_counts);
  EXPECT_EQ(ToThere(Ack{{TrialId(7), LaunchId(2)}, 9}).seq, 9U);
  EXPECT_FALSE(ToThere(Budget{{TrialId(7), LaunchId(2)}, {}}).target);
  EXPECT_EQ(ToThere(Budget{{TrialId(7), LaunchId(2)}, 0}).target, 0);
  EXPECT_EQ(ToThere(Pause{{TrialId(7), LaunchId(2)}}).at, (LaunchRef{TrialId(7), LaunchId(2)}));
  EXPECT_EQ(ToThere(Stop{{TrialId(7), LaunchId(2)}, "study"}).why, "study");
  EXPECT_EQ(ToThere(Refuse{"no"}).reason, "no");
  EXPECT_EQ(ToThere(Answer{true, "m"}).message, "m");
  const Answer told{true, "m", {{"added", 3}, {"waiting", 5}}};
  EXPECT_EQ(ToThere(told).facts, told.facts);
  EXPECT_EQ(ToThere(Welcome{1, 1, 1}).window, 1);
  ToThere(Exit{});
}

TEST(MessageCodecTest, SaysWhatIsWrong) {
  EXPECT_EQ(Problem(""), "expected one JSON object per line");
  EXPECT_EQ(Problem("{"), "expected one JSON object per line");
  EXPECT_EQ(Problem("[1]"), "expected one JSON object per line");
  EXPECT_EQ(Problem("{} {}"), "expected one JSON object per line");
  EXPECT_EQ(Problem("{\"type\":\"\xff\"}"), "expected one JSON object per line");
  EXPECT_EQ(Problem("{}"), "expected a message of a known type, found ''");
  EXPECT_EQ(Problem(R"({"type":5})"), "expected a message of a known type, found ''");
  EXPECT_EQ(Problem(R"({"type":"assign"})"), "expected a message of a known type, found 'assign'");
  EXPECT_EQ(Problem(R"({"type":"report","launch":1})"), "report: 'trial': expected an integer");
  EXPECT_EQ(Problem(R"({"type":"report","trial":0,"launch":1})"),
            "report: 'trial': expected an integer from 1 to 4294967295");
  EXPECT_EQ(Problem(R"({"type":"report","trial":4294967296,"launch":1})"),
            "report: 'trial': expected an integer from 1 to 4294967295");
  EXPECT_EQ(Problem(R"({"type":"report","trial":1.5,"launch":1})"),
            "report: 'trial': expected an integer");
  EXPECT_EQ(Problem(R"({"type":"done","trial":1,"launch":1,"seq":0})"),
            "done: 'seq': expected an integer from 1 to 9223372036854775807");
  EXPECT_EQ(Problem(R"({"type":"done","trial":1,"launch":1,"seq":9223372036854775808})"),
            "done: 'seq': expected a smaller integer");
  EXPECT_EQ(Problem(R"({"type":"done","trial":1,"launch":1,"seq":99999999999999999999999})"),
            "done: 'seq': expected an integer");
  EXPECT_EQ(Problem(R"({"type":"done","trial":1,"launch":1,"seq":1e999})"),
            "expected one JSON object per line");
  EXPECT_EQ(Problem(R"({"type":"failed","trial":1,"launch":1,"seq":1})"),
            "failed: 'reason': expected a text");
  EXPECT_EQ(Problem(R"({"type":"attributes","trial":1,"launch":1,"seq":1,"attributes":[]})"),
            "attributes: 'attributes': expected an object");
  EXPECT_EQ(Problem(R"({"type":"report","trial":1,"launch":1,"seq":1,"work":-1,"values":{}})"),
            "report: 'work': expected an integer from 0 to 4611686018427387904");
  EXPECT_EQ(Problem(R"({"type":"report","trial":1,"launch":1,"seq":1,"work":1,"values":[]})"),
            "report: 'values': expected an object of numbers");
  EXPECT_EQ(
      Problem(R"({"type":"report","trial":1,"launch":1,"seq":1,"work":1,"values":{"a":true}})"),
      "report: 'a': expected a number");
  EXPECT_EQ(
      Problem(R"({"type":"report","trial":1,"launch":1,"seq":1,"work":1,"values":{"a":"x"}})"),
      "report: 'a': expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
  EXPECT_EQ(Problem(R"({"type":"hello","version":1,"worker":"1.1","reuse":1})"),
            "hello: 'reuse': expected true or false");
  EXPECT_EQ(Problem(R"({"type":"hello","version":1,"worker":"1.1","trial":1})"),
            "hello: 'launch': expected an integer");
  EXPECT_EQ(Problem(R"({"type":"hello","version":2,"worker":"1.1"})"),
            "hello: 'capacity': expected an integer");
  EXPECT_EQ(Problem(R"({"type":"hello","version":2,"worker":"1.1","capacity":5000})"),
            "hello: 'capacity': expected an integer from 0 to 4096");
  for (const std::string launches :
       {"1", "[1]", R"([{"trial":1}])", R"([{"trial":0,"launch":1}])"}) {
    EXPECT_EQ(Problem(R"({"type":"hello","version":2,"worker":"1.1","capacity":2,"launches":)" +
                      launches + "}"),
              "hello: 'launches': expected a list of objects with 'trial' and 'launch'");
  }
  EXPECT_EQ(Problem(R"({"type":"capacity","capacity":-1})"),
            "capacity: 'capacity': expected an integer from 0 to 4096");
  EXPECT_EQ(Problem(R"({"type":"profile","trial":1,"launch":1,"seq":1,"trials":0})"),
            "profile: 'trials': expected an integer from 1 to 4096");
  EXPECT_EQ(Problem(R"({"type":"profile","trial":1,"launch":1,"seq":1,"trials":1,)"
                    R"("work_per_second":-1})"),
            "profile: 'work_per_second': expected a finite number of at least 0");
  EXPECT_EQ(Problem(R"({"type":"heartbeat","unknown":[1]})"), "");  // unknown keys are ignored
  EXPECT_EQ(DecodeToWorker(R"({"type":"report"})").error().message,
            "expected a message of a known type, found 'report'");
}

TEST(MessageCodecTest, BoundsLengthAndDepth) {
  EXPECT_EQ(Problem(std::string(kLongestLine + 1, ' ')), "expected a line of at most 1 MiB");
  EXPECT_EQ(Problem(std::string(100'000, '[')),
            "expected a JSON object that is not nested so deeply");
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":";
  EXPECT_EQ(Problem(deep), "expected a JSON object that is not nested so deeply");
  // Brackets inside a text do not count as depth.
  EXPECT_EQ(Problem("{\"type\":\"heartbeat\",\"x\":\"" + std::string(100, '[') + "\\\"[\"}"), "");
  EXPECT_THAT(Problem("{\"type\":\"" + std::string(1000, 'x') + "\"}"),
              StartsWith("expected a message of a known type, found 'xxx"));
  EXPECT_LT(Problem("{\"type\":\"" + std::string(1000, 'x') + "\"}").size(), 100U);
}

}  // namespace
}  // namespace sluice::wire
