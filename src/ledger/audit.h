#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Checks a stored study and says in plain words what does not agree: the rows that readers see with
// the events, counts with the reports they count, and the events and reports with the study's
// chain. Empty if all is well; at most a dozen findings. Reads the whole study. Call this inside a
// transaction of the reader if a controller may write meanwhile.
Result<std::vector<std::string>> AuditStudy(Reader& reader, const StudyInfo& study);

}  // namespace sluice
