#include "engine/read/study_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/config.h"

namespace sluice {
namespace {

// The keys that can change, of a study and of a sweep.
const std::vector<std::string>& FreeKeys() {
  static const auto& keys =
      *new std::vector<std::string>{"trials",  "run_cap", "deadline",     "parallelism", "policy",
                                    "retries", "backoff", "max_failures", "timeouts"};
  return keys;
}

struct SourceValue {
  std::string whole;  // to compare
  std::string text;   // for people
};

Result<std::vector<std::pair<std::string, SourceValue>>> SourceKeys(std::string_view text,
                                                                    std::string_view file) {
  SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
  const auto map = config.root().Map();
  std::vector<std::pair<std::string, SourceValue>> keys;
  if (!map) return keys;
  for (const ConfigMap::Entry& entry : map->entries())
    keys.emplace_back(entry.key, SourceValue{entry.value.Whole(), entry.value.Show()});
  return keys;
}

}  // namespace

StudyChange ChangeFrom(const StudySpec& spec) {
  return {.policy = spec.policy,
          .parallelism = spec.parallelism,
          .retries = spec.retries,
          .max_failures = spec.max_failures,
          .backoff = spec.backoff,
          .timeouts = spec.timeouts};
}

void Apply(const StudyChange& change, StudySpec& spec) {
  spec.policy = change.policy;
  spec.parallelism = change.parallelism;
  spec.retries = change.retries;
  spec.max_failures = change.max_failures;
  spec.backoff = change.backoff;
  spec.timeouts = change.timeouts;
}

Result<StudyDifference> CompareSources(std::string_view before, std::string_view after,
                                       std::string_view file) {
  SLUICE_ASSIGN(const auto old_keys, SourceKeys(before, file));
  SLUICE_ASSIGN(const auto new_keys, SourceKeys(after, file));
  const std::map<std::string, SourceValue> old_values(old_keys.begin(), old_keys.end());
  const std::map<std::string, SourceValue> new_values(new_keys.begin(), new_keys.end());
  StudyDifference difference;
  const auto differs = [&](const std::string& key, const SourceValue* was, const SourceValue* is) {
    const bool free = std::ranges::find(FreeKeys(), key) != FreeKeys().end();
    (free ? difference.free : difference.fixed).push_back(key);
    if (was != nullptr) difference.text += fmt::format("  - {}: {}\n", key, was->text);
    if (is != nullptr) difference.text += fmt::format("  + {}: {}\n", key, is->text);
  };
  for (const auto& [key, was] : old_keys) {
    const auto is = new_values.find(key);
    if (is == new_values.end()) {
      differs(key, &was, nullptr);
    } else if (is->second.whole != was.whole) {
      differs(key, &was, &is->second);
    }
  }
  for (const auto& [key, is] : new_keys) {
    if (!old_values.contains(key)) differs(key, nullptr, &is);
  }
  return difference;
}

}  // namespace sluice
