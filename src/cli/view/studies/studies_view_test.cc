#include "cli/view/studies/studies_view.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/text/test_lines.h"
#include "cli/view/studies/studies_lines.h"
#include "cli/view/test_ends.h"

namespace sluice {
namespace {

using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::ResultOf;
using testing::StartsWith;

const Time kTimeOfStudies = FromMicros(1'800'000'000'000'000);

SeenStudy SomeStudy(int id, const std::string& name, int done) {
  SeenStudy study{.id = StudyId(static_cast<std::uint32_t>(id)), .progress = {}};
  Progress& progress = study.progress;
  progress.study = name;
  progress.unit = "epoch";
  progress.metric = "loss";
  progress.trials_wanted = 4;
  progress.counts[static_cast<std::size_t>(TrialState::kRunning)] = 4 - done;
  progress.counts[static_cast<std::size_t>(TrialState::kComplete)] = done;
  progress.now = kTimeOfStudies;
  progress.created = kTimeOfStudies - seconds(9);
  progress.elapsed = seconds(9);
  if (done > 0) progress.best = {TrialId(1), 0.5 / done, 3, {{"x", std::int64_t{7}}}};
  progress.left = seconds(20);
  return study;
}

SeenStudy Finished(SeenStudy study) {
  study.progress.finished = study.is_over = true;
  study.progress.reason = "all trials done";
  return study;
}

SeenStudy Paused(SeenStudy study) {
  study.progress.paused = study.is_over = true;
  study.progress.left.reset();
  return study;
}

TEST(RenderStudiesTest, ALineForEach) {
  const std::vector<SeenStudy> studies = {SomeStudy(1, "digits", 2), SomeStudy(2, "text", 0),
                                          Finished(SomeStudy(3, "images", 4)),
                                          Paused(SomeStudy(4, "late", 1))};
  EXPECT_THAT(
      RenderStudies(studies, {.columns = 100, .colour = false, .utf8 = true}, 24),
      ElementsAre(
          "digits  running   2/4 trials  2 running  loss 0.25 (trial 1, epoch 3)   about 20s left",
          "text    running   0/4 trials  4 running  no result yet                  about 20s left",
          "images  finished  4/4 trials             loss 0.125 (trial 1, epoch 3)  all trials done",
          "late    paused    1/4 trials             loss 0.5 (trial 1, epoch 3)    paused"));
}

TEST(RenderStudiesTest, NeverWiderOrTallerThanTheTerminal) {
  std::vector<SeenStudy> studies;
  for (int i = 1; i <= 30; ++i) studies.push_back(SomeStudy(i, "名前の長い研究🙂\x1b[2J", i % 4));
  for (int columns = 1; columns <= 120; ++columns) {
    for (const int rows : {1, 2, 3, 4, 24, 60}) {
      const auto lines =
          RenderStudies(studies, {.columns = columns, .colour = false, .utf8 = true}, rows);
      ASSERT_LE(lines.size(), static_cast<std::size_t>(std::max(rows - 2, 1)));
      EXPECT_THAT(lines, Each(ResultOf(DisplayWidth, Le(columns))));
    }
  }
  const Medium medium{.columns = 100, .colour = false, .utf8 = false};
  EXPECT_EQ(RenderStudies(studies, medium, 12).back(), "... and 21 more");
  EXPECT_EQ(RenderStudies(studies, medium, 32).size(), 30u) << "all where they fit";
}

class StudiesViewTest : public testing::Test {
 protected:
  StudiesViewTest() { setenv("NO_COLOR", "1", 1); }

  void Show(const std::vector<SeenStudy>& studies) {
    now_ += seconds(2);
    std::vector<SeenStudy> at_now = studies;
    for (SeenStudy& study : at_now) study.progress.now = now_;
    view_->Show(at_now, now_);
  }

  void Begin(ViewMode mode) {
    OpenPipe(ends_);
    view_ = MakeStudiesView(mode, ends_.writer);
  }

  std::vector<std::string> Read() { return Lines(ends_.Read()); }

  Ends ends_;
  Time now_ = kTimeOfStudies;
  std::unique_ptr<StudiesView> view_;
};

TEST_F(StudiesViewTest, PlainTellsWhatIsNoteworthy) {
  Begin(ViewMode::kPlain);
  Show({SomeStudy(1, "one", 1)});
  EXPECT_THAT(Read(), ElementsAre(StartsWith("[9s] one runs: 1/4 trials (25%), 3 running")));
  Show({SomeStudy(1, "one", 1), SomeStudy(2, "two", 0)});
  EXPECT_THAT(Read(), ElementsAre(StartsWith("[9s] two runs: 0/4 trials")));
  Show({SomeStudy(1, "one", 2), SomeStudy(2, "two", 0)});
  EXPECT_THAT(Read(), ElementsAre("[9s] one: new best: loss 0.25 (trial 1, epoch 3)  x=7"));
  const SeenStudy finished = Finished(SomeStudy(1, "one", 2));
  Show({SomeStudy(2, "two", 0), finished});
  EXPECT_THAT(Read(), ElementsAre(AllOf(StartsWith("[9s] one finished: 2/4 trials"),
                                        EndsWith(", all trials done"))));
  Show({finished, Paused(SomeStudy(2, "two", 0))});
  EXPECT_THAT(Read(), ElementsAre(StartsWith("[9s] two paused: 0/4 trials")));
  Show({SomeStudy(2, "two", 0), finished});
  EXPECT_THAT(Read(), ElementsAre(StartsWith("[9s] two runs: 0/4 trials"))) << "it was resumed";
  view_->Say("a word");
  view_.reset();
  EXPECT_THAT(Read(), ElementsAre("a word")) << "the view ends, and not the study";
}

TEST_F(StudiesViewTest, AnEndThatWasNotSeenIsTold) {
  Begin(ViewMode::kPlain);
  Show({SomeStudy(1, "one", 1)});
  Show({Paused(SomeStudy(1, "one", 1))});
  Read();
  Show({Finished(SomeStudy(1, "one", 4))});
  Show({Finished(SomeStudy(1, "one", 4))});
  EXPECT_THAT(Read(), ElementsAre(StartsWith("[9s] one finished: 4/4 trials")));
}

TEST_F(StudiesViewTest, JsonIsWhatAViewOfEachHas) {
  Begin(ViewMode::kJson);
  Show({SomeStudy(1, "one", 1), SomeStudy(2, "two", 0)});
  const auto lines = Read();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], [this] {
    SeenStudy one = SomeStudy(1, "one", 1);
    one.progress.now = now_;
    return ProgressJson(one.progress);
  }());
  EXPECT_EQ(nlohmann::json::parse(lines[1])["study"], "two");
  Show({SomeStudy(2, "two", 0), Finished(SomeStudy(1, "one", 4))});
  view_->Say("draining");
  std::vector<std::string> told;
  for (const std::string& line : Read()) {
    const auto json = nlohmann::json::parse(line);
    told.push_back(json.value("study", "") + " " +
                   (json.contains("state") ? json["state"] : json["message"]).get<std::string>());
  }
  EXPECT_THAT(told, ElementsAre("two running", "one finished", " draining"));
}

TEST_F(StudiesViewTest, TheRegionIsRedrawnInPlace) {
  OpenTerminal(ends_, 100);
  view_ = MakeStudiesView(ViewMode::kLive, ends_.writer);
  Show({SomeStudy(1, "one", 1), SomeStudy(2, "two", 0)});
  std::string text = ends_.Read();
  view_->Say("a word");
  Show({SomeStudy(2, "two", 0), Finished(SomeStudy(1, "one", 4))});
  view_.reset();
  text += ends_.Read();
  EXPECT_THAT(Screen(text), ElementsAre("a word", StartsWith("two  running   0/4 trials"),
                                        StartsWith("one  finished  4/4 trials"), ""));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[2J")));
}

}  // namespace
}  // namespace sluice
