#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "ledger/ledger.h"
#include "ledger/store.h"

namespace sluice {

constexpr const char* kTestSource =
    "study: fashion\n"
    "program: python train.py --lr {lr} {args}\n"
    "space:\n"
    "  lr: {float: [0.0001, 1], log: true}\n"
    "  act: {choice: [relu, 'a,\"b\"', tanh]}\n"
    "objective: {maximize: accuracy}\n"
    "trials: 24\n";

struct TestStudy {
  std::string name = "fashion";
  int trials = 4;   // their states repeat: complete, failed, stopped, running
  int reports = 2;  // of each trial that has not failed
  bool finished = false;
  bool open = false;  // a controller has taken it in
};

// Writes a study into a store as a controller would. Trial n reports the accuracies
// n/1000 + work/100. Trials 2, 6, ... fail without a report.
inline void WriteTestStudy(const std::string& path, const TestStudy& test = {}) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  auto ledger = Ledger::Open(path);
  ASSERT_TRUE(ledger) << ledger.error().message;
  auto spec = ReadStudy(kTestSource, "fashion.yaml", "fashion");
  ASSERT_TRUE(spec) << spec.error().message;
  spec->name = test.name;
  std::uint64_t seq = Number((*ledger)->last());
  const auto next = NextStudyId((*ledger)->database());
  ASSERT_TRUE(next) << next.error().message;
  const StudyId id = *next;

  const Time start = FromMicros(1'700'000'000'000'000);
  Batch batch;
  batch.study = id;
  StudyRow row{.id = id,
               .name = test.name,
               .folder = "/somewhere",
               .metric = "accuracy",
               .unit = "epoch",
               .direction = Direction::kMaximize,
               .seed = 7,
               .created = start,
               .deadline = kNever,
               .trials = test.trials,
               .ending = test.finished ? "all trials done" : "running",
               .finished = test.finished,
               .best = {},
               .counts = {},
               .open = test.open};
  batch.events.emplace_back(EventSeq(++seq), Event{start, StudyCreated{.study = id,
                                                                       .source = kTestSource,
                                                                       .folder = "/somewhere",
                                                                       .seed = 7,
                                                                       .spec = *spec}});
  constexpr TrialState kStates[] = {TrialState::kComplete, TrialState::kFailed,
                                    TrialState::kStopped, TrialState::kRunning};
  for (int n = 1; n <= test.trials; ++n) {
    TrialRow trial{.study = id, .trial = {}, .params = {}};
    const Point point = {0.001 * ((n - 1) % 1000 + 1), static_cast<double>(n % 3)};
    trial.params = spec->space.Encode(point);
    trial.trial.id = TrialId(static_cast<std::uint32_t>(n));
    trial.trial.state = kStates[(n - 1) % 4];
    if (test.finished && trial.trial.state == TrialState::kRunning)
      trial.trial.state = TrialState::kComplete;
    trial.trial.launch.id = LaunchId(1);
    trial.trial.target = 9;
    trial.trial.created = trial.trial.launch.started = start + std::chrono::seconds(n);
    const bool failed = trial.trial.state == TrialState::kFailed;
    if (failed) trial.trial.note = "exit code 3:\x1b[31m boom";
    for (int work = 1; work <= test.reports && !failed; ++work) {
      const double value = n / 1000.0 + work / 100.0;
      const double loss = work == 1 ? std::nan("") : 1 / value;
      batch.events.emplace_back(
          EventSeq(++seq),
          Event{start + std::chrono::seconds(n + work),
                Reported{.trial = {id, trial.trial.id},
                         .launch = LaunchId(1),
                         .position = {.seq = static_cast<std::uint64_t>(work), .offset = 0},
                         .work = work,
                         .metrics = {{"accuracy", value}, {"loss", loss}}}});
      trial.trial.work = trial.trial.result_work = work;
      trial.trial.value = trial.trial.result = value;
      ++trial.trial.reports;
    }
    ++row.counts[static_cast<std::size_t>(trial.trial.state)];
    if (!failed && test.reports > 0) row.best = trial.trial.id;
    batch.trials.push_back(std::move(trial));
  }
  batch.studies.push_back(row);
  const Status committed = (*ledger)->Commit(batch);
  ASSERT_TRUE(committed) << committed.error().message;
}

}  // namespace sluice
