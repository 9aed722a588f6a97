// Several nodes, and nodes that are lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Node Down(Node node) {
  node.up = false;
  return node;
}

class EngineNodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const StudySpec spec = SpecOf("trials: 2\nretries: 0\n");
    Apply(StudyCreated{kStudy, "", "/", 1, spec});
    EXPECT_THAT(Apply(ControllerStarted{{node_, node_}}), ElementsAre("propose 0", "propose 1"));
    Apply(Proposed{kStudy, 0, Point{0.1}});
    Apply(Proposed{kStudy, 1, Point{0.2}});
  }

  template <typename Body>
  std::vector<std::string> Apply(Body body) {
    return Describe(engine_->Apply({At(++now_), std::move(body)}));
  }
  const Trial& TrialOf(int number) const {
    return *engine_->trial({kStudy, TrialId(static_cast<std::uint32_t>(number))});
  }
  Reported ReportOf(int trial, int launch, Work work) const {
    return {.trial = {kStudy, TrialId(static_cast<std::uint32_t>(trial))},
            .launch = LaunchId(static_cast<std::uint32_t>(launch)),
            .position = {.seq = static_cast<std::uint64_t>(work), .offset = 0},
            .work = work,
            .metrics = {{"loss", 0.5}}};
  }

  Node node_ = NodeOf(kWhole);
  std::unique_ptr<Engine> engine_ = NewEngine();
  int now_ = 0;
};

TEST_F(EngineNodesTest, TrialsGoToTheNextNodeThatHasRoom) {
  EXPECT_EQ(TrialOf(1).launch.grant.node, NodeId(1));
  EXPECT_EQ(TrialOf(2).launch.grant.node, NodeId(2));
}

TEST_F(EngineNodesTest, WhatRanOnALostNodeIsLostAndRunsAgainWithoutCountingAsAFailure) {
  Apply(ReportOf(1, 1, 3));
  EXPECT_THAT(Apply(NodesChanged{{Down(node_), node_}}), IsEmpty());  // no other node has room
  EXPECT_EQ(TrialOf(1).state, TrialState::kWaiting);
  EXPECT_EQ(TrialOf(1).failures, 0U);
  EXPECT_EQ(TrialOf(1).note, "node 'here' was lost");
  EXPECT_EQ(TrialOf(2).state, TrialState::kRunning);
  EXPECT_EQ(engine_->Admit(ReportOf(1, 1, 4)), Admission::kStale);
  EXPECT_THAT(Apply(NodesChanged{{node_, node_}}), ElementsAre("start 1.2 3..end"));
  EXPECT_EQ(engine_->Admit(ReportOf(1, 1, 4)), Admission::kStale);
  EXPECT_EQ(TrialOf(1).launch.grant.node, NodeId(1));
}

TEST_F(EngineNodesTest, ANodeThatAControllerDoesNotFindAgainIsLost) {
  EXPECT_THAT(Apply(ControllerStarted{{node_}}), IsEmpty());
  EXPECT_EQ(TrialOf(1).state, TrialState::kRunning);
  EXPECT_EQ(TrialOf(2).state, TrialState::kWaiting);
}

TEST_F(EngineNodesTest, AStudyWhoseNodesAreAllLostWaitsForThem) {
  Apply(NodesChanged{{Down(node_), Down(node_)}});
  EXPECT_FALSE(engine_->study(kStudy)->finished);
  EXPECT_THAT(Apply(NodesChanged{{Down(node_), node_}}), ElementsAre("start 1.2 0..end"));
}

TEST_F(EngineNodesTest, AStudyDoesNotEndWhileThereIsNoRoomToResumeWhatIsPaused) {
  engine_ = NewEngine();
  const StudySpec spec =
      SpecOf("trials: 2\nstopper: sha\nbudget: {min: 1, max: 2, eta: 2}\nparallelism: 1\n");
  Apply(StudyCreated{kStudy, "", "/", 1, spec});
  Apply(ControllerStarted{{node_}});
  Apply(Proposed{kStudy, 0, Point{0.1}});
  Apply(ReportOf(1, 1, 1));  // trial 1 waits for the other trial at the first rung
  Apply(NodesChanged{{Down(node_)}});
  ASSERT_EQ(TrialOf(1).state, TrialState::kPaused);
  Apply(StudyResumed{kStudy, 1, std::nullopt});  // now there will be no other trial
  EXPECT_FALSE(engine_->study(kStudy)->finished);
  EXPECT_THAT(Apply(NodesChanged{{node_}}), ElementsAre("start 1.2 1..2"));
}

}  // namespace
}  // namespace sluice
