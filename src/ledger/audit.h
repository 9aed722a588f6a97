#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// What does not agree in a study as it is stored, in plain words: what readers see with what
// happened, counts with what they count, and what happened with its chain. None if all is well; at
// most a dozen are told. Everything is read. Call inside a transaction of the reader while a
// controller may write.
Result<std::vector<std::string>> AuditStudy(Reader& reader, const StudyInfo& study);

}  // namespace sluice
