#include "cli/main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/test_store.h"
#include "cli/text/test_lines.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

class MainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("cli_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    store_ = (folder_ / "s.db").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Ran Run(std::vector<std::string> words) const {
    words.insert(words.begin(), "sluice");
    words.insert(words.end(), {"--store", store_});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Ran ran;
    ran.status = RunSluice(static_cast<int>(argv.size()), argv.data());
    ran.out = ::testing::internal::GetCapturedStdout();
    ran.err = ::testing::internal::GetCapturedStderr();
    return ran;
  }

  Json RunJson(std::vector<std::string> words) const {
    words.push_back("--json");
    const Ran ran = Run(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return Json::parse(ran.out);
  }

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  fs::path folder_;
  std::string store_;
};

TEST_F(MainTest, ExitStatusTellsWhatFailed) {
  EXPECT_EQ(Run({"--help"}).status, 0);
  EXPECT_EQ(Run({"stats"}).status, 2);
  EXPECT_EQ(Run({"status"}).status, 2);  // no store: not_found
  EXPECT_EQ(Run({"tune", "/no/such.yaml"}).status, 2);
  WriteTestStudy(store_);
  EXPECT_EQ(Run({"status"}).status, 0);
  EXPECT_EQ(Run({"status", "fashoin"}).status, 2);
  EXPECT_EQ(Run({"logs", "77"}).status, 2);
  Write("s.db",
        "this is no database, but long enough to look like one to SQLite "
        "......................................");
  EXPECT_EQ(Run({"status"}).status, 1);
}

TEST_F(MainTest, ErrorsGoToStandardErrorAlone) {
  WriteTestStudy(store_);
  const Ran ran = Run({"status", "fashoin", "--json"});
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, StartsWith("sluice: no study 'fashoin'"));
  EXPECT_THAT(ran.err, HasSubstr("did you mean 'fashion'?"));
}

TEST_F(MainTest, EveryErrorOfAStudyFileHasItsLine) {
  const std::string path =
      Write("bad.yaml",
            "program: true\nspace: {lr: {float: [1, 0]}}\nobjective: {minimze: x}\ntrials: 0\n");
  const Ran ran = Run({"check", path});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_GE(Lines(ran.err).size(), 3u);
  for (const std::string& line : Lines(ran.err))
    EXPECT_THAT(line, StartsWith("sluice: " + path + ":"));
}

TEST_F(MainTest, StatusOfAStudyThatNoProcessRuns) {
  WriteTestStudy(store_);
  const Ran ran = Run({"status"});
  EXPECT_THAT(ran.out, HasSubstr("interrupted"));
  EXPECT_THAT(ran.out, HasSubstr("1 running, 1 complete, 1 stopped, 1 failed"));
  EXPECT_THAT(ran.out, HasSubstr("accuracy 0.024 at epoch 2 (trial 4)"));
  EXPECT_THAT(ran.out, HasSubstr("sluice resume fashion"));
  const Json status = RunJson({"status"});
  EXPECT_EQ(status["state"], "interrupted");
  EXPECT_EQ(status["trials"]["failed"], 1);
  EXPECT_EQ(status["best"]["trial"], 4);
  EXPECT_EQ(status["running"][0]["work"], 2);
}

TEST_F(MainTest, StatusOfAFinishedStudy) {
  WriteTestStudy(store_, {.finished = true});
  EXPECT_THAT(Run({"status"}).out, HasSubstr("finished: all trials done"));
  EXPECT_EQ(RunJson({"studies"})[0]["state"], "finished");
}

TEST_F(MainTest, TrialsAreFilteredAndSorted) {
  WriteTestStudy(store_, {.trials = 8});
  const auto all = Lines(Run({"trials"}).out);
  ASSERT_EQ(all.size(), 9u);
  EXPECT_THAT(all[0], StartsWith("trial  state     accuracy  epoch"));
  EXPECT_EQ(Lines(Run({"trials", "--state", "failed"}).out).size(), 3u);
  const Json sorted = RunJson({"trials", "--sort", "value", "--limit", "3"});
  ASSERT_EQ(sorted.size(), 3u);
  EXPECT_EQ(sorted[0]["trial"], 8);
  EXPECT_EQ(sorted[1]["trial"], 7);
  const Json everything = RunJson({"trials", "--sort", "value"});
  EXPECT_EQ(everything.back()["value"], nullptr);
  EXPECT_EQ(everything.back()["trial"], 6);
}

TEST_F(MainTest, NotesCannotTouchTheTerminal) {
  WriteTestStudy(store_);
  EXPECT_EQ(Run({"trials"}).out.find('\x1b'), std::string::npos);
  EXPECT_EQ(RunJson({"trials"})[1]["note"], "exit code 3:\x1b[31m boom");
}

