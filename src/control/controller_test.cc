// A controller while a checkpoint is copied: what waits for the copy, and what does not. And a
// controller whose worker has replaced its process.

#include "control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/test_site.h"
#include "engine/test_engine.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Trial 1 has saved and leads. Trial 2 has lost, and trial 3, a fork of trial 1, takes its place.
class ControllerCopyTest : public ::testing::Test {
 protected:
  ControllerCopyTest() {
    const std::string lines =
        "trials: 2\nsampler: random\nstopper: {name: pbt-async, interval: 5}\nbudget: {max: 20}\n";
    Controller::Parts parts;
    parts.engine = NewEngine();
    (void)parts.engine->Apply({Time{}, StudyCreated{.study = kStudy,
                                                    .source = SourceOf(lines),
                                                    .folder = "/",
                                                    .seed = 1,
                                                    .spec = SpecOf(lines)}});
    controller_ = std::make_unique<Controller>(std::move(parts), site_, committer_);
    controller_->Add({.study = kStudy, .site = site_, .searcher = searcher_, .knowledge = {}});
    controller_->Begin({ControllerStarted{{NodeOf(2 * kWhole)}}});
    for (std::uint64_t counter : {0, 1})
      controller_->Answered(kStudy, {.counter = counter, .point = Point{0.5}, .fork = {}});
    CommitAll();
    controller_->Happened(CheckpointSaved{TestEngine::Key(1), LaunchId(1), {.seq = 1}, 4, 100});
    Report(1, {.seq = 2}, 1);
    Report(2, {.seq = 1}, 2);
    controller_->Answered(kStudy, {.counter = 0, .point = Point{0.6}, .fork = TrialId(3)});
    CommitAll();
    controller_->workforce(kStudy).HostEnded("1.1");
    site_.end = LaunchEnd::Kind::kDone;
    CommitAll();
  }

  void Report(int trial, Position position, double loss) {
    controller_->Happened(Reported{.trial = TestEngine::Key(trial),
                                   .launch = LaunchId(1),
                                   .position = position,
                                   .work = 5,
                                   .metrics = {{"loss", loss}}});
  }
  void CommitAll() {
    for (controller_->Flush(); committer_.busy(); controller_->Flush()) {
      committer_.is_busy = false;
      controller_->Committed({});
    }
  }
  const Trial& TrialOf(int trial) { return *controller_->engine().trial(TestEngine::Key(trial)); }

  IdleSite site_;
  OneBatchCommitter committer_;
  MuteSearcher searcher_;
  std::unique_ptr<Controller> controller_;
};

// A controller of a study of two trials, of which one can run. The test plays their process.
class ControllerSpeakerTest : public ::testing::Test {
 protected:
  explicit ControllerSpeakerTest(const std::string& policy = "fifo",
                                 const std::string& more_lines = "") {
    const std::string lines =
        "trials: 2\nsampler: random\nresources: {cpus: 1}\nretries: 0\nbudget: {max: 9}\n"
        "policy: " +
        policy + "\n" + more_lines;
    Controller::Parts parts;
    parts.engine = NewEngine();
    (void)parts.engine->Apply({Time{}, StudyCreated{.study = kStudy,
                                                    .source = SourceOf(lines),
                                                    .folder = "/",
                                                    .seed = 1,
                                                    .spec = SpecOf(lines)}});
    controller_ = std::make_unique<Controller>(std::move(parts), site_, committer_);
    controller_->Add({.study = kStudy, .site = site_, .searcher = searcher_, .knowledge = {}});
    controller_->Begin({ControllerStarted{{NodeOf(1 * kWhole)}}});
    for (std::uint64_t counter : {0, 1})
      controller_->Answered(kStudy, {.counter = counter, .point = Point{0.5}, .fork = {}});
    Commit();
  }

  // The process replaces its program and connects again.
  void Connect(PeerId peer, const wire::Hello& hello) {
    site_.speaker = Speaker{.speaks = true, .pid = 7, .start = 1, .image = peer};
    controller_->workforce(kStudy).Connected(peer);
    Say(peer, hello);
  }
  void Say(PeerId peer, const wire::FromWorker& message) {
    controller_->workforce(kStudy).Heard(peer, wire::Encode(message));
    Commit();
  }
  void Commit() {
    for (controller_->Flush(); committer_.busy(); controller_->Flush()) {
      committer_.is_busy = false;
      controller_->Committed({});
    }
  }
  const Trial& TrialOf(int trial) { return *controller_->engine().trial(TestEngine::Key(trial)); }

