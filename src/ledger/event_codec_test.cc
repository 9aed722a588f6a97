// Every kind of event is the same after encoding and decoding.

#include "ledger/event_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/test_numbers.h"
#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

constexpr TrialKey kTrial{StudyId(3), TrialId(7)};
constexpr Position kPosition{.seq = std::numeric_limits<std::int64_t>::max(), .offset = 1ULL << 40};

template <typename Body>
Body RoundTrip(const Body& body) {
  const Event event{At(12.5), body};
  const EncodedEvent encoded = Encode(event);
  const auto decoded = DecodeEvent(event.time, encoded.study, encoded.kind, encoded.body);
  SLUICE_CHECK(decoded.has_value(), decoded ? "" : decoded.error().message.c_str());
  EXPECT_EQ(decoded->time, event.time);
  // The decoded event is encoded in the same way again.
  EXPECT_EQ(Encode(*decoded).body, encoded.body);
  return std::get<Body>(decoded->body);
}

template <typename Body>
void ExpectSamePlace(const Body& a, const Body& b) {
  EXPECT_EQ(a.trial, b.trial);
  EXPECT_EQ(a.launch, b.launch);
  if constexpr (requires { a.position; }) {
    EXPECT_EQ(a.position.seq, b.position.seq);
    EXPECT_EQ(a.position.offset, b.position.offset);
  }
}

TEST(EventCodecTest, AStudyKeepsWhichFilesItTrainsWith) {
  const std::string source =
      "model: net.pt2\ndata: digits\ntrain: {optimizer: sgd, lr: '{lr}', batch: 8}\n"
      "space: {lr: {float: [0.1, 1]}}\nobjective: {minimize: loss}\ntrials: 7\n"
      "budget: {max: 3}\n";
  auto spec = ReadStudy(source, "study.yaml", "n");
  ASSERT_TRUE(spec) << spec.error().message;
  StudyCreated created{.study = StudyId(3), .source = source, .folder = "/", .spec = *spec};
  EXPECT_FALSE(RoundTrip(created).spec.training->recorded);
  created.spec.training->recorded = {
      .archives = {{.path = "/net.pt2", .bytes = 9, .hash = ~std::uint64_t{0}}},
      .files = {{.path = "/digits/a.npy", .bytes = 1, .hash = 2}},
      .data_hash = 3};
  const auto recorded = RoundTrip(created).spec.training->recorded;
  ASSERT_TRUE(recorded);
  EXPECT_EQ(ToJson(*recorded), ToJson(*created.spec.training->recorded));

  EncodedEvent encoded = Encode({At(0), created});
  encoded.body.replace(encoded.body.find("\"bytes\":9"), 9, "\"bytes\":[]");
  const auto bad = DecodeEvent(At(0), encoded.study, encoded.kind, encoded.body);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kCorruption);
  EXPECT_THAT(bad.error().message, HasSubstr("recorded files: expected a whole number"));
}

TEST(EventCodecTest, AStudyIsReadAgainFromItsSource) {
  const std::string source =
      "program: train {args}\nspace: {lr: {float: [0, 1]}}\nobjective: {minimize: loss}\ntrials: "
      "7\n# \xc3\xa4\n";
  StudyCreated created{.study = StudyId(3),
                       .source = source,
                       .folder = "/a b/\"c\"",
                       .seed = (1ULL << 63) + 5,
                       .spec = SpecOf(source, "n")};
  created.spec.name = "other-name";  // given on the command line
  const StudyCreated back = RoundTrip(created);
  EXPECT_EQ(back.study, created.study);
  EXPECT_EQ(back.source, source);
  EXPECT_EQ(back.folder, created.folder);
  EXPECT_EQ(back.seed, created.seed);
  EXPECT_EQ(back.spec.name, "other-name");
  EXPECT_EQ(back.spec.trials, 7);
  EXPECT_EQ(back.rules, kRules);

  EncodedEvent encoded = Encode({At(0), created});
  EncodedEvent before = encoded;  // an event of an older version, which names no rules
  const std::string rules = fmt::format(",\"rules\":{}", kRules);
  before.body.erase(before.body.find(rules), rules.size());
  const auto made_before = DecodeEvent(At(0), before.study, before.kind, before.body);
  ASSERT_TRUE(made_before) << made_before.error().message;
  EXPECT_EQ(std::get<StudyCreated>(made_before->body).rules, 1);

  encoded.body.replace(encoded.body.find("trials: 7"), 9, "trials: x");
  const auto bad = DecodeEvent(At(0), encoded.study, encoded.kind, encoded.body);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kCorruption);
  EXPECT_THAT(bad.error().message,
              HasSubstr("study 'other-name' was made by a Sluice that read its file differently"));
}

