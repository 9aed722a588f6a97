#include "cli/view/progress.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/test_numbers.h"

namespace sluice {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Time kNow = FromMicros(1'800'000'000'000'000);

void SetCount(Progress& progress, TrialState state, int count) {
  progress.counts[static_cast<std::size_t>(state)] = count;
}

Progress::Running RunningTrial(int id, Work work, double value) {
  Progress::Running trial;
  trial.trial = TrialId(static_cast<std::uint32_t>(id));
  trial.work = work;
  trial.target = 9;
  trial.value = value;
  trial.reported = work > 0;
  trial.since = kNow - seconds(5);
  trial.params = {{"lr", 0.00412345},
                  {"width", std::int64_t{32}},
                  {"act", std::string("tanh")},
                  {"bias", true}};
  return trial;
}

Progress Fashion() {
  Progress progress;
  progress.study = "fashion";
  progress.unit = "epoch";
  progress.metric = "accuracy";
  progress.maximize = true;
  progress.trials_wanted = 24;
  SetCount(progress, TrialState::kRunning, 2);
  SetCount(progress, TrialState::kComplete, 9);
  SetCount(progress, TrialState::kStopped, 3);
  SetCount(progress, TrialState::kFailed, 0);
  progress.now = kNow;
  progress.created = kNow - seconds(130);
  progress.elapsed = seconds(130);
  progress.best = {TrialId(9), 0.8731, 9, {{"lr", 0.0123}, {"width", std::int64_t{64}}}};
  progress.running = {RunningTrial(13, 3, 0.8412), RunningTrial(14, 0, kNan)};
  progress.trials_per_minute = 6.42;
  progress.left = seconds(95);
  return progress;
}

// A text without the escape sequences of its colours.
std::string Bare(std::string_view text) {
  std::string bare;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (text[i] != 'm') ++i;
    } else {
      bare += text[i];
    }
  }
  return bare;
}

TEST(RenderProgressTest, ShowsWhatAUserWants) {
  const auto lines = RenderProgress(Fashion(), 100, 24, false);
  EXPECT_THAT(
      lines,
      ElementsAre(
          "fashion   ███████████████░░░░░░░░░░░░░░░   12/24 trials    50%   2m 10s, about 1m 35s "
          "left",
          "best      accuracy 0.8731 (trial 9, epoch 9)   lr=0.0123 width=64",
          "trials    2 running  9 complete  3 stopped  0 failed  10 to go     6.4 trials/min",
          "#13  epoch 3/9   accuracy 0.8412   5s   lr=0.004123 width=32 act=tanh bias=true",
          "#14  epoch 0/9   accuracy —        5s   lr=0.004123 width=32 act=tanh bias=true"));
}

TEST(RenderProgressTest, WithoutUtf8AllIsAscii) {
  Progress progress = Fashion();
  progress.left.reset();
  progress.running[0].params = {{"stoff", std::string("grün")}};
  SetCount(progress, TrialState::kRunning, 30);
  for (const int columns : {100, 60, 20, 3}) {
    for (const std::string& line : RenderProgress(progress, columns, 7, true, false)) {
      EXPECT_TRUE(std::ranges::all_of(line, [](unsigned char c) { return c < 0x80; })) << line;
      EXPECT_LE(DisplayWidth(Bare(line)), columns) << line;
    }
  }
  EXPECT_THAT(RenderProgress(progress, 100, 24, false, false)[0], HasSubstr("#####-----"));
}

TEST(RenderProgressTest, NeverWiderOrTallerThanTheTerminal) {
  Progress progress = Fashion();
  progress.study = "名前の長い研究🙂と結果";
  progress.best->params.emplace_back("名前", std::string("値🙂\x1b[2J\xff\x80\ne\xcc\x81"));
  for (int i = 0; i < 60; ++i)
    progress.running.push_back(RunningTrial(100 + i, i % 9, i % 3 == 0 ? kNan : i * 1e-9));
  SetCount(progress, TrialState::kRunning, 500);
  for (const bool colour : {false, true}) {
    for (int columns = 1; columns <= 200; ++columns) {
      for (const int rows : {1, 2, 3, 5, 6, 10, 24, 60}) {
        const auto lines = RenderProgress(progress, columns, rows, colour);
        ASSERT_LE(lines.size(), static_cast<std::size_t>(std::max(rows - 2, 1)));
        ASSERT_LE(lines.size(), 14u) << "three, ten running and how many more";
        for (const std::string& line : lines) {
          const std::string bare = colour ? Bare(line) : line;
          ASSERT_LE(DisplayWidth(bare), columns) << line;
          ASSERT_EQ(bare, Harmless(bare)) << "nothing left that acts on the terminal";
        }
      }
    }
  }
}

