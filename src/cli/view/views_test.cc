#include "cli/view/views.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/text/test_lines.h"
#include "cli/view/test_ends.h"
#include "exec/wall_clock.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ViewsTest : public testing::Test {
 protected:
  ViewsTest() {
    setenv("LC_ALL", "C", 1);
    setenv("NO_COLOR", "1", 1);
    study_.spec.name = "tiny";
    study_.spec.objective = {"loss", Direction::kMinimize};
    study_.trials_wanted = 4;
    now_ = WallNow();
    study_.created = now_;
  }

  void Start() {
    Trial trial;
    trial.id = TrialId(static_cast<std::uint32_t>(study_.trials.size() + 1));
    trial.state = TrialState::kRunning;
    trial.launch.started = now_;
    study_.trials.push_back(trial);
    study_.running.push_back(trial.id);
    ++study_.counts[static_cast<std::size_t>(TrialState::kRunning)];
  }

  void End(TrialState state, double value) {
    Trial& trial = study_.trials[Number(study_.running.front()) - 1];
    study_.running.erase(study_.running.begin());
    --study_.counts[static_cast<std::size_t>(TrialState::kRunning)];
    ++study_.counts[static_cast<std::size_t>(state)];
    trial.state = state;
    trial.ended = now_;
    trial.work = trial.result_work = 3;
    trial.result = trial.value = value;
    trial.note = "exit status 1";
    if (state != TrialState::kFailed &&
        (!IsSet(study_.best) || value < study_.trial(study_.best).result)) {
      study_.best = trial.id;
    }
  }

  void Finish() {
    study_.ending = Finish::kTrials;
    study_.finished = true;
  }

  Study study_;
  Time now_;
};

TEST_F(ViewsTest, TheRegionIsRedrawnInPlace) {
  Ends ends;
  OpenTerminal(ends, 80);
  auto view = MakeView(ViewMode::kLive, ends.writer);
  std::string text;
  for (int i = 0; i < 4; ++i) {
    Start();
    now_ += seconds(1);
    view->Tick(study_, now_);
    text += ends.Read();
    End(TrialState::kComplete, 4 - i);
    now_ += seconds(1);
    view->Tick(study_, now_);
    text += ends.Read();
  }
  Finish();
  view->Tick(study_, now_);
  view.reset();
  text += ends.Read();
  const auto screen = Screen(text);
  ASSERT_EQ(screen.size(), 4u) << text;
  EXPECT_THAT(screen[0], StartsWith("tiny"));
  EXPECT_THAT(screen[0], HasSubstr("4/4 trials   100%   8s, all trials done"));
  EXPECT_THAT(screen[1], StartsWith("best      loss 1 (trial 4, epoch 3)"));
  EXPECT_EQ(screen[3], "") << "the cursor rests below";
}

TEST_F(ViewsTest, EachFrameShowsTheCursorAgain) {
  Ends ends;
  OpenTerminal(ends, 80);
  const auto view = MakeView(ViewMode::kLive, ends.writer);
  for (int i = 0; i < 3; ++i) {
    now_ += seconds(1);
    view->Tick(study_, now_);
    const std::string frame = ends.Read();
    EXPECT_THAT(frame, StartsWith("\x1b[?25l"));
    EXPECT_THAT(frame, EndsWith("\x1b[?25h"));
    EXPECT_EQ(frame.find("\x1b[?25h"), frame.rfind("\x1b[?25h"));
  }
}

TEST_F(ViewsTest, AtMostTenFramesASecond) {
  Ends ends;
  OpenTerminal(ends, 80);
  auto view = MakeView(ViewMode::kLive, ends.writer);
  view->Tick(study_, now_);
  EXPECT_NE(ends.Read(), "");
  Start();
  view->Tick(study_, now_ + milliseconds(50));
  EXPECT_EQ(ends.Read(), "");
  view.reset();
  EXPECT_THAT(ends.Read(), HasSubstr("1 running")) << "the last state is shown all the same";
}

TEST_F(ViewsTest, WhatIsSaidScrollsAbove) {
  Ends ends;
  OpenTerminal(ends, 80);
  auto view = MakeView(ViewMode::kLive, ends.writer);
  view->Say("before \x1b[2J");
  view->Tick(study_, now_);
  std::string text = ends.Read();
  view->Say("first");
  view->Say(
      "second, which is quite long and so takes more than a line of this terminal, as it happens");
  text += ends.Read();
  view.reset();
  text += ends.Read();
  const auto screen = Screen(text);
  ASSERT_EQ(screen.size(), 7u) << text;
  EXPECT_EQ(screen[0], "before ?[2J");
  EXPECT_EQ(screen[1], "first");
  EXPECT_THAT(screen[2], StartsWith("second"));
  EXPECT_THAT(screen[3], StartsWith("tiny"));
}

TEST_F(ViewsTest, AFailedTrialIsToldOnce) {
  Ends ends;
  OpenTerminal(ends, 80);
  auto view = MakeView(ViewMode::kLive, ends.writer);
  now_ = WallNow();
  Start();
  Start();
  view->Tick(study_, now_);
  End(TrialState::kFailed, 0);
  End(TrialState::kComplete, 0);
  view->Tick(study_, now_ + seconds(1));
  view->Tick(study_, now_ + seconds(2));
  view.reset();
  const auto screen = Screen(ends.Read());
  ASSERT_EQ(screen.size(), 5u);
  EXPECT_EQ(screen[0], "trial 1 failed: exit status 1");
  EXPECT_THAT(screen[1], StartsWith("tiny"));
}