TEST(EventCodecTest, EventsOfAStudy) {
  const StudyResumed resumed = RoundTrip(StudyResumed{StudyId(3), 9, At(77)});
  EXPECT_EQ(resumed.study, StudyId(3));
  EXPECT_EQ(resumed.trials, 9);
  EXPECT_EQ(resumed.deadline, At(77));
  EXPECT_FALSE(resumed.change);
  const StudyChange change{.policy = "lpt",
                           .parallelism = 3,
                           .retries = 4,
                           .max_failures = 5,
                           .backoff = std::chrono::seconds(6),
                           .timeouts = {.trial = std::chrono::seconds(7),
                                        .report = std::chrono::seconds(8),
                                        .grace = std::chrono::seconds(9),
                                        .lease = std::chrono::seconds(10)}};
  const StudyResumed changed = RoundTrip(StudyResumed{StudyId(3), {}, kNever, change});
  EXPECT_EQ(changed.deadline, kNever);
  ASSERT_TRUE(changed.change);
  EXPECT_EQ(changed.change->policy, "lpt");
  EXPECT_EQ(changed.change->parallelism, 3);
  EXPECT_EQ(changed.change->retries, 4);
  EXPECT_EQ(changed.change->max_failures, 5);
  EXPECT_EQ(changed.change->backoff, std::chrono::seconds(6));
  EXPECT_EQ(changed.change->timeouts.trial, std::chrono::seconds(7));
  EXPECT_EQ(changed.change->timeouts.report, std::chrono::seconds(8));
  EXPECT_EQ(changed.change->timeouts.grace, std::chrono::seconds(9));
  EXPECT_EQ(changed.change->timeouts.lease, std::chrono::seconds(10));
  EXPECT_FALSE(RoundTrip(StudyResumed{StudyId(3), {}, {}}).trials);
  EXPECT_FALSE(RoundTrip(StudyResumed{StudyId(3), {}, {}}).deadline);
  EXPECT_EQ(RoundTrip(StudyStopAsked{StudyId(3)}).study, StudyId(3));
  EXPECT_EQ(RoundTrip(StudyPauseAsked{StudyId(3)}).study, StudyId(3));
  EXPECT_EQ(RoundTrip(StudyOpened{StudyId(3)}).study, StudyId(3));
  const StudyOpened hides{StudyId(3), {"GPU-1", "GPU-2"}};
  EXPECT_EQ(RoundTrip(hides).hidden, hides.hidden);
  EXPECT_EQ(RoundTrip(StudyClosed{StudyId(3)}).study, StudyId(3));
  Node down = NodeOf(1000, 1);
  down.up = false;
  Node lends = NodeOf(1000, 2);
  lends.devices[1].open = 174;
  const std::vector<Node> nodes = {NodeOf(2500, 2), down, lends};
  EXPECT_EQ(RoundTrip(ControllerStarted{nodes}).nodes, nodes);
  EXPECT_EQ(RoundTrip(NodesChanged{nodes}).nodes, nodes);
  EXPECT_FALSE(RoundTrip(DrainAsked{}).only_starts);
  EXPECT_TRUE(RoundTrip(DrainAsked{.only_starts = true}).only_starts);
  RoundTrip(Woken{});
  EXPECT_EQ(RoundTrip(RetryAsked{kTrial}).trial, kTrial);
}

TEST(EventCodecTest, APointKeepsEveryBit) {
  const Point point = {0.1,       1.0 / 3,    -0.0, 5e-324, 1.7976931348623157e308,
                       kInfinity, -kInfinity, kNan};
  const Proposed back = RoundTrip(Proposed{
      .study = StudyId(3), .counter = std::numeric_limits<std::uint64_t>::max(), .point = point});
  EXPECT_EQ(back.counter, std::numeric_limits<std::uint64_t>::max());
  ASSERT_EQ(back.point->size(), point.size());
  for (std::size_t i = 0; i + 1 < point.size(); ++i) {
    EXPECT_EQ((*back.point)[i], point[i]);
    EXPECT_EQ(std::signbit((*back.point)[i]), std::signbit(point[i]));
  }
  EXPECT_TRUE(std::isnan(back.point->back()));
  EXPECT_FALSE(RoundTrip(Proposed{.study = StudyId(3), .counter = 1, .point = {}}).point);
}