TEST_F(MainTest, BestSaysHowToRunItAgain) {
  WriteTestStudy(store_);
  const Ran ran = Run({"best"});
  EXPECT_THAT(ran.out, HasSubstr("lr: 0.004"));
  EXPECT_THAT(ran.out, HasSubstr("act: \"a,\\\"b\\\"\""));
  EXPECT_THAT(ran.out,
              HasSubstr("cd /somewhere && python train.py --lr 0.004 --lr=0.004 '--act=a,\"b\"'"));
  const Json best = RunJson({"best"});
  EXPECT_EQ(best["params"]["act"], "a,\"b\"");
  EXPECT_EQ(best["checkpoint"], nullptr);
  EXPECT_EQ(RunJson({"best", "--top", "2"}).size(), 2u);
}

TEST_F(MainTest, WhatMatteredIsSaidOfTenFinishedTrials) {
  WriteTestStudy(store_, {.trials = 12});  // 6 of them complete or stopped
  EXPECT_THAT(Run({"best"}).out, Not(HasSubstr("what mattered")));
  EXPECT_THAT(Run({"status"}).out, Not(HasSubstr("what mattered")));
  EXPECT_EQ(RunJson({"best"})["importance"], nullptr);
  EXPECT_EQ(RunJson({"status"})["importance"], nullptr);

  WriteTestStudy(store_, {.name = "more", .trials = 400, .finished = true});
  const std::string best = Run({"best", "more"}).out;
  EXPECT_THAT(best, HasSubstr("what mattered:\n  lr  100 %  ####################  best 0.3"));
  EXPECT_THAT(best, HasSubstr(", higher is better\n  (1 under 1 %)\n"));
  EXPECT_THAT(Run({"status", "more"}).out, HasSubstr("what mattered  lr 100 %\n"));
  const Json importance = RunJson({"status", "more"})["importance"];
  EXPECT_GT(importance["lr"], 0.98);
  EXPECT_LT(importance["act"], 0.02);
  EXPECT_EQ(RunJson({"best", "more"})["importance"], importance);
}

TEST_F(MainTest, BestOfNothingFails) {
  WriteTestStudy(store_, {.reports = 0});
  EXPECT_EQ(Run({"best"}).status, 1);
}

TEST_F(MainTest, LogsShowsTheLatestLaunch) {
  WriteTestStudy(store_);
  Write("s.files/studies/fashion/trials/2/launch-1/stdout", "hello\nworld");
  Write("s.files/studies/fashion/trials/2/launch-1/stderr", "Traceback\n");
  const Ran ran = Run({"logs", "2"});
  EXPECT_EQ(ran.out, "hello\nworld");
  EXPECT_THAT(ran.err, HasSubstr("trial 2 failed: exit code 3"));
  EXPECT_THAT(ran.err, HasSubstr("--stderr"));
  EXPECT_EQ(Run({"logs", "2", "--stderr"}).out, "Traceback\n");
  EXPECT_EQ(Run({"logs", "2", "--follow"}).out, "hello\nworld");  // the launch has ended
  EXPECT_EQ(Run({"logs", "2", "--launch", "2"}).status, 2);
  const auto lines = Lines(Run({"logs", "2", "--json"}).out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(Json::parse(lines[1])["text"], "world");
}

TEST_F(MainTest, ExportOfTrials) {
  WriteTestStudy(store_);
  const auto lines = Lines(Run({"export"}).out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0],
            "trial,state,value,best_value,best_work,work,target,launches,failures,reports,created,"
            "started,ended,busy_s,"
            "params_lr,params_act,note");
  EXPECT_THAT(lines[1],
              StartsWith("1,complete,0.021,0.021,2,2,9,1,0,2,2023-11-14T22:13:21.000000Z,"));
  EXPECT_THAT(lines[2], StartsWith("2,failed,,,0,0,9,"));
  EXPECT_THAT(lines[4], HasSubstr(",0.004,\"a,\"\"b\"\"\","));
  for (const std::string& line : Lines(Run({"export", "--json"}).out))
    EXPECT_TRUE(Json::accept(line)) << line;
}

TEST_F(MainTest, ExportOfReports) {
  WriteTestStudy(store_);
  const auto lines = Lines(Run({"export", "--reports"}).out);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], "trial,launch,time,work,accuracy,loss");
  EXPECT_EQ(lines[1], "1,1,2023-11-14T22:13:22.000000Z,1,0.011,NaN");
  const auto json = Lines(Run({"export", "--reports", "--format", "jsonl"}).out);
  ASSERT_EQ(json.size(), 6u);
  EXPECT_EQ(Json::parse(json[0])["metrics"]["loss"], "NaN");
}

TEST_F(MainTest, ExportToAFileSaysWhatItHolds) {
  WriteTestStudy(store_);
  const std::string path = (folder_ / "t.jsonl").string();
  const Ran ran = Run({"export", "-o", path});
  EXPECT_EQ(ran.out, "4 trials of fashion in " + path + "\n");
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(Json::parse(line)["trial"], 1);
  EXPECT_EQ(Run({"export", "-o", "/no/folder/x.csv"}).status, 2);
}