TEST(RenderProgressTest, ColoursChangeNothingElse) {
  const auto plain = RenderProgress(Fashion(), 72, 24, false);
  const auto coloured = RenderProgress(Fashion(), 72, 24, true);
  ASSERT_EQ(plain.size(), coloured.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NE(plain[i], coloured[i]);
    EXPECT_EQ(plain[i], Bare(coloured[i]));
  }
}

TEST(RenderProgressTest, SaysWhatMattersInTwentyColumns) {
  const auto lines = RenderProgress(Fashion(), 20, 24, false);
  EXPECT_THAT(lines[0], StartsWith("fashion 12/24  50%"));
  EXPECT_THAT(lines[1], StartsWith("best accuracy 0.873"));
  EXPECT_THAT(lines[2], StartsWith("trials 2 running"));
  EXPECT_THAT(lines[3], StartsWith("#13  epoch 3/9"));
}

TEST(RenderProgressTest, TellsHowManyMoreRun) {
  Progress progress = Fashion();
  for (int i = 0; i < 30; ++i) progress.running.push_back(RunningTrial(100 + i, 1, 0.5));
  SetCount(progress, TrialState::kRunning, 40);
  EXPECT_EQ(RenderProgress(progress, 80, 40, false).back(), "… and 30 more");
  const auto few = RenderProgress(progress, 80, 8, false);
  ASSERT_EQ(few.size(), 6u);
  EXPECT_EQ(few.back(), "… and 38 more");
  EXPECT_EQ(RenderProgress(progress, 80, 6, false).back(), "… and 40 more");
}

TEST(RenderProgressTest, AllOfThemWhereTheyFit) {
  const auto lines = RenderProgress(Fashion(), 80, 7, false);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines.back(), StartsWith("#14"));
}

TEST(RenderProgressTest, NanIsNan) {
  Progress progress = Fashion();
  progress.running[0].value = kNan;
  EXPECT_THAT(RenderProgress(progress, 100, 24, false)[3], HasSubstr("accuracy NaN"));
}

TEST(RenderProgressTest, AnEmptyStudy) {
  const auto lines = RenderProgress(Progress{}, 80, 24, false);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("0/0 trials"));
  EXPECT_THAT(lines[0], HasSubstr("— left"));
  EXPECT_THAT(lines[1], HasSubstr("no result yet"));
}

TEST(RenderProgressTest, ADeadlineThatComesFirst) {
  Progress progress = Fashion();
  progress.left_is_deadline = true;
  EXPECT_THAT(RenderProgress(progress, 100, 24, false)[0], HasSubstr("2m 10s, deadline in 1m 35s"));
}

TEST(RenderProgressTest, TheEnd) {
  Progress progress = Fashion();
  progress.running.clear();
  SetCount(progress, TrialState::kRunning, 0);
  progress.ending = true;
  progress.reason = "target reached";
  progress.left.reset();
  EXPECT_THAT(RenderProgress(progress, 100, 24, false)[0],
              HasSubstr("2m 10s, ending: target reached"));
  progress.finished = true;
  const auto lines = RenderProgress(progress, 100, 24, false);
  EXPECT_THAT(lines[0], HasSubstr("2m 10s, target reached"));
  EXPECT_THAT(lines[2], Not(HasSubstr("to go")));
}

TEST(ProgressLineTest, IsOneLine) {
  EXPECT_EQ(ProgressLine(Fashion()),
            "12/24 trials (50%), 2 running, 9 complete, 3 stopped, 0 failed, 10 to go, best "
            "accuracy 0.8731 (trial 9, "
            "epoch 9), 6.4 trials/min, about 1m 35s left");
  EXPECT_EQ(BestLine(Fashion()), "accuracy 0.8731 (trial 9, epoch 9)  lr=0.0123 width=64");
}

TEST(ProgressJsonTest, HoldsEverything) {
  Progress progress = Fashion();
  progress.best->value = std::numeric_limits<double>::infinity();
  progress.best->params.emplace_back("bad", std::string("\xff"));
  const std::string text = ProgressJson(progress);
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["study"], "fashion");
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["trials"]["complete"], 9);
  EXPECT_EQ(json["trials"]["wanted"], 24);
  EXPECT_EQ(json["best"]["value"], "Infinity");
  EXPECT_EQ(json["best"]["params"]["width"], 64);
  EXPECT_EQ(json["running"][0]["value"], 0.8412);
  EXPECT_TRUE(json["running"][1]["value"].is_null());
  EXPECT_EQ(json["left_s"], 95.0);
  EXPECT_TRUE(json["deadline"].is_null());
}