TEST(EventCodecTest, Forks) {
  const Proposed point =
      RoundTrip(Proposed{.study = StudyId(3), .point = Point{0.5}, .fork = TrialId(12)});
  EXPECT_EQ(point.fork, TrialId(12));
  EXPECT_EQ(point.point, Point{0.5});
  const auto old = DecodeEvent(At(0), StudyId(3), "proposed", R"({"counter":4,"point":[0.5]})");
  ASSERT_TRUE(old) << "before there were forks";
  EXPECT_EQ(std::get<Proposed>(old->body).counter, 4U);
  EXPECT_FALSE(IsSet(std::get<Proposed>(old->body).fork));
  EXPECT_EQ(RoundTrip(CheckpointCopied{kTrial, 7, ""}).trial, kTrial);
  EXPECT_EQ(RoundTrip(CheckpointCopied{kTrial, 7, ""}).work, 7);
  EXPECT_EQ(RoundTrip(CheckpointCopied{kTrial, 7, ""}).error, "");
  EXPECT_EQ(RoundTrip(CheckpointCopied{kTrial, {}, "no \"space\""}).error, "no \"space\"");
  EXPECT_EQ(RoundTrip(CheckpointCopied{kTrial, {}, ""}).work, std::nullopt);
}

TEST(EventCodecTest, EnqueuedPointsAndKnowledge) {
  const std::vector<Point> points = {{0.1, 3}, {-0.0, kInfinity}};
  EXPECT_EQ(RoundTrip(PointsEnqueued{StudyId(3), points}).points, points);
  EXPECT_EQ(RoundTrip(PointsEnqueued{StudyId(3), points}).study, StudyId(3));
  EXPECT_TRUE(std::isnan(RoundTrip(PointsEnqueued{StudyId(3), {{kNan}}}).points[0][0]));
  EXPECT_TRUE(RoundTrip(PointsEnqueued{StudyId(3), {}}).points.empty());

  const KnowledgeGiven back = RoundTrip(KnowledgeGiven{
      .study = StudyId(3),
      .source = "study 'a'",
      .trials = {{.point = {0.5}, .outcome = Outcome::kStopped, .work = 7, .value = 0.1},
                 {.point = {1}, .outcome = Outcome::kComplete, .work = 27, .value = -kInfinity}}});
  EXPECT_EQ(back.source, "study 'a'");
  ASSERT_EQ(back.trials.size(), 2U);
  EXPECT_EQ(back.trials[0].point, Point{0.5});
  EXPECT_EQ(back.trials[0].outcome, Outcome::kStopped);
  EXPECT_EQ(back.trials[0].work, 7);
  EXPECT_EQ(back.trials[0].value, 0.1);
  EXPECT_EQ(back.trials[1].value, -kInfinity);
}

TEST(EventCodecTest, Measurements) {
  const Measurement measured{.situation = {.shape = "s model=mlp",
                                           .kind = "H200",
                                           .lent = true,
                                           .width = 500,
                                           .fused = 16,
                                           .neighbours = 250},
                             .bytes = 8'000'000'000,
                             .work_per_second = 2.5};
  const auto expect_same = [&](const Measurement& back) {
    EXPECT_EQ(back.situation, measured.situation);
    EXPECT_EQ(back.bytes, measured.bytes);
    EXPECT_EQ(back.work_per_second, measured.work_per_second);
  };
  const Profiled back = RoundTrip(Profiled{kTrial, LaunchId(2), kPosition, measured});
  EXPECT_EQ(back.trial, kTrial);
  EXPECT_EQ(back.position.seq, kPosition.seq);
  expect_same(back.measured);
  const MeasurementsGiven given =
      RoundTrip(MeasurementsGiven{StudyId(3), "study 'a'", {measured, {}}});
  EXPECT_EQ(given.source, "study 'a'");
  ASSERT_EQ(given.measured.size(), 2U);
  expect_same(given.measured[0]);
  EXPECT_EQ(given.measured[1].bytes, 0);
  const auto old = DecodeEvent(At(0), StudyId(3), "profiled",
                               R"({"trial":1,"launch":1,"message":4,"trials":4,"bytes":9,)"
                               R"("work_per_second":2.5})");
  ASSERT_TRUE(old) << "before measurements said where they were made";
  EXPECT_EQ(std::get<Profiled>(old->body).measured.bytes, 0);
}

