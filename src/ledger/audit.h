#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "ledger/reader.h"

namespace sluice {

// Checks a stored study, and says in plain words what does not agree. Compares the rows that
// readers see with the events, the counts of reports with the reports, and the events and reports
// with the study's chain. The result is empty if all is well, and has at most a dozen findings.
// Reads the whole study. Freeze the reader first if a controller may write meanwhile.
Result<std::vector<std::string>> AuditStudy(Reader& reader, const StudyInfo& study);

// What SQLite finds wrong with the pages of the store. Empty if all is well. Reads the whole store.
Result<std::string> FindDamagedPage(Reader& reader);

// Whether the events that belong to no study are those that were written. Reads all of them.
Result<bool> IsChainWhole(Reader& reader);

// Rows of a table that belong to studies that are not in the store.
struct OrphanRows {
  std::string table;
  std::int64_t count = 0;
  StudyId study{};  // the first of the missing studies
};
// Returns the orphan rows of the first table that has some; nullopt if no table has any.
Result<std::optional<OrphanRows>> FindOrphans(Reader& reader);

}  // namespace sluice