TEST(ParamsFromJsonTest, KeepsOrderAndKinds) {
  const Params params = ParamsFromJson(R"({"z": 1, "a": 0.5, "m": "x y", "b": false})");
  EXPECT_EQ(FormatParams(params), "z=1 a=0.5 m=x y b=false");
  EXPECT_TRUE(ParamsFromJson("[1").empty());
  EXPECT_TRUE(ParamsFromJson("[1]").empty());
}

TEST(HarmlessTest, NothingActsOnATerminal) {
  EXPECT_EQ(Harmless("a\tb\r\nc"), "a b  c");
  EXPECT_EQ(Harmless("\x1b[31m\x07\x7f"), "?[31m??");
  EXPECT_EQ(Harmless("\xc2\x9b"
                     "2J"),
            "?2J")
      << "the eight-bit way to say ESC [";
  EXPECT_EQ(Harmless("\xe2\x80\xae"
                     "abc"),
            "?abc")
      << "right-to-left override";
  EXPECT_EQ(Harmless("\xed\xa0\x80"), "???") << "half a surrogate pair";
  EXPECT_EQ(Harmless("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(Harmless("\xe2\x82"), "??") << "cut";
  EXPECT_EQ(Harmless("grün 値 🙂"), "grün 値 🙂");
  EXPECT_EQ(Harmless("grün", false), "gr?n");
}

TEST(HarmlessTest, OnAnyBytes) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (std::uint64_t n = random.Below(40); n > 0; --n)
      bytes += static_cast<char>(random.Below(256));
    const std::string safe = Harmless(bytes);
    ASSERT_EQ(Harmless(safe), safe);
    for (int columns = 0; columns < 45; ++columns) {
      const std::string fit = Fit(safe, columns);
      ASSERT_LE(DisplayWidth(fit), columns);
      ASSERT_EQ(Harmless(fit), fit) << "cut between characters only";
    }
  }
}

TEST(DisplayWidthTest, CountsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("grün"), 4);
  EXPECT_EQ(DisplayWidth("名前"), 4);
  EXPECT_EQ(DisplayWidth("🙂"), 2);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1);
  EXPECT_EQ(DisplayWidth("█░…—"), 4);
}

TEST(FitTest, CutsWithAnEllipsis) {
  EXPECT_EQ(Fit("abcdef", 6), "abcdef");
  EXPECT_EQ(Fit("abcdef", 4), "abc…");
  EXPECT_EQ(Fit("abcdef", 1), "…");
  EXPECT_EQ(Fit("abcdef", 0), "");
  EXPECT_EQ(Fit("名前の", 5), "名前…");
  EXPECT_EQ(Fit("名前の", 4), "名…");
  EXPECT_EQ(Fit("abcdef", 5, false), "ab...");
  EXPECT_EQ(Fit("abcdef", 2, false), "..");
}

class StudyProgressTest : public testing::Test {
 protected:
  StudyProgressTest() {
    Parameter lr;
    lr.name = "lr";
    lr.low = 0.001;
    lr.high = 1;
    Parameter act;
    act.name = "act";
    act.kind = ParameterKind::kCategorical;
    act.choices = {std::string("relu"), std::string("tanh")};
    study_.spec.space = *Space::Make({lr, act});
    study_.spec.name = "s";
    study_.spec.objective = {"loss", Direction::kMinimize};
    study_.trials_wanted = 10;
    study_.created = kNow - minutes(10);
  }

  Trial& Add(TrialState state) {
    Trial trial;
    trial.id = TrialId(static_cast<std::uint32_t>(study_.trials.size() + 1));
    trial.state = state;
    trial.point = {0.5, 1};
    ++study_.counts[static_cast<std::size_t>(state)];
    if (state == TrialState::kRunning) study_.running.push_back(trial.id);
    study_.trials.push_back(trial);
    return study_.trials.back();
  }

  void AddComplete(int count, Duration busy) {
    for (int i = 0; i < count; ++i) {
      Trial& trial = Add(TrialState::kComplete);
      trial.busy = busy;
      trial.ended = kNow - seconds(1);
      trial.reports = 3;
    }
  }

  void AddRunning(Duration since, Work work = 0, Work target = kNoLimit) {
    Trial& trial = Add(TrialState::kRunning);
    trial.launch.started = kNow - since;
    trial.work = work;
    trial.target = target;
  }

  Study study_;
};

