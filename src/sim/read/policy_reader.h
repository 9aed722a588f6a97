#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace sluice {

// An entry of a scenario's `policies`. Its keys override those of the studies in the runs of this
// entry.
class PolicyEntry {
 public:
  struct OfStudy {
    ConfigNode node;
    std::optional<ConfigMap> map;  // none: the study is left out
  };

  PolicyEntry(std::string label, std::string policy, const ConfigNode& node, const ConfigMap& map,
              std::map<std::string, OfStudy> studies);

  const std::string& label() const { return label_; }
  const std::string& policy() const { return policy_; }
  const ConfigNode& node() const { return node_; }
  bool names_policy() const { return map_.Find("policy") != nullptr; }

  bool LeavesOut(const std::string& study) const;
  // The layers that override the study's own keys, the strongest first: what the entry says of this
  // study alone, then what the entry says of all studies.
  std::vector<ConfigMap> LayersOf(const std::string& study) const;
  // The part of the file that messages about this study point at.
  const ConfigNode& NodeOf(const std::string& study) const;
  // Reports every study named in the entry that is not in `studies`.
  void CheckNames(const std::vector<std::string>& studies) const;

 private:
  std::string label_;
  std::string policy_;
  ConfigNode node_;
  ConfigMap map_;                           // without the key `studies`
  std::map<std::string, OfStudy> studies_;  // what `studies` says, by name
};

// Returns the entries without mistakes, and reports the mistakes of the others. `node` may be null.
std::vector<PolicyEntry> ReadPolicyEntries(const ConfigNode* node);

}  // namespace sluice