TEST(EventCodecTest, EventsOfALaunch) {
  const AttributesSet attributes{kTrial, LaunchId(2), kPosition, R"({"b":1,"a":"x","c":true})"};
  ExpectSamePlace(RoundTrip(attributes), attributes);
  EXPECT_EQ(RoundTrip(attributes).attributes, attributes.attributes);
  const CheckpointSaved saved{kTrial, LaunchId(2), kPosition, kNoLimit, 1LL << 50};
  ExpectSamePlace(RoundTrip(saved), saved);
  EXPECT_EQ(RoundTrip(saved).work, saved.work);
  EXPECT_EQ(RoundTrip(saved).bytes, saved.bytes);
  const LaunchHeard heard{kTrial, LaunchId(2), {.seq = 0, .offset = 9}};
  ExpectSamePlace(RoundTrip(heard), heard);
  const LeaseExpired expired{kTrial, LaunchId(2)};
  ExpectSamePlace(RoundTrip(expired), expired);
}

TEST(EventCodecTest, AnEnd) {
  for (const Ending ending :
       {Ending::kDone, Ending::kPaused, Ending::kFailed, Ending::kLost, Ending::kStopped}) {
    const LaunchEnded ended{kTrial, LaunchId(2), kPosition, ending, "why\n\"quoted\"", 0};
    ExpectSamePlace(RoundTrip(ended), ended);
    EXPECT_EQ(RoundTrip(ended).ending, ending);
    EXPECT_EQ(RoundTrip(ended).reason, ended.reason);
    EXPECT_EQ(RoundTrip(ended).checkpoint_bytes, 0);
  }
  EXPECT_EQ(RoundTrip(LaunchEnded{kTrial, LaunchId(2), {}, Ending::kDone, "", -1}).checkpoint_bytes,
            -1);
  EXPECT_EQ(Encode({At(0), LaunchEnded{kTrial, LaunchId(2), {}, Ending::kDone, "", -1}}).kind,
            "launch_ended");
  EXPECT_FALSE(
      DecodeEvent(At(0), StudyId(3), "launch_ended", R"({"trial":1,"launch":1,"ending":17})"));
}

TEST(EventCodecTest, TextsThatAreNotUtf8AreReplacedNeverRefused) {
  const std::string bad = std::string("a\xff\xfe") + '\0' + "\xe4 b\xc3";
  const std::string good =
      std::string("a\xef\xbf\xbd\xef\xbf\xbd") + '\0' + "\xef\xbf\xbd b\xef\xbf\xbd";
  EXPECT_EQ(RoundTrip(LaunchEnded{kTrial, LaunchId(2), {}, Ending::kFailed, bad, -1}).reason, good);
  EXPECT_EQ(RoundTrip(TrialNoted{kTrial, LaunchId(2), {}, bad}).note, good);
}

TEST(EventCodecTest, MetricsKeepOrderAndBits) {
  const Metrics metrics = {{"z", 0.1},  {"a", kInfinity},      {"m", -kInfinity},
                           {"n", kNan}, {"\xc3\xa4 \"", -0.0}, {"big", 1e308}};
  const std::string text = EncodeMetrics(metrics);
  EXPECT_EQ(text,
            "{\"z\":0.1,\"a\":\"Infinity\",\"m\":\"-Infinity\",\"n\":\"NaN\",\"\xc3\xa4 "
            "\\\"\":-0.0,\"big\":1e+308}");
  const auto back = DecodeMetrics(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(EncodeMetrics(*back), text);
  EXPECT_THAT(*DecodeMetrics("{}"), testing::IsEmpty());
}

TEST(EventCodecTest, WhatDoesNotReadBackIsDamage) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"woken", "{"},
      {"woken?", "{}"},
      {"retry_asked", "{}"},
      {"retry_asked", R"({"trial":"x"})"},
      {"proposed", R"({"counter":1,"point":["x"]})"},
      {"controller_started", R"({"name":"n"})"},
      {"study_created", "[]"},
      {"launch_ended", "{\"trial\":1}"},
      {"points_enqueued", "{}"},
      {"proposed", R"({"point":[1]})"},
      {"checkpoint_copied", "{}"},
      {"points_enqueued", R"({"points":[["x"]]})"},
      {"knowledge_given", R"({"source":"a"})"},
      {"knowledge_given",
       R"({"source":"a","trials":[{"point":[1],"outcome":9,"work":1,"value":1}]})"},
      {"reported", "{}"}};
  for (const auto& [kind, body] : bad) {
    const auto decoded = DecodeEvent(At(0), StudyId(1), kind, body);
    ASSERT_FALSE(decoded) << kind;
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorruption);
    EXPECT_THAT(decoded.error().message, HasSubstr(kind));
  }
  EXPECT_FALSE(DecodeMetrics("{\"a\":true}"));
  EXPECT_FALSE(DecodeMetrics("nonsense"));
}

}  // namespace
}  // namespace sluice