TEST_F(StudyProgressTest, TakesWhatTheEngineKnows) {
  Trial& best = Add(TrialState::kStopped);
  best.result = 0.25;
  best.result_work = 4;
  study_.best = best.id;
  AddRunning(seconds(30), 2, 9);
  const Progress progress = MakeProgress(study_, kNow);
  ASSERT_TRUE(progress.best);
  EXPECT_EQ(progress.best->value, 0.25);
  EXPECT_EQ(FormatParams(progress.best->params), "lr=0.5 act=tanh");
  ASSERT_EQ(progress.running.size(), 1u);
  EXPECT_EQ(progress.running[0].target, 9);
  EXPECT_EQ(progress.running[0].since, kNow - seconds(30));
  EXPECT_EQ(progress.done(), 1);
  EXPECT_FALSE(progress.ending);
  EXPECT_EQ(progress.elapsed, minutes(10));
}

TEST_F(StudyProgressTest, KnowsNothingOfTheTimeLeftAtFirst) {
  EXPECT_FALSE(MakeProgress(study_, kNow).left);
  AddRunning(seconds(30));
  EXPECT_FALSE(MakeProgress(study_, kNow).left) << "no report and no trial that ended";
  EXPECT_FALSE(MakeProgress(study_, kNow).trials_per_minute);
}

TEST_F(StudyProgressTest, TheFirstReportsTellSomething) {
  study_.trials_wanted = 1;
  AddRunning(seconds(30), 3, 9);
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(60));
}

TEST_F(StudyProgressTest, ReckonsWithTheTimeTrialsTook) {
  // Two trials run at a time, each for 60 s. Four have ended, two are half way, four are to come.
  AddComplete(4, seconds(60));
  AddRunning(seconds(30));
  AddRunning(seconds(30));
  const Progress progress = MakeProgress(study_, kNow);
  EXPECT_EQ(progress.left, seconds(30 + 120));
  EXPECT_FALSE(progress.left_is_deadline);
  EXPECT_EQ(progress.reports, 12);
}

// The trials of a population pause at each interval. How long they have run so far does not show
// when they will end.
TEST_F(StudyProgressTest, APopulationGoesToItsFullBudget) {
  study_.trials_wanted = 4;
  study_.spec.stopper.name = "pbt";
  study_.spec.stopper.max_budget = 40;
  AddRunning(seconds(15), 10, 20);
  AddRunning(seconds(15), 10, 20);
  for (int i = 0; i < 2; ++i) {
    Trial& paused = Add(TrialState::kPaused);
    paused.work = 10;
    paused.busy = seconds(15);
  }
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(90)) << "120 units at 1.5 s, two at once";
  Trial& replaced = Add(TrialState::kStopped);  // by a fork: its time counts, its work does not
  replaced.work = 10;
  replaced.busy = seconds(60);
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(180));
}

TEST_F(StudyProgressTest, NeverPromisesMoreTimeThanTheDeadline) {
  AddComplete(4, seconds(60));
  AddRunning(seconds(30));
  study_.deadline = kNow + seconds(20);
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(20));
  EXPECT_TRUE(MakeProgress(study_, kNow).left_is_deadline);
  study_.deadline = kNow - seconds(20);
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(0));
  study_.deadline = kNow + minutes(60);
  EXPECT_FALSE(MakeProgress(study_, kNow).left_is_deadline);
}

TEST_F(StudyProgressTest, ADeadlineIsKnownWhereNothingElseIs) {
  study_.deadline = kNow + seconds(20);
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(20));
}

TEST_F(StudyProgressTest, ATrialThatTakesLongerThanUsualIsStillToEnd) {
  study_.trials_wanted = 5;
  AddComplete(4, seconds(60));
  AddRunning(seconds(600));
  EXPECT_EQ(MakeProgress(study_, kNow).left, seconds(6));
}

TEST_F(StudyProgressTest, TrialsAMinuteOverTheLastMinutes) {
  study_.created = kNow - minutes(100);
  AddComplete(8, seconds(1));
  EXPECT_DOUBLE_EQ(*MakeProgress(study_, kNow).trials_per_minute, 8);
  EXPECT_DOUBLE_EQ(*MakeProgress(study_, kNow + minutes(4)).trials_per_minute, 8.0 / 5);
  study_.created = kNow - seconds(30);
  EXPECT_DOUBLE_EQ(*MakeProgress(study_, kNow).trials_per_minute, 16);
}

TEST_F(StudyProgressTest, NothingIsLeftOfAFinishedStudy) {
  AddComplete(4, seconds(60));
  study_.ending = Finish::kTarget;
  study_.finished = true;
  study_.deadline = kNow + minutes(60);
  const Progress progress = MakeProgress(study_, kNow);
  EXPECT_FALSE(progress.left);
  EXPECT_EQ(progress.reason, "target reached");
}

}  // namespace
}  // namespace sluice
