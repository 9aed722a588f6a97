#include "train/bundle/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "train/default_type.h"
#include "train/failure.h"
#include "train/measure/losses.h"
#include "train/measure/network_metrics.h"
#include "train/update/optimizer.h"
#include "train/update/schedule.h"

namespace sluice::train {
namespace {

// The trials at these places, in their order.
at::Tensor Picked(const at::Tensor& stacked, std::span<const std::size_t> places) {
  std::vector<std::int64_t> indices(places.begin(), places.end());
  return stacked.detach().index_select(0, at::tensor(indices, at::kLong));
}

// One trial's part, without a copy.
at::Tensor RowOf(const at::Tensor& stacked, std::size_t at) {
  return stacked.detach()[static_cast<std::int64_t>(at)];
}

// The parts of all trials: copies, so that the memory of the stack can be freed. Where there is not
// enough memory for copies, there are none.
std::vector<at::Tensor> RowsOf(const at::Tensor& stacked) {
  std::vector<at::Tensor> rows;
  for (std::size_t at = 0; at < static_cast<std::size_t>(stacked.size(0)); ++at)
    rows.push_back(RowOf(stacked, at));
  const auto copied = Guarded("", [&]() -> Result<std::vector<at::Tensor>> {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& row : rows) copies.push_back(row.clone());
    return copies;
  });
  return copied ? *copied : rows;
}

// A stack of what trials bring along, which is taken from them. Undefined if they have none.
at::Tensor Joined(std::span<TrialState> states, std::vector<at::Tensor> TrialState::* tensors,
                  std::size_t place) {
  std::vector<at::Tensor> parts;
  for (TrialState& state : states) {
    const at::Tensor& own = (state.*tensors)[place];
    if (!own.defined()) return {};
    parts.push_back(own.unsqueeze(0));
  }
  at::Tensor joined = at::cat(parts);
  for (TrialState& state : states) (state.*tensors)[place] = at::Tensor();
  return joined;
}

}  // namespace

const std::array<Stack::Part, 3> Stack::kParts = {{
    {&Stack::parameters_, &TrialState::parameters},
    {&Stack::moment1_, &TrialState::moment1},
    {&Stack::moment2_, &TrialState::moment2},
}};

// Tensors are stacked one after another, so that only one of them takes its memory twice.
Status Stack::Fill(std::span<const Member> members, std::vector<TrialState>& states) {
  SLUICE_CHECK(members_.empty(), "a stack is filled once");
  SLUICE_CHECK(members.size() == states.size() && !states.empty(), "each trial has a state");
  const std::vector<model::Parameter>& parameters = network_->graph().parameters;
  for (const auto& [stacked, own] : kParts) (this->*stacked).assign(parameters.size(), {});
  const Status filled = Guarded("the weights", [&]() -> Status {
    for (std::size_t place = 0; place < parameters.size(); ++place) {
      if (parameters[place].tied_to) continue;
      if (!network_->stacked(place)) {
        parameters_[place] = network_->shared(place);
        continue;
      }
      for (const auto& [stacked, own] : kParts)
        (this->*stacked)[place] = Joined(states, own, place);
      if (parameters[place].trainable) parameters_[place].requires_grad_();
    }
    return {};
  });
  if (!filled) {
    GiveBack(states);
    return filled;
  }
  members_.assign(members.begin(), members.end());
  for (const TrialState& state : states) steps_.push_back(state.step);
  NoteDropout();
  return {};
}

// Gives trials what is stacked of theirs.
void Stack::GiveBack(std::vector<TrialState>& states) {
  for (const auto& [stacked, own] : kParts) {
    for (TrialState& state : states) (state.*own).resize((this->*stacked).size());
    for (std::size_t place = 0; place < (this->*stacked).size(); ++place) {
      const at::Tensor tensor = std::exchange((this->*stacked)[place], {});
      if (!tensor.defined() || !network_->stacked(place)) continue;
      std::vector<at::Tensor> rows = RowsOf(tensor);
      for (std::size_t i = 0; i < states.size(); ++i) (states[i].*own)[place] = std::move(rows[i]);
    }
  }
}

std::vector<TrialState> Stack::TakeAll() {
  std::vector<TrialState> states(members_.size());
  GiveBack(states);
  for (std::size_t i = 0; i < states.size(); ++i) states[i].step = steps_[i];
  members_.clear();
  steps_.clear();
  dropout_.clear();
  return states;
}

TrialState Stack::ViewOf(std::size_t at) const {
  TrialState state;
  state.step = steps_[at];
  for (const auto& [stacked, own] : kParts) {
    const std::vector<at::Tensor>& tensors = this->*stacked;
    (state.*own).resize(tensors.size());
    for (std::size_t place = 0; place < tensors.size(); ++place)
      if (tensors[place].defined() && network_->stacked(place))
        (state.*own)[place] = RowOf(tensors[place], at);
  }
  return state;
}

TrialState Stack::StateOf(std::size_t at) const {
  TrialState state = ViewOf(at);
  for (const auto& [stacked, own] : kParts)
    for (at::Tensor& tensor : state.*own)
      if (tensor.defined()) tensor = tensor.clone();
  return state;
}

std::vector<DropoutRates> Stack::RatesOf(std::span<const std::size_t> places) const {
  std::vector<DropoutRates> all;
  for (const DropoutNode& node : network_->dropout_nodes()) {
    DropoutRates rates{.node = node.node, .of_trials = {}};
    for (const std::size_t at : places)
      rates.of_trials.push_back(RateOfDropout(members_[at].recipe, node));
    all.push_back(std::move(rates));
  }
  return all;
}