TEST_F(ViewsTest, FollowsTheSizeOfTheWindow) {
  Ends ends;
  OpenTerminal(ends, 80);
  const auto view = MakeView(ViewMode::kLive, ends.writer);
  view->Tick(study_, now_);
  view->Say("a word");
  ends.Read();
  const struct winsize size{.ws_row = 10, .ws_col = 30, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(ends.writer, TIOCSWINSZ, &size), 0);
  view->Tick(study_, now_ + seconds(1));
  const std::string frame = ends.Read();
  EXPECT_THAT(frame, HasSubstr("\x1b[2J\x1b[Ha word\r")) << "nothing stale stays";
  for (const std::string& line : Screen(frame)) EXPECT_LT(line.size(), 30u) << line;
}

TEST_F(ViewsTest, ATerminalThatIsHeldHoldsNothingUp) {
  Ends ends;
  OpenPipe(ends);
  const int held = fcntl(ends.writer, F_SETPIPE_SZ, 4096);
  ASSERT_GT(held, 0);
  auto view = MakeView(ViewMode::kLive, ends.writer);
  for (int i = 0; i < 200; ++i) view->Tick(study_, now_ + i * seconds(1));
  for (int i = 0; i < 200; ++i) view->Say("a line that is not read for now");
  // The pipe is read only now: no message is lost, and few frames were drawn.
  std::atomic<bool> ended = false;
  std::thread end([&] {
    view.reset();
    ended = true;
  });
  std::string text;
  while (!ended) text += ends.Read();
  end.join();
  text += ends.Read();
  const auto screen = Screen(text);
  EXPECT_EQ(std::ranges::count(screen, "a line that is not read for now"), 200);
  EXPECT_LT(text.size(), 200u * 600);
}

TEST_F(ViewsTest, AReaderThatLeftIsNoDeath) {
  for (const ViewMode mode : {ViewMode::kLive, ViewMode::kPlain, ViewMode::kJson}) {
    Ends ends;
    OpenPipe(ends);
    close(std::exchange(ends.reader, -1));
    const auto view = MakeView(mode, ends.writer);
    view->Say("hello");
    view->Tick(study_, now_);
  }
}

TEST_F(ViewsTest, PlainTellsWhatIsNoteworthy) {
  Ends ends;
  OpenPipe(ends);
  auto view = MakeView(ViewMode::kPlain, ends.writer);
  now_ = WallNow();
  Start();
  view->Tick(study_, now_);
  EXPECT_EQ(ends.Read(), "");
  now_ += seconds(2);
  End(TrialState::kComplete, 0.5);
  view->Tick(study_, now_);
  view->Tick(study_, now_);
  EXPECT_THAT(Lines(ends.Read()),
              ElementsAre("[2s] trial 1 complete at epoch 3: loss 0.5 (epoch 3)",
                          "[2s] new best: loss 0.5 (trial 1, epoch 3)"));
  Start();
  now_ += seconds(2);
  End(TrialState::kFailed, 0.5);
  view->Tick(study_, now_);
  EXPECT_EQ(ends.Read(), "[4s] trial 2 failed: exit status 1\n");
  view->Say("draining");
  EXPECT_EQ(ends.Read(), "draining\n");
  now_ += seconds(30);
  view->Tick(study_, now_);
  EXPECT_THAT(Lines(ends.Read()),
              ElementsAre(HasSubstr("[34s] 2/4 trials (50%), 0 running, 1 complete")));
  view.reset();
  EXPECT_THAT(Lines(ends.Read()), ElementsAre(StartsWith("[34s] 2/4 trials")));
}

TEST_F(ViewsTest, PlainDoesNotTellWhatEndedBefore) {
  Ends ends;
  OpenPipe(ends);
  Start();
  now_ -= seconds(100);
  End(TrialState::kComplete, 0.5);
  now_ += seconds(100);
  const auto view = MakeView(ViewMode::kPlain, ends.writer);
  view->Tick(study_, WallNow());
  EXPECT_THAT(ends.Read(), Not(HasSubstr("trial 1 complete")));
}

TEST_F(ViewsTest, QuietSaysNothing) {
  Ends ends;
  OpenPipe(ends);
  auto view = MakeView(ViewMode::kQuiet, ends.writer);
  view->Say("hello");
  view->Tick(study_, now_);
  view.reset();
  EXPECT_EQ(ends.Read(), "");
}

TEST_F(ViewsTest, JsonIsAnObjectALine) {
  Ends ends;
  OpenPipe(ends);
  auto view = MakeView(ViewMode::kJson, ends.writer);
  view->Say("draining");
  for (int i = 0; i < 20; ++i) view->Tick(study_, now_ + i * milliseconds(100));
  Finish();
  view->Tick(study_, now_ + seconds(2));
  view.reset();
  const auto lines = Lines(ends.Read());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["message"], "draining");
  EXPECT_EQ(nlohmann::json::parse(lines[1])["state"], "running");
  EXPECT_EQ(nlohmann::json::parse(lines[3])["state"], "finished");
}

TEST(ChooseViewModeTest, WhatTheUserAsksForWins) {
  EXPECT_EQ(ChooseViewMode(true, true, true), ViewMode::kJson);
  EXPECT_EQ(ChooseViewMode(true, true, false), ViewMode::kQuiet);
  EXPECT_EQ(ChooseViewMode(false, true, false), ViewMode::kPlain);
  setenv("TERM", "dumb", 1);
  EXPECT_EQ(ChooseViewMode(false, false, false), ViewMode::kPlain);
}

}  // namespace
}  // namespace sluice
