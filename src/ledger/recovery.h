#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/engine.h"
#include "ledger/database.h"

namespace sluice {

// The first event of every study.
struct Creation {
  EventSeq seq{};
  Event event;
  const StudyCreated& body() const { return std::get<StudyCreated>(event.body); }
};
Result<Creation> FindCreation(Database& database, StudyId study);

enum class Recover {
  kFromSnapshot,  // the latest snapshot, then what came after it
  kFromEvents,    // everything that ever happened
};

// The engine as the ledger left it, with this one study. Both ways give the same digest. A snapshot
// that does not read back is passed over. Commands that the replay causes are dropped:
// Engine::Unfinished tells what is left to do. `replayed` is the number of events applied, which is
// what a new snapshot would spare the next recovery.
Result<std::unique_ptr<Engine>> RecoverEngine(Database& database, StudyId study,
                                              Recover how = Recover::kFromSnapshot,
                                              std::int64_t* replayed = nullptr);

// The earlier trials that the sampler of a study is told of besides the study's own: the same after
// every restart.
Result<std::vector<Observation>> ReadKnowledge(Database& database, const Study& study);

}  // namespace sluice
