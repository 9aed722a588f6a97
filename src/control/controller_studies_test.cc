// A controller with several studies, which come and go. At any time it may die, and the next one
// finds everything in the ledger.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "base/random.h"
#include "control/controller.h"
#include "control/test_site.h"
#include "ledger/audit.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LedgerCommitter final : public Committer {
 public:
  explicit LedgerCommitter(Ledger& ledger) : ledger_(ledger) {}
  bool busy() const override { return batch_.has_value(); }
  void Submit(Batch batch) override { batch_ = std::move(batch); }
  // Writes what was submitted, if anything was.
  bool Write() {
    if (!batch_) return false;
    const Status written = ledger_.Commit(*std::exchange(batch_, std::nullopt));
    SLUICE_CHECK(written.has_value(), written ? "" : written.error().message.c_str());
    return true;
  }

 private:
  Ledger& ledger_;
  std::optional<Batch> batch_;
};

// Remembers for which proposals it was asked.
class PatientSearcher final : public Searcher {
 public:
  void Observe(Observation) override { ++observed; }
  void Ask(std::uint64_t counter) override { asked.insert(counter); }
  void AskFork(TrialId, std::function<Point()>) override {}
  std::set<std::uint64_t> asked;
  int observed = 0;
};

class ControllerStudiesTest : public ::testing::TestWithParam<int> {
 protected:
  // What dies with a controller.
  struct Life {
    explicit Life(Ledger& ledger) : committer(ledger) {}
    IdleSite clock;
    LedgerCommitter committer;
    std::map<StudyId, IdleSite> sites;
    std::map<StudyId, PatientSearcher> searchers;
    std::unique_ptr<Controller> controller;
  };

  void SetUp() override {
    DoNotSync(*ledger_);
    Begin();
  }

  StudyId Create(const std::string& lines) {
    Settle();
    const StudyId id{static_cast<std::uint32_t>(++made_)};
    auto engine = NewEngine();
    Recorder recorder(*ledger_, id, 10);
    const StudyCreated created{.study = id,
                               .source = SourceOf(lines),
                               .folder = "/",
                               .seed = 1,
                               .spec = SpecOf(lines, fmt::format("study{}", made_))};
    SLUICE_CHECK(recorder.Record(*engine, {Time{}, created}).has_value(), "it is written");
    SLUICE_CHECK(recorder.Flush(*engine).has_value(), "it is written");
    controller().GoOnAfter(ledger_->last());
    return id;
  }

  // A controller takes over what the ledger has.
  void Begin() {
    life_ = std::make_unique<Life>(*ledger_);
    Controller::Parts parts;
    parts.engine = std::move(*RecoverShared(ledger_->database()));
    parts.last = ledger_->last();
    parts.snapshot_every = 25;
    std::vector<StudyId> open;
    for (const auto& study : parts.engine->studies()) open.push_back(study->id);
    life_->controller =
        std::make_unique<Controller>(std::move(parts), life_->clock, life_->committer);
    for (const StudyId id : open) controller().Add(Drive(id));
    controller().Begin({ControllerStarted{nodes_}});
    Settle();
  }
  void Die() { life_.reset(); }

  Controller::Driven Drive(StudyId id) {
    return {
        .study = id, .site = life_->sites[id], .searcher = life_->searchers[id], .knowledge = {}};
  }
  void Open(StudyId id, std::vector<EventBody> first = {}) {
    Settle();
    controller().Open(Drive(id), std::move(*RecoverEngine(ledger_->database(), id)), nodes_, {},
                      std::move(first));
    Settle();
  }

  // Commits all that has happened and answers proposals, until nothing more happens.
  void Settle() {
    for (bool more = true; more;) {
      controller().Flush();
      more = life_->committer.Write();
      if (more) controller().Committed({});
      for (auto& [id, searcher] : life_->searchers) {
        for (const std::uint64_t counter : std::exchange(searcher.asked, {})) {
          controller().Answered(id, {.counter = counter, .point = Point{0.5}, .fork = {}});
          more = true;
        }
      }
    }
  }

