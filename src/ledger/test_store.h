#pragma once

// For tests: a folder for a store, which is removed after the test, and a study that is written
// into the store as a controller would write it.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/test_engine.h"
#include "ledger/ledger.h"
#include "ledger/store.h"

namespace sluice {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    SLUICE_CHECK(mkdtemp(name.data()) != nullptr, "a folder can be made for a test");
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteAll(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Applies events to an engine and writes them into a ledger, `batch_size` events a commit.
class Recorder {
 public:
  Recorder(Ledger& ledger, StudyId study, std::size_t batch_size)
      : ledger_(ledger), study_(study), batch_size_(batch_size) {}

  // Applies the event, and commits if batch_size events have gathered.
  Status Record(Engine& engine, const Event& event) {
    (void)engine.Apply(event);
    const std::uint64_t last =
        batch_.events.empty() ? Number(ledger_.last()) : Number(batch_.events.back().first);
    batch_.events.emplace_back(EventSeq(last + 1), event);
    return batch_.events.size() >= batch_size_ ? Flush(engine) : Status{};
  }

  Status Flush(Engine& engine, bool snapshot = false) {
    batch_.study = study_;
    for (const TrialKey& key : engine.TakeChanged()) {
      const Trial& trial = *engine.trial(key);
      batch_.trials.push_back(
          {key.study, trial, engine.study(key.study)->spec.space.Encode(trial.point)});
    }
    const Study* study = engine.study(study_);
    if (study != nullptr && !batch_.events.empty()) batch_.studies.push_back(RowOf(*study));
    if (snapshot) {
      const EventSeq seq = batch_.events.empty() ? ledger_.last() : batch_.events.back().first;
      batch_.snapshots.push_back({study_, seq, engine.Digest(), engine.Save()});
    }
    return ledger_.Commit(std::exchange(batch_, {}));
  }

 private:
  Ledger& ledger_;
  StudyId study_;
  std::size_t batch_size_;
  Batch batch_;
};

inline std::unique_ptr<Ledger> OpenLedger(const std::string& path) {
  auto ledger = Ledger::Open(path);
  SLUICE_CHECK(ledger.has_value(), ledger ? "" : ledger.error().message.c_str());
  return std::move(*ledger);
}

// For tests without power cuts: commits do not wait for the disk.
inline void DoNotSync(Ledger& ledger) {
  SLUICE_CHECK(ledger.database().Execute("PRAGMA synchronous = OFF").has_value(), "it is set");
}

// Writes everything that happened to the engine of a test into a new store.
inline void WriteHistory(const TestEngine& test, Ledger& ledger, bool snapshot = false) {
  auto engine = NewEngine();
  Recorder recorder(ledger, kStudy, 3);
  for (const Event& event : test.history())
    SLUICE_CHECK(recorder.Record(*engine, event).has_value(), "it is written");
  SLUICE_CHECK(recorder.Flush(*engine, snapshot).has_value(), "it is written");
}

}  // namespace sluice
