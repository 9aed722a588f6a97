#include "policy/policy_table.h"

#include <algorithm>

#include "policy/confluence/confluence.h"
#include "policy/published/fifo.h"
#include "policy/published/fluid.h"
#include "policy/published/hydro.h"
#include "policy/published/hypersack.h"
#include "policy/published/hypersched.h"
#include "policy/published/lpt.h"

namespace sluice {
namespace {

template <typename Made>
std::unique_ptr<Policy> Make() {
  return std::make_unique<Made>();
}

template <Fluid::Mode kMode>
std::unique_ptr<Policy> MakeFluid() {
  return std::make_unique<Fluid>(kMode);
}

template <HyperSack::Options kOptions>
std::unique_ptr<Policy> MakeHyperSack() {
  return std::make_unique<HyperSack>(kOptions);
}

// Lists for users show the policies in this order. The fault simulation draws policies by index.
constexpr PolicyTraits kPolicies[] = {
    {
        .name = "fifo",
        .what = "first come, first served",
        .inputs = {.running = false},
        .make = &Make<Fifo>,
    },
    {
        .name = "lpt",
        .what = "like fifo, but the trial with the most time left starts first",
        .inputs = {.running = false, .speeds = true},
        .make = &Make<Lpt>,
    },
    {
        .name = "fluid-static",
        .what = "when a group of trials starts, each gets a width in proportion to its time left",
        .needs = {.max_budget = true},
        .inputs = {.speeds = true},
        .make = &MakeFluid<Fluid::Mode::kStatic>,
    },
    {
        .name = "fluid-dynamic",
        .what = "like fluid-static, but widths follow every change of work or devices",
        .needs = {.max_budget = true},
        .inputs = {.speeds = true},
        .make = &MakeFluid<Fluid::Mode::kDynamic>,
    },
    {
        .name = "hypersched",
        .what = "the best model at a deadline: few, wide trials towards the end",
        .needs = {.max_budget = true, .deadline = true},
        .inputs = {.speeds = true},
        .asks_at_reports = true,
        .make = &Make<HyperSched>,
    },
    {
        .name = "hypersack-ff",
        .what = "packs light trials onto shared GPUs by every resource they need: first fit",
        .needs = {.memory = true},
        .inputs = {.running = false, .speeds = true},
        .can = {.packs = Packing::kAlways},
        .make = &MakeHyperSack<HyperSack::Options{}>,
    },
    {
        .name = "hypersack-ffd",
        .what = "first fit, the trial with the most time left first",
        .needs = {.memory = true},
        .inputs = {.running = false, .speeds = true},
        .can = {.packs = Packing::kAlways},
        .make = &MakeHyperSack<HyperSack::Options{.longest_first = true}>,
    },
    {
        .name = "hypersack-wf",
        .what = "worst fit: a trial goes to the GPU with the most free compute",
        .needs = {.memory = true},
        .inputs = {.running = false, .speeds = true},
        .can = {.packs = Packing::kAlways},
        .make = &MakeHyperSack<HyperSack::Options{.worst_fit = true}>,
    },
    {
        .name = "hypersack-wfd",
        .what = "worst fit, the trial with the most time left first",
        .needs = {.memory = true},
        .inputs = {.running = false, .speeds = true},
        .can = {.packs = Packing::kAlways},
        .make = &MakeHyperSack<HyperSack::Options{.longest_first = true, .worst_fit = true}>,
    },
    {
        .name = "hypersack-mip",
        .what = "an integer program maximises the compute in use: a reference for the other four",
        .needs = {.memory = true},
        .inputs = {.running = false, .speeds = true},
        .can = {.packs = Packing::kAlways},
        .make = &MakeHyperSack<HyperSack::Options{.longest_first = true, .optimal = true}>,
    },
    {
        .name = "hydro",
        .what = "fuses trials of one shape into bundles, also on lent devices",
        .needs = {.memory = true},
        .inputs = {.speeds = true},
        .can = {.fuses = true, .borrows = true, .transfers = TransferRule::kEachBest},
        .make = &Make<Hydro>,
    },
    {
        .name = "confluence",
        .what = "Sluice's own: widens, packs and fuses trials so that all work ends soonest",
        .inputs = {.speeds = true, .paces = true, .forecasts = true},
        .asks_at_reports = true,
        .can = {.packs = Packing::kByProfile,
                .fuses = true,
                .borrows = true,
                .transfers = TransferRule::kClearlyBetter},
        .make = &Make<Confluence>,
    },
};

}  // namespace

std::span<const PolicyTraits> Policies() { return kPolicies; }

const PolicyTraits* FindPolicy(std::string_view name) {
  const auto* found = std::ranges::find(kPolicies, name, &PolicyTraits::name);
  return found == std::end(kPolicies) ? nullptr : found;
}

const PolicyTraits& TraitsOf(std::string_view name) {
  const PolicyTraits* found = FindPolicy(name);
  return found != nullptr ? *found : kUnlistedPolicy;
}

const std::vector<std::string>& PolicyNames() {
  static const auto& names = *[] {
    auto* all = new std::vector<std::string>;
    for (const PolicyTraits& policy : kPolicies) all->emplace_back(policy.name);
    return all;
  }();
  return names;
}

}  // namespace sluice