  // The program of a running trial ends. It reported once.
  void End(StudyId id, TrialId trial) {
    const Launch& launch = StudyOf(id).trial(trial).launch;
    life_->sites[id].end = LaunchEnd::Kind::kDone;
    controller().Happened(Reported{.trial = {id, trial},
                                   .launch = launch.id,
                                   .position = {.seq = launch.seq + 1, .offset = 0},
                                   .work = launch.work + 1,
                                   .metrics = {{"loss", 0.5}}});
    controller().workforce(id).HostEnded(fmt::format("{}.{}", Number(trial), Number(launch.id)));
  }
  void CloseIdle() {
    for (std::uint32_t n = 1; n <= static_cast<std::uint32_t>(made_); ++n) {
      const StudyId id{n};
      if (!controller().Drives(id)) continue;
      const Study& study = StudyOf(id);
      if (study.finished || controller().engine().IsHeld(study))
        controller().workforce(id).DismissIdle();
      if (controller().IsIdle(id)) controller().Close(id);
    }
  }

  wire::Answer Ask(const wire::Ask& ask) {
    wire::Answer answered;
    controller().Asked(ask, [&](const wire::Answer& answer) { answered = answer; });
    Settle();
    return answered;
  }

  const Study& StudyOf(StudyId id) { return *controller().engine().study(id); }
  Controller& controller() { return *life_->controller; }
  void ExpectSound() {
    const auto reader = Reader::Open(folder_ / "s.db");
    ASSERT_TRUE(reader);
    const auto studies = (*reader)->Studies();
    ASSERT_TRUE(studies);
    for (const StudyInfo& study : *studies) {
      const auto findings = AuditStudy(**reader, study);
      ASSERT_TRUE(findings) << findings.error().message;
      EXPECT_THAT(*findings, IsEmpty()) << study.name;
    }
    EXPECT_TRUE(*IsChainWhole(**reader));
  }

  TestFolder folder_;
  std::unique_ptr<Ledger> ledger_ = OpenLedger(folder_ / "s.db");
  std::vector<Node> nodes_ = {NodeOf(2 * kWhole)};
  std::unique_ptr<Life> life_;
  int made_ = 0;
};

TEST_F(ControllerStudiesTest, StudiesRunSideBySideAndAreLetGoWhenTheyAreDone) {
  const StudyId a = Create("trials: 2\n");
  const StudyId b = Create("trials: 3\n");
  Open(a);
  EXPECT_EQ(StudyOf(a).running.size(), 2U);
  Open(b);
  EXPECT_EQ(StudyOf(b).running.size(), 0U);
  End(a, TrialId(1));
  Settle();
  EXPECT_EQ(StudyOf(b).running.size(), 1U);
  EXPECT_THAT(life_->sites[b].TakeCalls(), ::testing::Contains("start 1.1"));
  End(a, TrialId(2));
  Settle();
  EXPECT_TRUE(StudyOf(a).finished);
  EXPECT_EQ(StudyOf(b).running.size(), 2U);
  CloseIdle();
  Settle();
  EXPECT_FALSE(controller().Drives(a));
  EXPECT_FALSE(controller().Over());
  for (const TrialId trial : {TrialId(1), TrialId(2), TrialId(3)}) {
    End(b, trial);
    Settle();
  }
  CloseIdle();
  Settle();
  EXPECT_TRUE(controller().Over());
  ExpectSound();
}

TEST_F(ControllerStudiesTest, TheCommandLineAsksForOneStudy) {
  const StudyId a = Create("trials: 9\n");
  const StudyId b = Create("trials: 9\n");
  Open(a);
  Open(b);
  EXPECT_TRUE(Ask({.verb = "stop", .study = "study2", .trial = {}}).ok);
  EXPECT_EQ(StudyOf(b).ending, Finish::kAsked);
  EXPECT_EQ(StudyOf(a).ending, Finish::kNot);
  const wire::Answer refused = Ask({.verb = "stop", .study = "study3", .trial = {}});
  EXPECT_FALSE(refused.ok);
  EXPECT_THAT(refused.message, HasSubstr("study 'study3' does not run"));
}

