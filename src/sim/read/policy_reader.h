#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace sluice {

// An entry of a scenario's `policies`: what studies are to be like under it instead of what they say.
class PolicyEntry {
 public:
  struct OfStudy {
    ConfigNode node;
    std::optional<ConfigMap> map;  // none: it is left out
  };

  PolicyEntry(std::string label, std::string policy, const ConfigNode& node, const ConfigMap& map,
              std::map<std::string, OfStudy> studies);

  const std::string& label() const { return label_; }
  const std::string& policy() const { return policy_; }
  const ConfigNode& node() const { return node_; }
  bool names_policy() const { return map_.Find("policy") != nullptr; }

  bool LeavesOut(const std::string& study) const;
  // What comes before the study's own keys: what is said of that study alone, then of all.
  std::vector<ConfigMap> LayersOf(const std::string& study) const;
  // Where that is said.
  const ConfigNode& NodeOf(const std::string& study) const;
  // Reports every study it speaks of that is not among these.
  void CheckNames(const std::vector<std::string>& studies) const;

 private:
  std::string label_;
  std::string policy_;
  ConfigNode node_;
  ConfigMap map_;                           // without `studies`,
  std::map<std::string, OfStudy> studies_;  // which are here, by name
};

// Those that are good; what is wrong with the others is reported. `node` may be missing.
std::vector<PolicyEntry> ReadPolicyEntries(const ConfigNode* node);

}  // namespace sluice
