#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"
#include "recipe/recipe.h"
#include "recipe/trial_recipe.h"

namespace sluice {

// Which of the rates below `train.dropout` change anything. A rate for a module that does not exist
// would be searched for in vain.
class DropoutReach {
 public:
  // Call it once for each network that a trial names, before the trials.
  void AddNetwork(const std::string& name, const model::Graph& graph);
  // A trial of one of those networks.
  void AddTrial(const recipe::TrialRecipe& trial);

  // A rate that changes nothing in any network that a trial sets it for. Nothing if there is none.
  std::optional<recipe::Mistake> Mistake() const;
  // What is said of rates that change something in some networks only.
  std::vector<std::string> Notes() const;

 private:
  // Whether it changes a network, by the network's name.
  using Reached = std::map<std::string, bool>;

  std::string WhyNot(const std::string& module, const std::string& network) const;

  // The modules of a network's dropout, each once, in their order. A node may be in no module.
  std::map<std::string, std::vector<std::string>> modules_of_;
  std::map<std::string, Reached> keys_;  // the module that a rate is for; "": all
};

}  // namespace sluice