TEST_F(MainTest, CheckSaysWhatWouldHappen) {
  const std::string path = Write(
      "study.yaml",
      "program: sh -c true {args}\nspace: {lr: {float: [0.1, 1]}, n: {int: [1, 4]}}\n"
      "objective: {minimize: loss}\nstopper: asha\nbudget: {min: 1, max: 27, eta: 3}\ntrials: 9\n");
  const Ran ran = Run({"check", path});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("asha: judged at epoch 1, 3, 9"));
  EXPECT_THAT(ran.out, HasSubstr("2 parameters, infinitely many points"));
  EXPECT_FALSE(fs::exists(store_));
  const Json check = RunJson({"check", path});
  EXPECT_EQ(check["rungs"], Json({1, 3, 9}));
  EXPECT_EQ(check["trials"], 9);
}

TEST_F(MainTest, CheckSaysWhatEachStopperDoes) {
  const auto check = [&](const std::string& stopper, const std::string& budget) {
    const std::string path = Write("study.yaml",
                                   "program: sh -c true {args}\nspace: {lr: {float: [0.1, 1]}}\n"
                                   "objective: {minimize: loss}\ntrials: 9\nstopper: " +
                                       stopper + "\n" + budget + "\n");
    const Json json = RunJson({"check", path});
    return Run({"check", path}).out + json["rungs"].dump();
  };
  const std::string budget = "budget: {max: 9}";
  EXPECT_THAT(check("median", ""),
              AllOf(HasSubstr("median: from epoch 1 on, and once 5 trials are complete, stops a "
                              "trial that is worse than the best 50 % of complete trials were "
                              "after the same work; others run until the program ends"),
                    EndsWith("[]")));
  EXPECT_THAT(check("{name: percentile, percentile: 12.5, startup: 2}", budget),
              HasSubstr("once 2 trials are complete, stops a trial that is worse than the best "
                        "12.5 % of complete trials were after the same work; others run to epoch "
                        "9"));
  EXPECT_THAT(check("{name: patience, patience: 3}", budget),
              HasSubstr("patience: from epoch 1 on, stops what has not improved by more than 0 for "
                        "3 epochs"));
  EXPECT_THAT(
      check("{name: pbt, interval: 3}", budget),
      AllOf(HasSubstr("pbt: every 3 epochs, up to 9, all trials are judged together; forks of "
                      "the best 25 % take the place of the worst 25 %"),
            EndsWith("[3,6]")));
  EXPECT_THAT(
      check("{name: pbt-async, quantile: 0.125}", budget),
      HasSubstr("pbt-async: every 1 epoch, up to 9, a trial is judged by what the others last "
                "reported; forks of the best 12.5 % take the place of the worst 12.5 %"));
  for (const std::string name : {"asha", "asha-promotion", "asha-pausing"}) {
    EXPECT_THAT(check(name, budget),
                AllOf(HasSubstr(name + ": judged at epoch 1, 3; the best 1/3 go on, up to 9"),
                      EndsWith("[1,3]")));
  }
  EXPECT_THAT(check("sha", budget),
              AllOf(HasSubstr("sha: in brackets: 9 trials to epoch 1, 3 to epoch 3, 1 to epoch 9"),
                    EndsWith("[1,3]")));
  EXPECT_THAT(
      check("hyperband", budget),
      AllOf(HasSubstr("hyperband: in brackets: 9 trials to epoch 1, 3 to epoch 3, 1 to epoch 9; "
                      "next bracket: 5 trials to epoch 3, 1 to epoch 9; next bracket: 3 trials to "
                      "epoch 9"),
            EndsWith("[1,3]")));
}

TEST_F(MainTest, CheckFindsAMissingProgram) {
  for (const char* program : {"./train.sh", "no-such-program-anywhere"}) {
    const std::string path = Write("study.yaml", std::string("program: ") + program +
                                                     " {args}\nspace: {lr: {float: [0.1, 1]}}\n"
                                                     "objective: {minimize: loss}\ntrials: 9\n");
    const Ran ran = Run({"check", path});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("program: expected a program"));
    EXPECT_EQ(Run({"tune", path}).status, 2);
    EXPECT_FALSE(fs::exists(store_));
  }
}

TEST_F(MainTest, StudyFilesThatAreNone) {
  EXPECT_THAT(Run({"check", (folder_ / "no.yaml").string()}).err, HasSubstr("found nothing"));
  EXPECT_THAT(Run({"check", folder_.string()}).err, HasSubstr("found a folder"));
  EXPECT_THAT(Run({"check", "/dev/zero"}).err, HasSubstr("at most 1 MiB"));
}

TEST_F(MainTest, DeleteAsksFirst) {
  WriteTestStudy(store_);
  const Ran ran = Run({"delete", "fashion", "--json"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("--yes"));
}

TEST_F(MainTest, DoctorLooksAtTheStore) {
  WriteTestStudy(store_);
  EXPECT_THAT(Run({"doctor"}).out, HasSubstr("sound, 1 study"));
  Write("s.db",
        "this is no database, but long enough to look like one to SQLite "
        "......................................");
  const Ran ran = Run({"doctor", "--json"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(Json::parse(ran.out)["ok"], false);
}

TEST_F(MainTest, AFolderIsNoStore) {
  store_ = folder_.string();
  const Ran ran = Run({"status"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("found a folder"));
}

}  // namespace
}  // namespace sluice
