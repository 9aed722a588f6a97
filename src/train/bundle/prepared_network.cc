#include "train/bundle/prepared_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/dropout_nodes.h"
#include "model/evaluate/evaluation.h"
#include "model/example_sizes.h"
#include "model/network.h"
#include "train/measure/examples.h"

namespace sluice::train {
namespace {

// The first seed of all: what trials share is the same in every study.
constexpr std::uint64_t kSharedSeed = 0;

// Networks of the zoo are as Sluice makes them: there is nothing to compare them with.
Result<model::EvaluationPlan> EvaluationOf(const recipe::TrialRecipe& shape) {
  model::Comparison equal{.verdict = model::Comparison::Verdict::kEqual};
  if (model::IsOfZoo(shape.network))
    return model::PlanEvaluation(equal, {}, shape.evaluate_as_trained);
  SLUICE_ASSIGN(const ExamplesCheck check, CheckExamples(shape.network));
  return model::PlanEvaluation(check.evaluation, check.notes, shape.evaluate_as_trained);
}

}  // namespace

PreparedNetwork::PreparedNetwork(TrainedNetwork network, Program together, Program apart,
                                 Program evaluation)
    : network_(std::move(network)),
      together_(std::move(together)),
      apart_(std::move(apart)),
      evaluation_(std::move(evaluation)) {}

Result<std::shared_ptr<const PreparedNetwork>> PreparedNetwork::Open(
    const recipe::TrialRecipe& shape) {
  SLUICE_ASSIGN(TrainedNetwork network, OpenTrainedNetwork(shape));
  SLUICE_ASSIGN(const model::EvaluationPlan evaluation, EvaluationOf(shape));
  return Prepare(std::move(network), shape, evaluation);
}

Result<std::shared_ptr<const PreparedNetwork>> PreparedNetwork::Prepare(
    TrainedNetwork network, const recipe::TrialRecipe& shape, const model::EvaluationPlan& plan) {
  SLUICE_ASSIGN(const LossKind loss, LossKindOf(shape.loss));
  const at::ScalarType real = RealOf(shape.precision);
  const model::Graph& graph = network.graph;
  const auto named = [&](Error error) {
    error.message = fmt::format("{}: {}", shape.network, error.message);
    return std::unexpected(std::move(error));
  };
  ProgramOptions options{.real = real};
  if (shape.precision == recipe::Precision::kBfloat16) options.autocast = at::kBFloat16;
  auto together = Program::Prepare(graph, options);
  if (!together) return named(together.error());
  ProgramOptions options_apart = options;
  options_apart.stacked_inputs.assign(graph.inputs.size(), true);
  auto apart = Program::Prepare(graph, options_apart);
  if (!apart) return named(apart.error());

  std::vector<std::string> notes;
  ProgramOptions options_evaluation = options;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i)
    options_evaluation.stacked_parameters.push_back(together->stacked(i));
  model::Graph evaluated = graph;
  if (!plan.why.empty()) notes.push_back(fmt::format("{}: {}", shape.network, plan.why));
  if (plan.by == model::EvaluationPlan::By::kEvaluationGraph) {
    auto evaluation = model::MakeEvaluation(graph);
    if (!evaluation) return named(evaluation.error());
    evaluated = std::move(evaluation->graph);
  }
  model::Metrics metrics = model::MetricsOf(evaluated, shape.loss, plan);
  if (metrics.scores && metrics.scores->classes) {
    evaluated.outputs.push_back(metrics.scores->scores);
    evaluated.outputs.push_back(*metrics.scores->classes);
  }
  auto evaluation = Program::Prepare(evaluated, options_evaluation);
  if (!evaluation) return named(evaluation.error());

  auto made = std::shared_ptr<PreparedNetwork>(new PreparedNetwork(
      std::move(network), std::move(*together), std::move(*apart), std::move(*evaluation)));
  made->real_ = real;
  made->loss_ = loss;
  made->evaluates_by_ = plan.by;
  made->metrics_ = std::move(metrics);
  made->moments_ = MomentsOf(shape.optimizer.kind);
  made->notes_ = std::move(notes);
  for (const Fallback& each : made->together_.fallbacks())
    if (!each.vmap)
      made->notes_.push_back(fmt::format("{} runs trial by trial: {}", each.op, each.why));
  made->dropout_nodes_ = DropoutNodes(made->graph());
  made->batch_is_fixed_ = model::FixedBatch(made->graph()).has_value();
  for (std::size_t i = 0; i < made->graph().parameters.size(); ++i) {
    const model::Parameter& each = made->graph().parameters[i];
    if (!each.trainable || each.tied_to) continue;
    made->trained_.push_back(i);
    made->factors_.push_back(FactorsOf(shape.optimizer.kind, made->network_.plans[i]));
  }
  SLUICE_ASSIGN(made->shared_, InitialTensors(made->network_, kSharedSeed, real));
  return made;
}

Result<TrialState> PreparedNetwork::InitialState(std::uint64_t trial_seed) const {
  TrialState state;
  SLUICE_ASSIGN(state.parameters, InitialTensors(network_, trial_seed, real_));
  for (std::size_t i = 0; i < state.parameters.size(); ++i)
    if (!stacked(i)) state.parameters[i] = at::Tensor();
  SLUICE_TRY(Complete(state));
  return state;
}

Status PreparedNetwork::Complete(TrialState& state) const {
  const std::size_t count = graph().parameters.size();
  state.parameters.resize(count);
  state.moment1.resize(count);
  state.moment2.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const model::Parameter& each = graph().parameters[i];
    if (each.tied_to || !stacked(i)) continue;
    const at::Tensor& own = state.parameters[i];
    if (!own.defined() || own.sizes() != at::IntArrayRef(each.sizes))
      return InvalidArgument(
          fmt::format("expected the sizes of '{}' as in {}", each.name, network_.name));
    if (!each.trainable) continue;
    const auto complete = [&](at::Tensor& moment, int number) {
      if (moments_ < number) {
        moment = at::Tensor();
      } else if (!moment.defined()) {
        moment = at::zeros_like(own);
      }
    };
    complete(state.moment1[i], 1);
    complete(state.moment2[i], 2);
  }
  return {};
}

double RateOfDropout(const recipe::TrialRecipe& recipe, const DropoutNode& node) {
  const auto* of_module = model::RateFor(node.module, recipe.dropout_of);
  return of_module ? of_module->second : recipe.dropout.value_or(node.rate);
}

}  // namespace sluice::train
