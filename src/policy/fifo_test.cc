#include "policy/fifo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StudyId kA{1};
constexpr StudyId kB{2};

// Studies and their trials by number, on a machine with some cores.
class Bench {
 public:
  explicit Bench(Milli cpus) { cluster_.Join({.name = "n", .cpus = cpus, .devices = {}}); }

  void Study(StudyId study, Milli cpus, int parallelism, bool open) {
    view_.studies.push_back({.study = study,
                             .demand = {cpus, 0},
                             .parallelism = parallelism,
                             .running = 0,
                             .waiting = 0,
                             .open = open});
  }
  void Running(StudyId study, std::uint32_t trial) {
    StudyView& owner = Of(study);
    ++owner.running;
    grants_.push_back(std::make_unique<Grant>(FirstFit(cluster_, owner.demand)));
    cluster_.Take(*grants_.back());
    Add(study, trial, grants_.back().get());
  }
  void Waiting(StudyId study, std::uint32_t trial) {
    ++Of(study).waiting;
    Add(study, trial, nullptr);
  }
  Plan Propose() { return Fifo().Propose(cluster_, view_, {}); }

  static std::vector<std::uint32_t> Placed(const Plan& plan) {
    std::vector<std::uint32_t> trials;
    for (const Placement& placement : plan.placements)
      trials.push_back(Number(placement.trial.trial));
    return trials;
  }

 private:
  StudyView& Of(StudyId study) {
    return *std::ranges::find(view_.studies, study, &StudyView::study);
  }
  void Add(StudyId study, std::uint32_t trial, const Grant* grant) {
    view_.items.push_back({.trial = {study, TrialId(trial)},
                           .group = {},
                           .demand = Of(study).demand,
                           .done = 0,
                           .target = 1,
                           .running = grant != nullptr,
                           .grant = grant});
  }
  Cluster cluster_;
  WorkView view_;
  std::vector<std::unique_ptr<Grant>> grants_;
};

TEST(FifoTest, StartsInTheOrderTheyCameAndKeepsWhatRuns) {
  Bench bench(3000);
  bench.Study(kA, 1000, 0, /*open=*/false);
  bench.Running(kA, 1);
  for (std::uint32_t trial : {5, 4, 3}) bench.Waiting(kA, trial);
  const Plan plan = bench.Propose();
  EXPECT_THAT(Bench::Placed(plan), ElementsAre(1, 5, 4));
  EXPECT_THAT(plan.appetites, IsEmpty());
  EXPECT_EQ(plan.ask_again, kNever);
}

TEST(FifoTest, NobodyOvertakesATrialThatWaitsForMoreRoom) {
  Bench bench(3000);
  bench.Study(kA, 2000, 0, /*open=*/true);
  bench.Study(kB, 500, 0, /*open=*/true);
  bench.Running(kA, 1);
  bench.Waiting(kA, 2);
  bench.Waiting(kB, 3);
  const Plan plan = bench.Propose();
  EXPECT_THAT(Bench::Placed(plan), ElementsAre(1));
  EXPECT_THAT(plan.appetites, IsEmpty());
}

TEST(FifoTest, AStudyAtItsOwnLimitHoldsUpNobodyElse) {
  Bench bench(4000);
  bench.Study(kA, 1000, 1, /*open=*/true);
  bench.Study(kB, 1000, 2, /*open=*/true);
  bench.Running(kA, 1);
  bench.Waiting(kA, 2);
  bench.Waiting(kB, 3);
  const Plan plan = bench.Propose();
  EXPECT_THAT(Bench::Placed(plan), ElementsAre(1, 3));
  ASSERT_EQ(plan.appetites.size(), 1U);
  EXPECT_EQ(plan.appetites[0].study, kB);
  EXPECT_EQ(plan.appetites[0].trials, 1);  // its limit, not the room
}

TEST(FifoTest, AppetiteIsTheRoomThatIsLeftInOrderOfStudies) {
  Bench bench(5000);
  bench.Study(kA, 2000, 0, /*open=*/true);
  bench.Study(kB, 1000, 0, /*open=*/true);
  const Plan plan = bench.Propose();
  ASSERT_EQ(plan.appetites.size(), 2U);
  EXPECT_EQ(plan.appetites[0].trials, 2);
  EXPECT_EQ(plan.appetites[1].trials, 1);

  Bench closed(5000);
  closed.Study(kA, 1000, 0, /*open=*/false);
  EXPECT_THAT(closed.Propose().appetites, IsEmpty());
}

TEST(PolicyTest, AnUnknownOneIsRefused) {
  EXPECT_TRUE(MakePolicy("fifo"));
  const auto none = MakePolicy("fifi");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().message, HasSubstr("did you mean 'fifo'?"));
}

}  // namespace
}  // namespace sluice
