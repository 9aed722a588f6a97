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
  kFromSnapshot,  // load the latest snapshot, then apply the events after it
  kFromEvents,    // apply all events
};

// Returns the engine that a study is in, as it was after the last event in the ledger. While the
// study is open (ledger/openings.h), this is the engine that the open studies share; otherwise it
// is an engine of the study alone. Both ways give the same digest. A snapshot that cannot be loaded
// is ignored. Commands that the replay causes are dropped; Engine::Unfinished says what is left to
// do. `replayed`, unless null, is set to the number of events that were applied. A new snapshot
// would save the next recovery from applying them.
Result<std::unique_ptr<Engine>> RecoverEngine(Database& database, StudyId study,
                                              Recover how = Recover::kFromSnapshot,
                                              std::int64_t* replayed = nullptr);

// The engine that the open studies share. It has no study if none is open.
Result<std::unique_ptr<Engine>> RecoverShared(Database& database,
                                              Recover how = Recover::kFromSnapshot,
                                              std::int64_t* replayed = nullptr);

// The trials of earlier studies that the sampler of a study observes besides the study's own
// trials. They are the same after every restart.
Result<std::vector<Observation>> ReadKnowledge(Database& database, const Study& study);

}  // namespace sluice
