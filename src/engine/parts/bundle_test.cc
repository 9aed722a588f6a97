// Bundles in the engine: which trials share a process, and what is learned about their speed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Plans like hydro. Keeps the view of the work that it was last shown.
class ObservedHydro : public Policy {
 public:
  explicit ObservedHydro(WorkView& shown) : shown_(shown), hydro_(*MakePolicy("hydro")) {
    SetTraits(hydro_->traits());
  }
  Plan Propose(const Cluster& cluster, const WorkView& work, Time now) override {
    shown_ = work;
    return hydro_->Propose(cluster, work, now);
  }

 private:
  WorkView& shown_;
  std::unique_ptr<Policy> hydro_;
};

class EngineBundleTest : public ::testing::Test {
 protected:
  EngineBundleTest() : engine_(std::make_unique<ObservedHydro>(shown_)) {}

  void Begin(const std::string& lines, Milli cpus = 2 * kWhole) {
    created_ = {kStudy, "", "/", 1, SpecOf(lines, "fashion")};
    (void)engine_.Apply({At(0), created_});
    (void)engine_.Apply({At(0), ControllerStarted{{NodeOf(cpus)}}});
  }
  void Proposes(std::uint64_t counter, Point point) {
    (void)engine_.Apply({At(now_), Proposed{kStudy, counter, std::move(point)}});
  }
  void Reports(std::uint32_t trial, Work work) {
    const TrialKey key{kStudy, TrialId(trial)};
    const Trial& known = *engine_.trial(key);
    (void)engine_.Apply({At(now_), Reported{.trial = key,
                                            .launch = known.launch.id,
                                            .position = {.seq = known.launch.seq + 1, .offset = 0},
                                            .work = work,
                                            .metrics = {{"loss", 0.5}}}});
  }
  // The running trials of each bundle.
  std::map<int, std::vector<int>> Bundles() const {
    std::map<int, std::vector<int>> bundles;
    for (const TrialId id : engine_.study(kStudy)->running) {
      const Trial& trial = *engine_.trial({kStudy, id});
      bundles[static_cast<int>(Number(trial.launch.grant.bundle))].push_back(
          static_cast<int>(Number(id)));
    }
    return bundles;
  }

  WorkView shown_;
  StudyCreated created_;
  Engine engine_;
  double now_ = 1;
};

TEST_F(EngineBundleTest, TrialsOnCoresShareProcesses) {
  Begin("fuse: 3\ntrials: 8\npolicy: hydro\n");
  for (std::uint64_t i = 0; i < 8; ++i) Proposes(i, {0.5});
  EXPECT_THAT(Bundles(), ElementsAre(Pair(1, ElementsAre(1, 2, 3)), Pair(2, ElementsAre(4, 5, 6))));
  Engine again(std::make_unique<ObservedHydro>(shown_));
  ASSERT_TRUE(again.Load(engine_.Save(), {created_}));
  EXPECT_EQ(again.Digest(), engine_.Digest());
}

TEST_F(EngineBundleTest, OnlyTrialsOfOneShapeShareAProcess) {
  Begin(
      "space: {model: {choice: [mlp, cnn]}, lr: {float: [0, 1]}}\n"
      "shape: [model]\nfuse: 3\ntrials: 8\npolicy: hydro\n");
  for (std::uint64_t i = 0; i < 5; ++i) Proposes(i, {static_cast<double>(i % 2), 0.5});
  EXPECT_THAT(Bundles(), ElementsAre(Pair(1, ElementsAre(1, 3, 5)), Pair(2, ElementsAre(2, 4))));
  std::vector<std::string> shapes;
  for (const WorkItem& item : shown_.items) shapes.emplace_back(item.shape);
  EXPECT_THAT(shapes,
              UnorderedElementsAre("fashion model=mlp", "fashion model=cnn", "fashion model=mlp",
                                   "fashion model=cnn", "fashion model=mlp"));
  EXPECT_EQ(shown_.studies[0].shape, "fashion");
}

TEST_F(EngineBundleTest, SpeedsAreLearnedOfEachShapeAndOfTheStudy) {
  Begin(
      "space: {model: {choice: [mlp, cnn]}, lr: {float: [0, 1]}}\n"
      "shape: [model]\nfuse: 3\ntrials: 5\npolicy: hydro\n");
  for (std::uint64_t i = 0; i < 5; ++i) Proposes(i, {static_cast<double>(i % 2), 0.5});
  Reports(1, 1);
  Reports(2, 1);
  now_ = 11;
  Reports(1, 101);
  Reports(2, 11);
  const auto asked = [&](const std::string& shape, int fused) {
    return shown_.speeds->Ask({.shape = shape, .kind = "", .fused = fused});
  };
  EXPECT_EQ(asked("fashion model=mlp", 3).count, 1) << "three trials of this shape are together";
  EXPECT_NEAR(asked("fashion model=mlp", 3).work_per_second, 10, 1e-9);
  EXPECT_EQ(asked("fashion model=cnn", 2).count, 1);
  EXPECT_NEAR(asked("fashion model=cnn", 2).work_per_second, 1, 1e-9);
  EXPECT_EQ(asked("fashion", 3).measured, 2);
}

}  // namespace
}  // namespace sluice
