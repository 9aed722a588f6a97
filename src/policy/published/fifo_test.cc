#include "policy/published/fifo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/random.h"

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
  explicit Bench(Milli cpus, int gpus = 0) {
    Node node{.name = "n", .cpus = cpus, .devices = {}};
    node.devices.resize(static_cast<std::size_t>(gpus));
    cluster_.Join(std::move(node));
  }

  void Study(StudyId study, Milli cpus, int parallelism, bool open) {
    Study(study, Demand{cpus, 0}, parallelism, open);
  }
  void Study(StudyId study, const Demand& demand, int parallelism, bool open) {
    view_.studies.push_back({.study = study,
                             .demand = demand,
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
  void RunningIfItFits(StudyId study, std::uint32_t trial) {
    if (IsSet(FirstFit(cluster_, Of(study).demand).node)) Running(study, trial);
  }
  void HideRunning() { std::erase_if(view_.items, &WorkItem::running); }
  void Waiting(StudyId study, std::uint32_t trial) {
    ++Of(study).waiting;
    Add(study, trial, nullptr);
  }
  Plan Propose() { return Fifo().Propose(cluster_, view_, {}); }
  const Cluster& cluster() const { return cluster_; }
  const WorkView& view() const { return view_; }

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
  EXPECT_TRUE(plan.keeps_running);
  EXPECT_THAT(Bench::Placed(plan), ElementsAre(5, 4));
  EXPECT_THAT(plan.wanted_room, IsEmpty());
  EXPECT_EQ(plan.ask_again, kNever);
}

TEST(FifoTest, NoTrialOvertakesOneThatWaitsForMoreRoom) {
  Bench bench(3000);
  bench.Study(kA, 2000, 0, /*open=*/true);
  bench.Study(kB, 500, 0, /*open=*/true);
  bench.Running(kA, 1);
  bench.Waiting(kA, 2);
  bench.Waiting(kB, 3);
  const Plan plan = bench.Propose();
  EXPECT_THAT(Bench::Placed(plan), IsEmpty());
  EXPECT_THAT(plan.wanted_room, IsEmpty());
}

TEST(FifoTest, AStudyAtItsOwnLimitHoldsUpNoOther) {
  Bench bench(4000);
  bench.Study(kA, 1000, 1, /*open=*/true);
  bench.Study(kB, 1000, 2, /*open=*/true);
  bench.Running(kA, 1);
  bench.Waiting(kA, 2);
  bench.Waiting(kB, 3);
  const Plan plan = bench.Propose();
  EXPECT_THAT(Bench::Placed(plan), ElementsAre(3));
  ASSERT_EQ(plan.wanted_room.size(), 1U);
  EXPECT_EQ(plan.wanted_room[0].study, kB);
  EXPECT_EQ(plan.wanted_room[0].trials, 1);  // its limit, not the room
}

TEST(FifoTest, AppetiteIsTheRoomThatIsLeftInOrderOfStudies) {
  Bench bench(5000);
  bench.Study(kA, 2000, 0, /*open=*/true);
  bench.Study(kB, 1000, 0, /*open=*/true);
  const Plan plan = bench.Propose();
  ASSERT_EQ(plan.wanted_room.size(), 2U);
  EXPECT_EQ(plan.wanted_room[0].trials, 2);
  EXPECT_EQ(plan.wanted_room[1].trials, 1);

  Bench closed(5000);
  closed.Study(kA, 1000, 0, /*open=*/false);
  EXPECT_THAT(closed.Propose().wanted_room, IsEmpty());
}

TEST(PolicyTest, AnUnknownOneIsRefused) {
  EXPECT_TRUE(MakePolicy("fifo"));
  const auto none = MakePolicy("fifi");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().message, HasSubstr("did you mean 'fifo'?"));
}

// Fifo's plan, made in the simplest way: all waiting items are tried one by one in a copy of the
// cluster.
Plan SlowFifo(Cluster free, const WorkView& work) {
  Plan plan;
  std::map<StudyId, int> running;
  for (const StudyView& study : work.studies) running[study.study] = study.running;
  bool blocked = false;
  for (const WorkItem& item : work.items) {
    const auto study = std::ranges::find(work.studies, item.trial.study, &StudyView::study);
    const bool has_slot = study->parallelism == 0 || running[study->study] < study->parallelism;
    if (item.running || blocked || !has_slot) continue;
    const Grant grant = FirstFit(free, item.demand);
    blocked = !IsSet(grant.node);
    if (blocked) continue;
    free.Take(grant);
    ++running[study->study];
    plan.placements.push_back({item.trial, grant});
  }
  for (const StudyView& study : work.studies) {
    int trials = 0;
    while (!blocked && study.open &&
           (study.parallelism == 0 || running[study.study] < study.parallelism)) {
      const Grant grant = FirstFit(free, study.demand);
      if (!IsSet(grant.node)) break;
      free.Take(grant);
      ++running[study.study];
      ++trials;
    }
    if (trials > 0) plan.wanted_room.push_back({study.study, trials});
  }
  return plan;
}

TEST(FifoTest, PlansAsTheSimplestFifoDoes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Bench bench(static_cast<Milli>(1 + random.Below(16)) * kWhole,
                static_cast<int>(random.Below(9)));
    const auto studies = static_cast<std::uint32_t>(1 + random.Below(4));
    for (std::uint32_t study = 1; study <= studies; ++study) {
      const std::array<Milli, 5> gpus = {0, 250, 500, kWhole, 2 * kWhole};
      bench.Study(
          StudyId(study),
          {static_cast<Milli>(100 * (1 + random.Below(20))), gpus[random.Below(gpus.size())]},
          static_cast<int>(random.Below(4)), random.Chance(0.5));
    }
    for (std::uint32_t trial = 1; trial <= 6; ++trial)
      bench.RunningIfItFits(StudyId(1 + random.Below(studies)), trial);
    for (std::uint32_t trial = 7; trial <= 7 + random.Below(8); ++trial)
      bench.Waiting(StudyId(1 + random.Below(studies)), trial);
    const Plan fast = bench.Propose();
    const Plan slow = SlowFifo(bench.cluster(), bench.view());
    EXPECT_TRUE(fast.keeps_running);
    ASSERT_EQ(fast.placements.size(), slow.placements.size()) << "seed " << seed;
    for (std::size_t i = 0; i < fast.placements.size(); ++i) {
      EXPECT_EQ(fast.placements[i].trial, slow.placements[i].trial) << "seed " << seed;
      EXPECT_EQ(fast.placements[i].grant, slow.placements[i].grant) << "seed " << seed;
    }
    ASSERT_EQ(fast.wanted_room.size(), slow.wanted_room.size()) << "seed " << seed;
    for (std::size_t i = 0; i < fast.wanted_room.size(); ++i) {
      EXPECT_EQ(fast.wanted_room[i].study, slow.wanted_room[i].study) << "seed " << seed;
      EXPECT_EQ(fast.wanted_room[i].trials, slow.wanted_room[i].trials) << "seed " << seed;
    }
    // Its row of the table says that it does not look at running trials.
    bench.HideRunning();
    const Plan blind = bench.Propose();
    ASSERT_EQ(blind.placements.size(), fast.placements.size()) << "seed " << seed;
    for (std::size_t i = 0; i < fast.placements.size(); ++i)
      EXPECT_EQ(blind.placements[i].trial, fast.placements[i].trial) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice
