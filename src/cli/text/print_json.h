#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "cli/study_state.h"
#include "ledger/reader.h"

namespace sluice {

// What --json prints: valid JSON on one line, without a line break at the end. NaN and the
// infinities are the texts "NaN", "Infinity", "-Infinity". Missing values are null. Times are UTC.

std::string JsonText(std::string_view text);
std::string JsonNumber(double value);

std::string JsonArray(const std::vector<std::string>& items);

struct StudyJsonParts {
  const TrialInfo* best = nullptr;
  const std::vector<TrialInfo>* running = nullptr;  // null: left out
  std::string event = {};                           // left out if empty
  std::string importance = {};                      // JSON; left out if empty
  std::string beside = {};                          // JSON; left out if empty
};
std::string StudyJson(const StudyInfo& study, const StudyStanding& standing,
                      const StorePaths& paths, Time now, const StudyJsonParts& parts);

std::string TrialJson(const TrialInfo& trial, Time now);
std::string ReportJson(const ReportInfo& report);

}  // namespace sluice
