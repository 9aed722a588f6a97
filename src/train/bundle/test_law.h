#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/bundle/group.h"
#include "train/check/drawn_batches.h"
#include "train/check/fused.h"

// The law of bundles: a trial's trajectory never depends on the bundle that it is trained in. Here
// is what runs it on a network, for law_test.cc and for the driver of tests/train/test_law.py.
namespace sluice::train {

constexpr std::int64_t kLawSteps = 20;

// The eps of AdamW in the law. Where a gradient is 0 but for rounding, as that of a bias before a
// normalisation, Adam makes steps of lr r / (r + eps) of a rounding r. They are no rounding any
// more: with the usual eps of 1e-8 such a tensor of two runs differs by 1e-9 and more, whatever the
// trial is trained beside. In float64 r is up to about 2e-15 (the sum of terms of size 1), so that
// steps of 0.002 add up to at most 20 * 0.002 * 2e-15 / eps. That is within 1e-10 / 10, which the
// law allows an element, if eps is 8e-6 or more.
constexpr double kLawEps = 1e-5;

// What a trial of the law trains with. Trials differ in all that may differ in a bundle.
struct LawShape {
  std::string network;
  double scale = 1;
  recipe::OptimizerKind kind = recipe::OptimizerKind::kSgd;
  recipe::Precision precision = recipe::Precision::kFloat64;
};

inline recipe::TrialRecipe LawRecipe(const LawShape& shape, int trial) {
  const bool sgd = shape.kind == recipe::OptimizerKind::kSgd;
  recipe::TrialRecipe recipe;
  recipe.network = shape.network;
  recipe.scale = shape.scale;
  recipe.precision = shape.precision;
  recipe.batch = DrawnBatches::kBatch;
  recipe.keep_readout = true;
  recipe.optimizer.kind = shape.kind;
  recipe.optimizer.lr = sgd ? 0.01 * (trial + 1) : 0.002;
  recipe.optimizer.momentum = 0.1 * trial;
  recipe.optimizer.beta1 = 0.9 - 0.1 * trial;
  recipe.optimizer.eps = kLawEps;
  recipe.optimizer.weight_decay = 0.01 * trial;
  recipe.optimizer.clip_norm = 1.0 + trial;
  recipe.dropout = 0.1 * trial;
  recipe.schedule.kind =
      trial % 2 == 0 ? recipe::Schedule::Kind::kConstant : recipe::Schedule::Kind::kCosine;
  recipe.schedule.over = 4;
  return recipe;
}

inline std::uint64_t LawSeed(int trial) { return 100 + static_cast<std::uint64_t>(trial); }

inline Result<std::shared_ptr<const PreparedNetwork>> LawNetwork(const LawShape& shape) {
  const recipe::TrialRecipe recipe = LawRecipe(shape, 0);
  SLUICE_ASSIGN(TrainedNetwork network, OpenTrainedNetwork(recipe));
  ReturnSquares(network.graph);
  return PreparedNetwork::Prepare(std::move(network), recipe);
}

inline Group LawGroup(const std::shared_ptr<const PreparedNetwork>& network,
                      const Group::Options& options = {}) {
  return Group(network, std::make_unique<DrawnBatches>(network->graph(), network->real()), options);
}

// A difference of a tensor of a trial, when it was trained in a bundle and when it was alone.
struct LawDifference {
  std::string trial;  // and when it was compared
  std::string tensor;
  double difference = 0;  // as FusedCheck::difference
};

// Runs the law on a network for one optimizer. All of its trials are in one bundle:
//
//   0  trains from the first step to the last
//   1  leaves before step 7, and goes on alone
//   2  diverges: its first step makes its weights enormous or infinite
//   3  waits for a verdict in steps 13 and 14, so that it is behind from then on
//   4  joins before step 11, and begins
//   5  joins before step 11, too, with the state that four steps in another bundle left
//
// Each but 2 is compared with itself alone. Moments have no size to be compared by: it is the steps
// that they make which count. So the state that is found takes further steps alone, and is compared
// again.
class Law {
 public:
  static constexpr int kDiverges = 2;

  Law(LawShape shape, std::shared_ptr<const PreparedNetwork> network)
      : shape_(std::move(shape)), network_(std::move(network)) {}