  IdleSite site_;
  OneBatchCommitter committer_;
  MuteSearcher searcher_;
  std::unique_ptr<Controller> controller_;
  const wire::LaunchRef first_{TrialId(1), LaunchId(1)};
  const wire::LaunchRef second_{TrialId(2), LaunchId(1)};
};

class ControllerBundleTest : public ControllerSpeakerTest {
 protected:
  ControllerBundleTest() : ControllerSpeakerTest("hydro", "fuse: {most: 2}\n") {}
};

TEST_F(ControllerBundleTest, ALaunchWhoseEndIsInTheSpoolIsNotGivenAgain) {
  wire::Hello hello{.version = 2, .worker = "1.1", .launches = {first_}};
  hello.capacity = 2;
  Connect(1, hello);
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("start 1.1", "assign 2.1"));
  site_.spools[second_] = {wire::Encode(wire::Failed{second_, 1, "no more memory"})};
  Connect(2, hello);
  EXPECT_THAT(site_.TakeCalls(), IsEmpty());
  EXPECT_EQ(TrialOf(2).state, TrialState::kFailed);
  EXPECT_EQ(TrialOf(2).note, "no more memory");
}

// The first message of a process is the first moment at which its number tells what an earlier
// process left behind.
TEST_F(ControllerBundleTest, OnlyTheLaunchThatAnEarlierProcessEndedIsRefused) {
  wire::Hello hello{.version = 2, .worker = "1.1", .launches = {first_}};
  hello.capacity = 2;
  Connect(1, hello);
  site_.spools[first_] = {wire::Encode(wire::Report{first_, 1, 1, {{"loss", 1}}}),
                          wire::Encode(wire::Done{first_, 2})};
  Connect(2, hello);
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("start 1.1", "assign 2.1", "assign 2.1"));
  Say(2, wire::Report{first_, wire::kConversation + 1, 1, {{"loss", 1}}});
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("refuse 1.1"));
  EXPECT_EQ(TrialOf(1).state, TrialState::kComplete);
  EXPECT_EQ(TrialOf(1).reports, 1);
  Say(2, wire::Report{second_, wire::kConversation + 1, 1, {{"loss", 1}}});
  EXPECT_EQ(TrialOf(2).reports, 1);
}

TEST_F(ControllerSpeakerTest, ALaunchThatAnEarlierProcessPausedIsRefusedAndStartsAgain) {
  const wire::Hello hello{.version = 1, .worker = "1.1", .reuse = true, .launches = {first_}};
  Connect(1, hello);
  Say(1, wire::Report{first_, 1, 1, {{"loss", 1}}});
  site_.spools[first_] = {wire::Encode(wire::Paused{first_, 2})};
  Connect(2, hello);
  (void)site_.TakeCalls();
  Say(2, wire::Report{first_, wire::kConversation + 1, 2, {{"loss", 1}}});
  EXPECT_EQ(TrialOf(1).reports, 1);
  EXPECT_THAT(site_.TakeCalls(), Contains("refuse the process"));
}

TEST_F(ControllerSpeakerTest, AWorkerThatConnectsAgainHasTimeToCompleteItsTrial) {
  const wire::Hello hello{.version = 1, .worker = "1.1", .reuse = true, .launches = {first_}};
  Connect(1, hello);
  Say(1, wire::Report{first_, 1, 9, {{"loss", 1}}});
  EXPECT_TRUE(TrialOf(1).leaving);
  controller_->workforce(kStudy).Closed(1);
  Connect(1, hello);
  EXPECT_THAT(site_.TakeCalls(), Not(Contains("wait for the grace period")));
}