TEST_F(ControllerStudiesTest, TheCommandLinePausesOneStudy) {
  const StudyId a = Create("trials: 9\n");
  const StudyId b = Create("trials: 9\n");
  Open(a);
  Open(b);
  for (const std::string verb : {"pause", "pause", "kill"})
    EXPECT_TRUE(Ask({.verb = verb, .study = "study1", .trial = {}}).ok);
  EXPECT_TRUE(StudyOf(a).paused);
  EXPECT_FALSE(StudyOf(b).paused);
  const wire::Answer refused = Ask({.verb = "pause", .study = "study3", .trial = {}});
  EXPECT_FALSE(refused.ok);
  EXPECT_TRUE(IsNotDriven(refused));
}

TEST_F(ControllerStudiesTest, APausedStudyIsLetGoAndComesAgain) {
  const StudyId a = Create("trials: 4\n");
  const StudyId b = Create("trials: 40\n");
  Open(a);
  controller().Happened(StudyPauseAsked{a});
  for (const TrialId trial : {TrialId(1), TrialId(2)}) End(a, trial);
  Settle();
  CloseIdle();
  Settle();
  EXPECT_FALSE(controller().Drives(a));
  Open(b);
  Die();
  Begin();
  EXPECT_FALSE(controller().Drives(a)) << "nobody has resumed it";
  EXPECT_TRUE(controller().Drives(b));
  Open(a, {StudyResumed{a, {}, {}}});
  EXPECT_GT(life_->searchers[a].observed, 0);
  EXPECT_FALSE(StudyOf(a).paused);
  ExpectSound();
}

using ControllerLivesTest = ControllerStudiesTest;

// Studies come, end, pause and go; controllers die between any two commits.
TEST_P(ControllerLivesTest, ControllersThatDieLoseNothing) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  std::map<StudyId, int> ended;
  for (int step = 0; step < 600; ++step) {
    const auto some = [&](const std::vector<StudyId>& ids) {
      return ids[random.Below(ids.size())];
    };
    std::vector<StudyId> here;
    std::vector<StudyId> away;
    for (std::uint32_t n = 1; n <= static_cast<std::uint32_t>(made_); ++n)
      (controller().Drives(StudyId(n)) ? here : away).push_back(StudyId(n));
    const std::uint64_t what = random.Below(30);
    if (what == 0 && made_ < 8) {
      Create(fmt::format("trials: {}\nweight: {}\n", 5 + random.Below(20), 1 + random.Below(3)));
    } else if (what <= 3 && !away.empty()) {
      Open(some(away), {});
    } else if (what == 4 && !here.empty()) {
      controller().Happened(StudyPauseAsked{some(here)});
    } else if (what == 5 && !here.empty()) {
      const StudyId id = some(here);
      controller().Happened(StudyResumed{id, StudyOf(id).trials_wanted + 1, {}});
    } else if (what == 6) {
      if (random.Chance(0.5)) controller().Flush();
      if (random.Chance(0.5)) life_->committer.Write();
      Die();
      Begin();
    } else if (what == 7) {
      Settle();
      CloseIdle();
    } else if (!here.empty()) {
      Settle();  // a program starts once its launch is on disk
      const StudyId id = some(here);
      if (!StudyOf(id).running.empty()) {
        End(id, StudyOf(id).running.front());
        ++ended[id];
      }
    }
    if (random.Chance(0.7)) Settle();
    if (step % 50 == 49) {
      Settle();
      const auto quick = RecoverShared(ledger_->database());
      const auto slow = RecoverShared(ledger_->database(), Recover::kFromEvents);
      ASSERT_TRUE(quick && slow);
      ASSERT_EQ((*quick)->Digest(), (*slow)->Digest()) << "step " << step;
      if (!controller().engine().studies().empty()) {
        ASSERT_EQ((*quick)->Digest(), controller().engine().Digest()) << "step " << step;
      }
      ExpectSound();
    }
  }
  EXPECT_GT(ended.size(), 4U);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ControllerLivesTest, ::testing::Range(0, 6));

}  // namespace
}  // namespace sluice
