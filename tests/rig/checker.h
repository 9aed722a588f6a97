#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "rig/study_checker.h"

namespace sluice {

// Watches a store and its controllers from outside: what the engine does after each event, what
// reaches the disk, and what a restart finds. Each study has a checker of its own (StudyChecker).
// Keeps the first problem that it finds.
class Checker {
 public:
  // The first problem; empty if there is none.
  const std::string& problem() const { return problem_; }
  void Say(std::string problem);

  // Watches a study from its first event on. `name` is said with its problems; empty: no name.
  StudyChecker& Watch(StudyId study, const std::string& name);

  // The controller's engine has applied an event.
  void Applied(const Engine& engine, const Event& event);
  // A batch is on disk.
  void Durable(const Batch& batch);
  // Writing a batch was interrupted, or failed. The batch may be on disk, now or after a power cut,
  // until another batch is written.
  void InDoubt(Batch batch);
  // Somebody opens the ledger, or goes on after what others have written.
  void TakeUp(Ledger& ledger);
  // A controller takes over with this engine, made from what the ledger says. With `in_depth`,
  // everything that ever happened is replayed too.
  void Recovered(Ledger& ledger, const Engine& engine, bool in_depth);
  // The run is over for this study, which is in an engine of its own.
  void Finished(Ledger& ledger, const Engine& alone);

  std::uint64_t events() const { return events_; }
  // The number of events other than Woken, which only tells the time.
  std::uint64_t progress() const { return progress_; }
  int moves() const;

 private:
  struct Watched {
    StudyChecker checker;
    std::unique_ptr<Engine> alone;  // the shadow of a study that is alone
  };

  void CheckBooks(const Engine& engine);
  void CheckReplay(Database& database, StudyId study, std::uint64_t written);

  std::string problem_;
  std::uint64_t events_ = 0;
  Time time_{};
  std::uint64_t progress_ = 0;
  // These, and those of the studies that are alone, have applied the events that are on disk, and
  // no others.
  Engine shared_;
  std::map<StudyId, Watched> watched_;
  EventSeq last_{};              // on disk
  std::vector<Batch> in_doubt_;  // batches after it that may be on disk
};

}  // namespace sluice