TEST_F(ControllerSpeakerTest, AMessageOfAnEndedLaunchSaysNothingOfTheNumbersOfTheNext) {
  const auto report = [this](wire::LaunchRef at, Work work) {
    return wire::Report{.at = at, .seq = 1, .work = work, .values = {{"loss", 1}}};
  };
  const wire::Hello hello{.version = 1, .worker = "1.1", .reuse = true, .launches = {first_}};
  Connect(1, hello);
  Say(1, report(first_, 1));
  Say(1, wire::Done{first_, 2});
  Say(1, wire::Ready{});
  controller_->Answered(kStudy, {.counter = 1, .point = Point{0.5}, .fork = {}});
  Commit();
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("start 1.1", "assign 2.1"));
  Say(1, report(second_, 1));
  // Later programs of the process count from 1 again. The last one tells of its first launch first.
  wire::Hello again = hello;
  again.launches = {second_};
  Connect(2, again);
  Say(2, report(second_, 2));
  EXPECT_EQ(TrialOf(2).reports, 2);
  Connect(3, hello);
  Say(3, wire::Done{first_, 1});
  Say(3, wire::Ready{});
  Say(3, report(second_, 3));
  EXPECT_EQ(TrialOf(2).reports, 3);
}

TEST_F(ControllerCopyTest, ParentAndForkStartOnceTheCopyIsOnDisk) {
  EXPECT_THAT(site_.TakeCalls(),
              ElementsAre("start 1.1", "start 2.1", "signal 1.1", "signal 2.1", "copy 1 to 3"))
      << "the parent does not go on yet";
  EXPECT_EQ(TrialOf(1).state, TrialState::kRunning) << "to the engine it does";
  controller_->workforce(kStudy).HostEnded("2.1");
  CommitAll();
  EXPECT_EQ(TrialOf(2).state, TrialState::kStopped) << "other trials are not held up";
  site_.TakeCopy()(Work{4});
  EXPECT_THAT(site_.TakeCalls(), IsEmpty()) << "the copy is not in the ledger yet";
  CommitAll();
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("start 1.2", "start 3.1"));
  EXPECT_EQ(TrialOf(3).forked_at, 4);
}

TEST_F(ControllerCopyTest, ACopyThatFailsHoldsUpNothing) {
  controller_->workforce(kStudy).HostEnded("2.1");
  (void)site_.TakeCalls();
  site_.TakeCopy()(Unavailable("the disk is full"));
  CommitAll();
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("start 1.2", "start 3.1"));
  EXPECT_EQ(TrialOf(3).forked_at, 0);
}

TEST_F(ControllerCopyTest, ALaunchThatIsStoppedBeforeItStartedNeverStarts) {
  controller_->workforce(kStudy).HostEnded("2.1");
  (void)site_.TakeCalls();
  controller_->Happened(TrialStopAsked{TestEngine::Key(1)});
  CommitAll();
  EXPECT_EQ(TrialOf(1).state, TrialState::kStopped);
  site_.TakeCopy()(Work{4});
  CommitAll();
  EXPECT_THAT(site_.TakeCalls(), ElementsAre("start 3.1"));
}

TEST_F(ControllerCopyTest, AControllerThatDrainsDoesNotWaitForTheCopy) {
  controller_->workforce(kStudy).HostEnded("2.1");
  controller_->Happened(DrainAsked{});
  CommitAll();
  EXPECT_EQ(TrialOf(1).state, TrialState::kWaiting) << "it goes on later";
  EXPECT_EQ(TrialOf(1).failures, 0U);
  EXPECT_TRUE(controller_->Over());
  const auto unfinished = Describe(controller_->engine().Unfinished());
  EXPECT_THAT(unfinished, Contains("copy 1 to 3")) << "the next controller copies again";
}

TEST_F(ControllerCopyTest, AnInterruptedControllerDoesNotWaitForTheCopy) {
  controller_->Happened(DrainAsked{});
  controller_->workforce(kStudy).KillAll();
  controller_->workforce(kStudy).HostEnded("2.1");
  EXPECT_EQ(TrialOf(1).state, TrialState::kWaiting) << "before anything is on disk";
  CommitAll();
  EXPECT_TRUE(controller_->Over());
  EXPECT_THAT(site_.TakeCalls(), Not(Contains("start 1.2")));
}

}  // namespace
}  // namespace sluice
