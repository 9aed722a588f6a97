#include "ledger/earlier_measurements.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ledger/test_store.h"

namespace sluice {
namespace {

const std::set<std::string> kKinds = {"H200"};

class EarlierMeasurementsTest : public ::testing::Test {
 protected:
  static StudyCreated Created(std::uint32_t id, const std::string& name, const std::string& lines,
                              const std::string& folder = "/") {
    const std::string text = fmt::format("study: {}\n{}", name, SourceOf(lines));
    const auto spec = ReadStudy(text, "study.yaml", name);
    SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
    return {.study = StudyId(id), .source = text, .folder = folder, .seed = 1, .spec = *spec};
  }
  static Measurement Measured(const std::string& shape, int trials, std::int64_t bytes,
                              double work_per_second, const std::string& kind = "H200") {
    return {.situation = {.shape = shape, .kind = kind, .fused = trials},
            .bytes = bytes,
            .work_per_second = work_per_second};
  }
  // Writes a study whose first trial has measured this.
  void Write(const StudyCreated& created, const std::vector<Measurement>& measured) {
    auto engine = NewEngine();
    Recorder recorder(*ledger_, created.study, 100);
    const auto record = [&](auto body) {
      ASSERT_TRUE(recorder.Record(*engine, {At(0), std::move(body)}));
    };
    record(created);
    record(ControllerStarted{{NodeOf(2 * kWhole)}});
    record(Proposed{created.study, 0, Point{0.5}});
    std::uint64_t seq = 0;
    for (const Measurement& each : measured)
      record(Profiled{{created.study, TrialId(1)}, LaunchId(1), {.seq = ++seq, .offset = 0}, each});
    ASSERT_TRUE(recorder.Flush(*engine));
  }
  MeasurementsGiven Read(const StudyCreated& created) {
    auto given = ReadEarlierMeasurements(ledger_->database(), created, kKinds);
    SLUICE_CHECK(given.has_value(), given ? "" : given.error().message.c_str());
    return std::move(*given);
  }

  TestFolder folder_;
  std::unique_ptr<Ledger> ledger_ = OpenLedger(folder_ / "s.db");
};

TEST_F(EarlierMeasurementsTest, AStudyOfTheSameProgramIsTheSource) {
  Write(Created(1, "first", "trials: 2\n"),
        {Measured("first", 4, 100, 0), Measured("first", 4, 0, 2.5),
         Measured("first model=mlp", 8, 300, 1)});
  const MeasurementsGiven given = Read(Created(2, "second", "trials: 9\nretries: 3\n"));
  EXPECT_EQ(given.study, StudyId(2));
  EXPECT_EQ(given.source, "study 'first'");
  ASSERT_EQ(given.measured.size(), 2U);
  EXPECT_EQ(given.measured[0].situation.shape, "second");
  EXPECT_EQ(given.measured[0].bytes, 100) << "the last that was measured of each";
  EXPECT_EQ(given.measured[0].work_per_second, 2.5);
  EXPECT_EQ(given.measured[1].situation.shape, "second model=mlp");
}

TEST_F(EarlierMeasurementsTest, TheLatestStudyAndItsLatestMeasurementsCount) {
  Write(Created(1, "first", "trials: 2\n"), {Measured("first", 1, 100, 1)});
  Write(Created(2, "second", "trials: 2\n"),
        {Measured("second", 1, 200, 2), Measured("second", 1, 300, 3)});
  Write(Created(3, "third", "trials: 2\n"), {});
  const MeasurementsGiven given = Read(Created(4, "fourth", "trials: 2\n"));
  EXPECT_EQ(given.source, "study 'second'");
  ASSERT_EQ(given.measured.size(), 1U);
  EXPECT_EQ(given.measured[0].bytes, 300);
}

TEST_F(EarlierMeasurementsTest, OtherProgramsAndOtherKindsDoNotCount) {
  Write(Created(1, "first", "trials: 2\n", "/elsewhere"), {Measured("first", 1, 100, 1)});
  Write(Created(2, "second", "trials: 2\nbudget: {max: 27, unit: step}\n"),
        {Measured("second", 1, 100, 1)});
  Write(Created(3, "third", "trials: 2\n"), {Measured("third", 1, 100, 1, "A100")});
  const MeasurementsGiven given = Read(Created(4, "fourth", "trials: 2\n"));
  EXPECT_TRUE(given.measured.empty());
  EXPECT_EQ(given.source, "");
}

TEST_F(EarlierMeasurementsTest, StudiesWithoutAProgramTrainTheSame) {
  const auto created = [](std::uint32_t id, const std::string& name, int batch) {
    const std::string text = fmt::format(
        "study: {}\nmodel: zoo:mlp\ndata: digits\nbudget: {{max: {}}}\n"
        "train: {{optimizer: sgd, lr: '{{lr}}', batch: {}}}\nspace: {{lr: {{float: [0.1, 1]}}}}\n"
        "objective: {{minimize: loss}}\ntrials: 2\n",
        name, id, batch);
    const auto spec = ReadStudy(text, "study.yaml", name);
    SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
    return StudyCreated{
        .study = StudyId(id), .source = text, .folder = "/", .seed = 1, .spec = *spec};
  };
  Write(created(1, "first", 32), {Measured("first", 2, 0, 1, "")});
  EXPECT_EQ(Read(created(2, "second", 32)).measured.size(), 1U) << "the budget does not matter";
  EXPECT_TRUE(Read(created(3, "third", 64)).measured.empty());
}

TEST_F(EarlierMeasurementsTest, OnCoresEveryMachineCounts) {
  Write(Created(1, "first", "trials: 2\n"), {Measured("first", 2, 0, 1, "")});
  EXPECT_EQ(Read(Created(2, "second", "trials: 2\n")).measured.size(), 1U);
}

}  // namespace
}  // namespace sluice
