#include "cli/view/studies/running_studies.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/test_store.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Keeps what it was shown: "one running", "two over: finished", and what was said.
class KeepingView : public StudiesView {
 public:
  void Show(std::span<const SeenStudy> studies, Time) override {
    shown.clear();
    for (const SeenStudy& study : studies) {
      shown.push_back(fmt::format("{}{}{}", study.progress.study, study.is_over ? " over: " : " ",
                                  Name(study.progress.state())));
    }
  }
  void Say(std::string_view line) override { said.emplace_back(line); }
  void Finish() override {}

  std::vector<std::string> shown;
  std::vector<std::string> said;
};

class RunningStudiesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"one", "two"}) WriteTestStudy(path_, {.name = name, .open = true});
    WriteTestStudy(path_, {.name = "rests"});
    reader_ = *Reader::Open(path_);
    studies_ = std::make_unique<RunningStudies>(*reader_, view_);
    Show();
  }

  void Show() {
    const Status shown = studies_->Show();
    ASSERT_TRUE(shown) << shown.error().message;
  }

  // Changes what the store says of a study, as its controller would.
  void Change(const std::string& name, const std::function<void(StudyRow&)>& change) {
    const auto info = reader_->FindStudy(name);
    ASSERT_TRUE(info) << info.error().message;
    StudyRow row;
    row.id = info->id;
    row.trials = info->trials;
    row.ending = info->ending;
    row.finished = info->finished;
    row.best = info->best;
    row.counts = info->counts;
    row.open = info->open;
    change(row);
    auto ledger = Ledger::Open(path_);
    ASSERT_TRUE(ledger) << ledger.error().message;
    Batch batch;
    batch.study = info->id;
    batch.events.emplace_back(EventSeq(Number((*ledger)->last()) + 1),
                              Event{info->created, StudyPauseAsked{info->id}});
    batch.studies = {row};
    const Status committed = (*ledger)->Commit(batch);
    ASSERT_TRUE(committed) << committed.error().message;
  }

  void Finish(const std::string& name) {
    Change(name, [](StudyRow& row) {
      row.open = false;
      row.finished = true;
      row.ending = "stopped";
    });
  }

  void Delete(const std::string& name) {
    const auto info = reader_->FindStudy(name);
    auto ledger = Ledger::Open(path_);
    ASSERT_TRUE(info && ledger);
    const Status removed = RemoveStudy((*ledger)->database(), info->id, {});
    ASSERT_TRUE(removed) << removed.error().message;
  }

  const TestFolder folder_;
  const std::string path_ = folder_ / "s.db";
  std::unique_ptr<Reader> reader_;
  KeepingView view_;
  std::unique_ptr<RunningStudies> studies_;
};

TEST_F(RunningStudiesTest, FollowsThoseThatRun) {
  EXPECT_THAT(view_.shown, ElementsAre("one running", "two running"));
  EXPECT_EQ(studies_->AnyRunning(), "one");
  WriteTestStudy(path_, {.name = "three", .open = true});
  Finish("one");
  Show();
  EXPECT_THAT(view_.shown, ElementsAre("two running", "three running", "one over: finished"));
  Change("two", [](StudyRow& row) {
    row.open = false;
    row.counts[static_cast<std::size_t>(TrialState::kRunning)] = 0;
  });
  Change("one", [](StudyRow& row) {
    row.open = true;
    row.finished = false;
    row.ending = "running";
  });
  Show();
  EXPECT_THAT(view_.shown, ElementsAre("three running", "one running", "two over: paused"));
  for (const char* name : {"one", "two", "three"}) Finish(name);
  Show();
  EXPECT_THAT(view_.shown, UnorderedElementsAre("one over: finished", "two over: finished",
                                                "three over: finished"));
  EXPECT_EQ(studies_->AnyRunning(), "");
}

TEST_F(RunningStudiesTest, SaysWhyAStudyPausesOnce) {
  Change("two", [](StudyRow& row) { row.pause = "disk full"; });
  Show();
  Show();
  EXPECT_THAT(view_.said,
              ElementsAre("two: trials cannot be started, and the study pauses: disk full"));
}

TEST_F(RunningStudiesTest, ADeletedStudyIsGone) {
  Delete("two");
  Show();
  EXPECT_THAT(view_.said, ElementsAre("two: deleted"));
  EXPECT_THAT(view_.shown, ElementsAre("one running"));
  Finish("one");
  Show();
  Delete("one");
  Show();
  EXPECT_THAT(view_.said, ElementsAre("two: deleted")) << "one was over";
  EXPECT_THAT(view_.shown, IsEmpty());
}

}  // namespace
}  // namespace sluice
