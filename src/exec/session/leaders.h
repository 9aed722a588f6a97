#pragma once

#include <string>

#include "base/result.h"
#include "engine/study.h"
#include "ledger/reader.h"

namespace sluice {

// A study with `transfer` trains the best trial of another study of its store, its leader.

// The name of a study's leader; "" if it has none.
Result<std::string> LeaderOf(Reader& reader, StudyId study);

// Whether a study can train the best of the leader that it names: the leader is in the store and
// has the same points, and following the leaders never comes back to the study. Fails with
// failed_precondition, and the message begins with "transfer: ".
Status CheckLeader(const std::string& database, const StudySpec& spec);

// Fails with failed_precondition if a study that has not finished needs this one as its leader.
Status CheckNotFollowed(const std::string& database, const std::string& study);

}  // namespace sluice
