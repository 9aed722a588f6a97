#include "cli/inspect/dropout_reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "base/text.h"
#include "model/dropout_nodes.h"

namespace sluice {
namespace {

constexpr std::size_t kModulesShown = 8;

std::string PathOfDropout(const std::string& module) {
  return module.empty() ? "train.dropout" : "train.dropout." + module;
}

}  // namespace

void DropoutReach::AddNetwork(const std::string& name, const model::Graph& graph) {
  std::vector<std::string>& modules = modules_of_[name];
  for (const model::DropoutNode& node : model::DropoutNodes(graph))
    if (std::ranges::find(modules, node.module) == modules.end()) modules.emplace_back(node.module);
}

void DropoutReach::AddTrial(const recipe::TrialRecipe& trial) {
  const std::vector<std::string>& modules = modules_of_.at(trial.network);
  // A network without dropout has the rate 0 already.
  if (trial.dropout.value_or(0) > 0) keys_[""][trial.network] |= !modules.empty();
  if (trial.dropout_of.empty()) return;
  std::set<std::string> deciding;
  for (const std::string& each : modules)
    if (const auto* rate = model::RateFor(each, trial.dropout_of)) deciding.insert(rate->first);
  for (const auto& [module, rate] : trial.dropout_of)
    keys_[module][trial.network] |= deciding.contains(module);
}

std::string DropoutReach::WhyNot(const std::string& module, const std::string& network) const {
  const std::vector<std::string>& all = modules_of_.at(network);
  if (all.empty()) {
    return fmt::format(
        "expected a network with dropout, found none in {}; attention and recurrent layers that "
        "were exported with dropout 0 have none either",
        network);
  }
  if (std::ranges::any_of(all, [&](const auto& each) { return model::LiesIn(each, module); })) {
    return fmt::format("expected dropout that no longer path names, found none left in '{}' of {}",
                       Shown(module), network);
  }
  std::vector<std::string> named;
  for (const std::string& each : all)
    if (!each.empty()) named.push_back(each);
  if (named.empty()) {
    return fmt::format(
        "expected nothing but a rate for all dropout, as in 'dropout: 0.1', since that of {} is in "
        "no module, found '{}'",
        network, Shown(module));
  }
  const std::span shown = std::span(named).first(std::min(named.size(), kModulesShown));
  return fmt::format(
      "expected a module with dropout in {}, which are {}{}, found '{}'{}", network, Join(shown),
      named.size() > shown.size() ? fmt::format(" and {} more", named.size() - shown.size()) : "",
      Shown(module), DidYouMean(module, named));
}

std::optional<recipe::Mistake> DropoutReach::Mistake() const {
  for (const auto& [module, reached] : keys_) {
    if (std::ranges::any_of(reached, [](const auto& each) { return each.second; })) continue;
    // The network with dropout has the most to say.
    const auto told = std::ranges::find_if(
        reached, [&](const auto& each) { return !modules_of_.at(each.first).empty(); });
    const std::string& network = told == reached.end() ? reached.begin()->first : told->first;
    return recipe::Mistake{.path = PathOfDropout(module), .message = WhyNot(module, network)};
  }
  return std::nullopt;
}

std::vector<std::string> DropoutReach::Notes() const {
  std::vector<std::string> notes;
  for (const auto& [module, reached] : keys_) {
    std::vector<std::string> without;
    for (const auto& [network, is_reached] : reached)
      if (!is_reached) without.push_back(network);
    if (without.empty()) continue;
    std::string more;
    if (without.size() > kModulesShown)
      more = fmt::format(" and {} more", without.size() - kModulesShown);
    const std::span shown = std::span(without).first(std::min(without.size(), kModulesShown));
    notes.push_back(fmt::format("{}: it changes nothing in {}{}: there is no dropout for it",
                                PathOfDropout(module), Join(shown), more));
  }
  return notes;
}

}  // namespace sluice
