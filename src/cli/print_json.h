#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/study_state.h"
#include "ledger/reader.h"

namespace sluice {

// What --json prints: valid JSON whatever programs have reported, on one line without its end. NaN
// and the infinities are the texts "NaN", "Infinity", "-Infinity"; what there is not is null; times
// are UTC.

std::string JsonText(std::string_view text);
std::string JsonNumber(double value);

// Writes one object, member by member.
class JsonObject {
 public:
  JsonObject& Add(std::string_view name, std::string_view text);
  JsonObject& Add(std::string_view name, const char* text) {
    return Add(name, std::string_view(text));
  }
  JsonObject& Add(std::string_view name, std::int64_t number);
  JsonObject& Add(std::string_view name, int number) {
    return Add(name, static_cast<std::int64_t>(number));
  }
  JsonObject& Add(std::string_view name, double number);
  JsonObject& Add(std::string_view name, bool value);
  JsonObject& AddTime(std::string_view name, Time time);  // null at 0 and kNever
  // Something that is JSON already.
  JsonObject& AddJson(std::string_view name, std::string_view json);
  // A text, or null.
  JsonObject& AddOptional(std::string_view name, const std::optional<std::string>& text);
  std::string Take();

 private:
  void Name(std::string_view name);
  std::string text_ = "{";
};

std::string JsonArray(const std::vector<std::string>& items);

struct StudyJsonParts {
  const TrialInfo* best = nullptr;
  const std::vector<TrialInfo>* running = nullptr;  // left out without
  std::string event = {};                           // left out if empty
  std::string importance = {};                      // JSON; left out if empty
};
std::string StudyJson(const StudyInfo& study, const StudyStanding& standing,
                      const StorePaths& paths, Time now, const StudyJsonParts& parts);

std::string TrialJson(const TrialInfo& trial, Time now);
std::string ReportJson(const ReportInfo& report);

}  // namespace sluice