void Stack::NoteDropout() {
  std::vector<std::size_t> all(members_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  dropout_ = RatesOf(all);
}

Result<std::vector<double>> Stack::Step(Batches& batches) {
  return Guarded("a step", [&] { return TryStep(batches); });
}

// Nothing of the trials changes before all memory has been taken.
Result<std::vector<double>> Stack::TryStep(Batches& batches) {
  const DefaultType default_type(network_->real());
  SLUICE_ASSIGN(const Batch batch, batches.ForTraining(steps_));
  std::vector<CounterDraws::Trial> keys;
  for (std::size_t i = 0; i < members_.size(); ++i)
    keys.push_back({.seed = members_[i].seed, .step = static_cast<std::uint64_t>(steps_[i])});
  const CounterDraws draws(std::move(keys));
  const Program& program =
      batch.inputs.front().stacked() ? network_->apart() : network_->together();
  SLUICE_ASSIGN(Outcome outcome, program.Run({.trials = trials(),
                                              .parameters = parameters_,
                                              .inputs = batch.inputs,
                                              .draws = &draws,
                                              .dropout = dropout_}));
  std::vector<double> smoothing;
  for (const Member& member : members_) smoothing.push_back(member.recipe.label_smoothing);
  SLUICE_ASSIGN(const at::Tensor losses, LossOfTrials(network_->loss(),
                                                      {.output = outcome.outputs.front(),
                                                       .target = batch.target,
                                                       .trials = trials(),
                                                       .examples = batch.examples},
                                                      smoothing));
  SLUICE_ASSIGN(const std::vector<at::Tensor> gradients, GradientsOf(losses));
  std::vector<TrialUpdate> updates;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const recipe::TrialRecipe& recipe = members_[i].recipe;
    updates.push_back(
        {.settings = recipe.optimizer,
         .lr = RateAt(recipe.optimizer, recipe.schedule, steps_[i], members_[i].steps_per_unit),
         .step = steps_[i]});
  }
  std::vector<TrainedTensor> tensors;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::size_t place = network_->trained()[i];
    tensors.push_back({.weight = parameters_[place],
                       .gradient = gradients[i],
                       .moment1 = moment1_[place],
                       .moment2 = moment2_[place],
                       .factors = network_->factors()[i]});
  }
  const at::Tensor numbers = losses.detach().to(at::kDouble).contiguous();
  std::vector<double> found(numbers.const_data_ptr<double>(),
                            numbers.const_data_ptr<double>() + trials());
  const recipe::OptimizerSettings& form = members_.front().recipe.optimizer;
  Update(form.kind, form.nesterov, updates, tensors);
  for (auto& [place, tensor] : outcome.written) parameters_[place] = tensor.detach();
  for (std::int64_t& step : steps_) ++step;
  return found;
}

Result<std::vector<at::Tensor>> Stack::GradientsOf(const at::Tensor& losses) const {
  std::vector<at::Tensor> trained;
  for (const std::size_t place : network_->trained()) trained.push_back(parameters_[place]);
  if (!losses.requires_grad())
    return InvalidArgument("the loss does not depend on any parameter that is trained");
  return Guarded("the gradients", [&]() -> Result<std::vector<at::Tensor>> {
    return torch::autograd::grad({losses.sum()}, trained, {}, /*retain_graph=*/std::nullopt,
                                 /*create_graph=*/false, /*allow_unused=*/true);
  });
}

Result<std::vector<Measured>> Stack::Evaluate(std::span<const std::size_t> places,
                                              const Batches& batches) const {
  return Guarded("the evaluation", [&] { return TryEvaluate(places, batches); });
}

Result<std::vector<Measured>> Stack::TryEvaluate(std::span<const std::size_t> places,
                                                 const Batches& batches) const {
  const at::NoGradGuard no_gradients;
  const DefaultType default_type(network_->real());
  std::vector<at::Tensor> parameters = parameters_;
  const bool all = places.size() == members_.size();
  for (std::size_t place = 0; place < parameters.size(); ++place)
    if (!all && parameters[place].defined() && network_->stacked(place))
      parameters[place] = Picked(parameters[place], places);
  std::vector<CounterDraws::Trial> keys;
  for (const std::size_t at : places)
    keys.push_back({.seed = members_[at].seed, .step = static_cast<std::uint64_t>(steps_[at])});
  const CounterDraws draws(std::move(keys));
  // The evaluation graph drops nothing.
  std::vector<DropoutRates> dropout;
  if (network_->evaluates_by() == model::EvaluationPlan::By::kTrainingGraph)
    dropout = RatesOf(places);
  const auto trials = static_cast<std::int64_t>(places.size());
  NetworkMetrics metrics(network_->loss(), network_->metrics(), trials);
  const std::int64_t examples = batches.evaluation_examples();
  for (std::int64_t first = 0; first < examples; first += batches.batch()) {
    const std::int64_t count = std::min(batches.batch(), examples - first);
    if (count < batches.batch() && network_->batch_is_fixed() && first > 0) break;
    SLUICE_ASSIGN(const Batch batch, batches.ForEvaluation(first, count));
    SLUICE_ASSIGN(const Outcome outcome, network_->evaluation().Run({.trials = trials,
                                                                     .parameters = parameters,
                                                                     .inputs = batch.inputs,
                                                                     .draws = &draws,
                                                                     .dropout = dropout}));
    SLUICE_TRY(metrics.Add(outcome.outputs, batch.target, count));
  }
  return metrics.Results();
}

}  // namespace sluice::train
