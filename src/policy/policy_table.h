#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class Policy;

// What a study must say for a policy to work.
struct PolicyNeeds {
  bool max_budget = false;  // how far its trials go
  bool deadline = false;
  bool memory = false;  // how much of a GPU's memory its trials take
};

// What the plans of a policy depend on. The engine measures, and shows to the policy, only this.
struct PolicyInputs {
  // Which items run. A policy without this may be shown waiting items only.
  bool running = true;
  // How fast trials are. The view's speed model then learns from reports.
  bool speeds = false;
  // How fast each trial is, compared with others of its study.
  bool paces = false;
  // Forecasts of trials' losses.
  bool forecasts = false;
};

// Whether a policy gives trials shares of a GPU's compute and memory that an MPS server has to
// enforce. A share in `resources: {gpus: 0.5}` is not such a share: every policy grants it, and the
// trial is trusted to keep to it.
enum class Packing {
  kNever,
  kByProfile,  // where a profile says what trials take of each kind of GPU
  kAlways,
};

// When a study that trains the best trial of another study, its leader, trains which.
enum class TransferRule {
  kFinalBest,  // the best of the leader, once the leader has ended
  kEachBest,   // the best so far; each new best replaces the one in training
  // The best so far; a new best replaces the one in training if it is clearly better (Transfers).
  kClearlyBetter,
};
// A study that may begin before its leader has ended does so once this part of the leader's trials
// are over. With an earlier start it trains more trials that are not the best in the end. With a
// later start, devices stay idle. Part of Hydro's rule as docs/policies.md gives it. Other values
// were not measured.
inline constexpr double kTransferFrom = 0.5;

// What a policy can do.
struct PolicyAbilities {
  Packing packs = Packing::kNever;
  bool fuses = false;    // trains several trials in one program
  bool borrows = false;  // runs trials on lent devices
  TransferRule transfers = TransferRule::kFinalBest;
};

// A row of the table of policies.
struct PolicyTraits {
  std::string_view name;
  std::string_view what;  // the policy in a line
  PolicyNeeds needs = {};
  PolicyInputs inputs = {};
  bool asks_at_reports = false;  // the engine asks it after every report too
  PolicyAbilities can = {};
  std::unique_ptr<Policy> (*make)() = nullptr;
};

// The row of a policy that is not in the table.
inline constexpr PolicyTraits kUnlistedPolicy{};

// The table, in policy_table.cc. A new policy is its files and a row there: all else that depends
// on which policy a study has asks the row.
std::span<const PolicyTraits> Policies();
// Null for a name that is not in the table.
const PolicyTraits* FindPolicy(std::string_view name);
// kUnlistedPolicy for a name that is not in the table.
const PolicyTraits& TraitsOf(std::string_view name);
// In the order of the table.
const std::vector<std::string>& PolicyNames();

// The policy of a study that does not name one: the simplest policy.
inline constexpr std::string_view kDefaultPolicy = "fifo";
// The same for a study whose trials sluice-trainer trains: a policy that trains several together,
// and needs nothing of the study for that.
inline constexpr std::string_view kDefaultTrainingPolicy = "confluence";

}  // namespace sluice
