#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace sluice {

// An entry of a scenario's `policies`. In its runs, its keys override those of the studies.
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
  // The layers that come before the study's own keys: what the entry says of that study alone, then
  // what it says of all studies.
  std::vector<ConfigMap> LayersOf(const std::string& study) const;
  // The part of the file that messages about this study point at.
  const ConfigNode& NodeOf(const std::string& study) const;
  // Reports every study that the entry names and that is not among these.
  void CheckNames(const std::vector<std::string>& studies) const;

 private:
  std::string label_;
  std::string policy_;
  ConfigNode node_;
  ConfigMap map_;                           // without the key `studies`
  std::map<std::string, OfStudy> studies_;  // what `studies` says, by name
};

// The entries without mistakes; the mistakes of the others are reported. `node` may be missing.
std::vector<PolicyEntry> ReadPolicyEntries(const ConfigNode* node);

}  // namespace sluice