  Result<std::vector<LawDifference>> Run() {
    Group bundle = LawGroup(network_);
    for (int trial = 0; trial < 4; ++trial) SLUICE_TRY(Join(bundle, trial, std::nullopt));
    for (std::int64_t step = 0; step < kLawSteps; ++step) {
      if (step == 7) {
        const TrialState left = bundle.StateOf(members_[1]);
        bundle.Leave(members_[1]);
        SLUICE_TRY(Compare(1, left, kLawSteps - step));
      }
      if (step == 11) {
        SLUICE_TRY(Join(bundle, 4, std::nullopt));
        SLUICE_ASSIGN(TrialState elsewhere, FromElsewhere(5));
        SLUICE_TRY(Join(bundle, 5, std::move(elsewhere)));
      }
      if (step == 13 || step == 15) bundle.SetWaiting(members_[3], step == 13);
      const std::vector<Group::Trained> trained = bundle.Step();
      // Some operators refuse NaN.
      for (const Group::Trained& each : trained)
        if (each.refused) SLUICE_TRY(LeaveRefused(bundle, each));
    }
    if (!diverged_) diverged_ = HasDiverged(bundle.StateOf(members_[kDiverges]));
    for (const int trial : {0, 3, 4, 5}) {
      const TrialState state = bundle.StateOf(members_[trial]);
      steps_[trial] = state.step;
      for (const at::Tensor& each : state.moment2)
        if (each.defined() && each.numel() > 0)
          largest_moment2_ = std::max(largest_moment2_, each.max().item().toDouble());
      SLUICE_TRY(Compare(trial, state, 1));
    }
    return std::move(differences_);
  }

  bool diverged() const { return diverged_; }
  // Of Adam and AdamW: whether a trial had a gradient that was no rounding.
  bool learnt() const { return largest_moment2_ > 1e-12; }
  std::int64_t steps(int trial) const { return steps_.at(trial); }

 private:
  recipe::TrialRecipe RecipeOf(int trial) const {
    recipe::TrialRecipe recipe = LawRecipe(shape_, trial);
    if (trial != kDiverges) return recipe;
    recipe.optimizer.lr = shape_.kind == recipe::OptimizerKind::kSgd
                              ? 1e200
                              : std::numeric_limits<double>::infinity();
    recipe.optimizer.clip_norm.reset();
    return recipe;
  }

  Status Join(Group& bundle, int trial, std::optional<TrialState> state) {
    SLUICE_ASSIGN(const MemberId member,
                  bundle.Join(RecipeOf(trial), LawSeed(trial), std::move(state)));
    members_.push_back(member);
    return {};
  }

  Status LeaveRefused(Group& bundle, const Group::Trained& refused) {
    if (refused.member != members_[kDiverges]) return std::unexpected(*refused.refused);
    diverged_ = HasDiverged(bundle.StateOf(refused.member));
    bundle.Leave(refused.member);
    return {};
  }

  Result<TrialState> FromElsewhere(int trial) const {
    Group other = LawGroup(network_);
    SLUICE_TRY(other.Join(RecipeOf(0), LawSeed(0), std::nullopt));
    SLUICE_ASSIGN(const MemberId member, other.Join(RecipeOf(trial), LawSeed(trial), std::nullopt));
    for (int step = 0; step < 4; ++step) SLUICE_TRY(StepAll(other));
    return other.StateOf(member);
  }

  Status Compare(int trial, const TrialState& found, std::int64_t further) {
    const recipe::TrialRecipe recipe = RecipeOf(trial);
    Group alone = LawGroup(network_), moved = LawGroup(network_);
    SLUICE_ASSIGN(const MemberId always, alone.Join(recipe, LawSeed(trial), std::nullopt));
    SLUICE_ASSIGN(const MemberId after, moved.Join(recipe, LawSeed(trial), found));
    for (std::int64_t step = 0; step < found.step; ++step) SLUICE_TRY(StepAll(alone));
    Note(std::to_string(trial), found, alone.StateOf(always));
    for (std::int64_t step = 0; step < further; ++step) {
      SLUICE_TRY(StepAll(alone));
      SLUICE_TRY(StepAll(moved));
    }
    Note(std::to_string(trial) + " later", moved.StateOf(after), alone.StateOf(always));
    return {};
  }

  void Note(const std::string& trial, const TrialState& one, const TrialState& other) {
    const std::vector<double> differences = DifferencesOf(one, other);
    for (std::size_t i = 0; i < differences.size(); ++i) {
      if (!other.parameters[i].defined()) continue;
      const double difference =
          one.step == other.step ? differences[i] : std::numeric_limits<double>::infinity();
      differences_.push_back({trial, network_->graph().parameters[i].name, difference});
    }
  }

  static bool HasDiverged(const TrialState& state) {
    return std::ranges::any_of(state.parameters, [](const at::Tensor& each) {
      return each.defined() && each.is_floating_point() &&
             !each.abs().lt(1e30).all().item().toBool();
    });
  }

  LawShape shape_;
  std::shared_ptr<const PreparedNetwork> network_;
  std::vector<MemberId> members_;
  std::vector<LawDifference> differences_;
  std::map<int, std::int64_t> steps_;
  bool diverged_ = false;
  double largest_moment2_ = 0;
};

}  // namespace sluice::train
