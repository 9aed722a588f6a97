// Makes the store of a study with many finished trials. It uses the engine and the ledger as a
// controller does, but in virtual time. It can also measure how long it takes to recover the engine
// from a store.
//
//   big_store make STORE STUDY.yaml REPORTS
//   big_store recover STORE

#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "ledger/recovery.h"
#include "ledger/store.h"
#include "policy/policy.h"
#include "search/sampler.h"

namespace {

using namespace sluice;

constexpr StudyId kStudy{1};
constexpr std::uint64_t kSeed = 7;
constexpr std::size_t kBatchEvents = 5'000;
constexpr std::int64_t kSnapshotEvery = 50'000;  // as the controller does

template <typename T>
T Must(Result<T> result) {
  SLUICE_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
  return *std::move(result);
}

double NowSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Maker {
 public:
  Maker(const std::string& store, const std::string& study_file, int reports)
      : reports_(reports), ledger_(Must(Ledger::Open(store))) {
    std::ifstream file(study_file);
    created_.study = kStudy;
    created_.source =
        std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    created_.folder = std::filesystem::absolute(study_file).parent_path().string();
    created_.seed = kSeed;
    created_.spec = Must(ReadStudy(created_.source, study_file, "big"));
    sampler_ = Must(MakeSampler(created_.spec.sampler, created_.spec.space, kSeed));
    engine_ = std::make_unique<Engine>();
  }

  void Run() {
    Happened(created_);
    Happened(ControllerStarted{{Node{.name = "here", .cpus = 2 * kWhole, .devices = {}}}});
    while (!commands_.empty()) {
      const Command command = std::move(commands_.front());
      commands_.pop_front();
      if (const auto* propose = std::get_if<Propose>(&command)) {
        Happened(Proposed{kStudy, propose->counter, sampler_->Propose(propose->counter)});
      } else if (const auto* start = std::get_if<Start>(&command)) {
        RunTrial(*start);
      }
    }
    SLUICE_CHECK(engine_->study(kStudy)->finished, "the study is done");
    Commit(/*snapshot=*/true);
  }

 private:
  void RunTrial(const Start& start) {
    const Trial& trial = *engine_->trial(start.trial);
    const double start_value = trial.point[0];
    for (int work = 1; work <= reports_; ++work) {
      const auto seq = static_cast<std::uint64_t>(work);
      const double loss = start_value + 1.0 / work;
      Happened(Reported{
          .trial = start.trial,
          .launch = start.launch,
          .position = {.seq = seq, .offset = 0},
          .work = work,
          .metrics = {{created_.spec.objective.metric, loss}, {"accuracy", 1 - loss / 3}}});
    }
    Happened(LaunchEnded{.trial = start.trial,
                         .launch = start.launch,
                         .position = {},
                         .ending = Ending::kDone,
                         .reason = "",
                         .checkpoint_bytes = 0});
  }

  template <typename Body>
  void Happened(Body body) {
    now_ += std::chrono::milliseconds(1);
    Event event{now_, std::move(body)};
    for (Command& command : engine_->Apply(event)) commands_.push_back(std::move(command));
    last_ = EventSeq(Number(last_) + 1);
    events_.emplace_back(last_, std::move(event));
    ++since_snapshot_;
    if (events_.size() >= kBatchEvents) Commit(since_snapshot_ >= kSnapshotEvery);
  }

  void Commit(bool snapshot) {
    Batch batch;
    batch.study = kStudy;
    batch.events = std::exchange(events_, {});
    for (const TrialKey& key : engine_->TakeChanged()) {
      const Trial& trial = *engine_->trial(key);
      batch.trials.push_back({kStudy, trial, created_.spec.space.Encode(trial.point)});
    }
    batch.studies.push_back(RowOf(*engine_->study(kStudy)));
    if (snapshot) {
      batch.snapshots.push_back(SnapshotOf(*engine_, kStudy, last_));
      since_snapshot_ = 0;
    }
    const Status committed = ledger_->Commit(batch);
    SLUICE_CHECK(committed.has_value(), committed ? "" : committed.error().message.c_str());
  }

  int reports_;
  StudyCreated created_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Engine> engine_;
  Time now_ = FromMicros(1'700'000'000'000'000);
  EventSeq last_{};
  std::int64_t since_snapshot_ = 0;
  std::deque<Command> commands_;
  std::vector<std::pair<EventSeq, Event>> events_;
};

void MeasureRecovery(const std::string& store) {
  const auto database = Must(OpenStoreForReading(store));
  const double start_s = NowSeconds();
  const auto from_snapshot = Must(RecoverEngine(*database, kStudy, Recover::kFromSnapshot));
  const double recovered_s = NowSeconds();
  const std::string state = from_snapshot->Save();
  const double saved_s = NowSeconds();
  const auto from_events = Must(RecoverEngine(*database, kStudy, Recover::kFromEvents));
  const double replayed_s = NowSeconds();
  SLUICE_CHECK(from_events->Digest() == from_snapshot->Digest(), "both ways give the same engine");
  fmt::print(
      "{{\"from_snapshot_s\": {}, \"save_s\": {}, \"snapshot_bytes\": {}, \"from_events_s\": "
      "{}}}\n",
      recovered_s - start_s, saved_s - recovered_s, state.size(), replayed_s - saved_s);
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 2 ? words[1] : "";
  if (what == "make" && count == 5) {
    Maker(words[2], words[3], std::atoi(words[4])).Run();
  } else if (what == "recover" && count == 3) {
    MeasureRecovery(words[2]);
  } else {
    fmt::print(stderr,
               "usage: big_store make STORE STUDY.yaml REPORTS | big_store recover STORE\n");
    return 2;
  }
  return 0;
}
