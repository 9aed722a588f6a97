#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "recipe/trial_recipe.h"
#include "train/bundle/batches.h"
#include "train/bundle/prepared_network.h"
#include "train/measure/metrics.h"
#include "train/state/trial_state.h"

namespace sluice::train {

// A trial that is trained in a bundle.
struct Member {
  recipe::TrialRecipe recipe;
  std::uint64_t seed = 0;  // of the trial
  double steps_per_unit = 1;
};

// Trials of one shape that are trained by one program: their tensors are stacked, with the trials
// in front. A step trains each of them by one update, on the batch of the trial's own step. What a
// trial becomes does not depend on the other trials, but for rounding.
class Stack {
 public:
  explicit Stack(std::shared_ptr<const PreparedNetwork> network) : network_(std::move(network)) {}

  std::int64_t trials() const { return static_cast<std::int64_t>(members_.size()); }
  std::int64_t step(std::size_t at) const { return steps_[at]; }

  // Puts trials into a stack that has none, and takes their states. Fails with
  // out_of_memory: the trials then have their states, and the stack has no trial.
  Status Fill(std::span<const Member> members, std::vector<TrialState>& states);
  // Takes all trials out, in their order.
  std::vector<TrialState> TakeAll();
  // A trial's state, without a copy: it changes with the stack.
  TrialState ViewOf(std::size_t at) const;
  // A copy of a trial's state.
  TrialState StateOf(std::size_t at) const;

  // Trains every trial by one update. Returns the loss of each before the update. If it fails, all
  // trials are as before, for example with out_of_memory.
  Result<std::vector<double>> Step(Batches& batches);

  // Evaluates these trials on the examples for evaluation.
  Result<std::vector<Measured>> Evaluate(std::span<const std::size_t> places,
                                         const Batches& batches) const;

 private:
  // What of a trial's state is stacked, and where.
  struct Part {
    std::vector<at::Tensor> Stack::* stacked;
    std::vector<at::Tensor> TrialState::* own;
  };
  static const std::array<Part, 3> kParts;

  void GiveBack(std::vector<TrialState>& states);
  Result<std::vector<double>> TryStep(Batches& batches);
  Result<std::vector<Measured>> TryEvaluate(std::span<const std::size_t> places,
                                            const Batches& batches) const;
  std::vector<DropoutRates> RatesOf(std::span<const std::size_t> places) const;
  void NoteDropout();
  // Of the losses by the trained parameters, in their order. Undefined where a loss does not depend
  // on a parameter.
  Result<std::vector<at::Tensor>> GradientsOf(const at::Tensor& losses) const;

  std::shared_ptr<const PreparedNetwork> network_;
  std::vector<Member> members_;
  std::vector<std::int64_t> steps_;
  // By the place of the parameter in the graph. Stacked, or shared by all trials.
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> moment1_;
  std::vector<at::Tensor> moment2_;
  std::vector<DropoutRates> dropout_;
};

}  // namespace sluice::train
