#include "train/check/coordinates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "model/shrink/shrink.h"
#include "train/bundle/group.h"
#include "train/check/drawn_batches.h"
#include "train/default_type.h"
#include "train/draws.h"

namespace sluice::train {
namespace {

constexpr double kNarrower[] = {1, 2, 4, 8};
constexpr std::size_t kLeastScales = 3;  // with fewer, an exponent says nothing
constexpr std::int64_t kCheckedSteps = 3;
// A network is trained from several seeds. Narrow ones differ much from seed to seed, and are
// quick.
struct Seeds {
  int count = 0;
  // Half of the interval in which the mean of so many normal numbers lies 95 times in 100, in
  // standard errors.
  double standard_errors = 0;
  std::size_t at_once = 0;  // few take less memory
};
constexpr Seeds kSeedsOfSmall{.count = 16, .standard_errors = 2.131, .at_once = 16};
constexpr Seeds kSeedsOfLarge{.count = 5, .standard_errors = 2.776, .at_once = 1};
// Of trained elements.
constexpr std::int64_t kLargestSmall = 1 << 19;
// Learning rates with which sizes move in three steps, but not far.
constexpr double kAdamRate = 1.0 / 256;
constexpr double kSgdRate = 1.0 / 16;
// The largest exponents over the networks of the zoo are 0.13, and 0.3 where a table is also the
// readout: logits begin larger in a narrow network then, since a table cannot begin at 0. Without
// the rule they are 0.5 and more.
constexpr double kBound = 0.2;
constexpr double kBoundIfTied = 0.35;
// Stands for the size of what is 0 everywhere.
constexpr double kLeastSize = 1e-12;

using SizesByName = std::map<std::string, std::vector<double>>;  // of each seed

// The outputs of nodes that take both what depends on the inputs and parameters, or what is made of
// parameters alone: what layers compute.
std::vector<model::ValueId> LayerOutputs(const model::Graph& graph) {
  std::vector<bool> of_inputs(graph.values.size());
  std::vector<bool> of_parameters(graph.values.size());
  for (const model::ValueId input : graph.inputs) of_inputs[Index(input)] = true;
  for (const model::Parameter& parameter : graph.parameters)
    of_parameters[Index(parameter.value)] = parameter.trainable;
  std::vector<model::ValueId> found;
  for (const model::Node& node : graph.nodes) {
    bool takes_input = false;
    bool takes_parameter = false;
    model::ForEachOperand(node, [&](model::ValueId value) {
      takes_input |= of_inputs[Index(value)];
      takes_parameter |= of_parameters[Index(value)];
    });
    for (const auto& output : node.outputs) {
      if (!output) continue;
      of_inputs[Index(*output)] = takes_input;
      of_parameters[Index(*output)] = takes_parameter && !takes_input;
      const model::Value& value = graph.value(*output);
      if (takes_input && takes_parameter && value.kind == model::Value::Kind::kTensor &&
          model::IsFloating(value.dtype))
        found.push_back(*output);
    }
  }
  return found;
}

recipe::TrialRecipe RecipeAt(const recipe::TrialRecipe& recipe, double scale) {
  recipe::TrialRecipe at;
  at.network = recipe.network;
  at.scale = scale;
  at.rule = recipe.rule;
  at.decay = recipe.decay;
  at.keep_readout = recipe.keep_readout;
  at.optimizer.kind = recipe.optimizer.kind;
  at.optimizer.lr = recipe.optimizer.kind == recipe::OptimizerKind::kSgd ? kSgdRate : kAdamRate;
  at.batch = DrawnBatches::kBatch;
  at.dropout = 0;
  return at;
}

// The mean magnitudes of what layers compute in a network that was trained for some steps.
Result<SizesByName> SizesAfterTraining(TrainedNetwork opened, const recipe::TrialRecipe& recipe,
                                       const Seeds& seeds) {
  const std::vector<model::ValueId> layers = LayerOutputs(opened.graph);
  ReturnDistances(opened.graph);
  SLUICE_ASSIGN(const auto network, PreparedNetwork::Prepare(std::move(opened), recipe));
  Group group(network, std::make_unique<DrawnBatches>(network->graph(), network->real()), {});
  group.LimitWidth(seeds.at_once);
  std::vector<MemberId> members;
  for (int seed = 0; seed < seeds.count; ++seed) {
    SLUICE_ASSIGN(const MemberId member,
                  group.Join(recipe, static_cast<std::uint64_t>(seed), std::nullopt));
    members.push_back(member);
  }
  for (std::int64_t step = 0; step < kCheckedSteps; ++step) SLUICE_TRY(StepAll(group));

  model::Graph probed = network->graph();
  probed.outputs = layers;
  SLUICE_ASSIGN(const Program program, Program::Prepare(probed));
  DrawnBatches batches(probed, network->real());
  SLUICE_ASSIGN(const Batch batch, batches.ForTraining({{0}}));
  const at::NoGradGuard no_gradients;
  const DefaultType default_type(network->real());
  SizesByName sizes;
  for (std::size_t seed = 0; seed < members.size(); ++seed) {
    const TrialState state = group.StateOf(members[seed]);
    std::vector<at::Tensor> parameters;
    for (std::size_t i = 0; i < probed.parameters.size(); ++i) {
      const at::Tensor& own = state.parameters[i];
      parameters.push_back(!own.defined()       ? network->shared(i)
                           : program.stacked(i) ? own.unsqueeze(0)
                                                : own);
    }
    const CounterDraws draws({{.seed = seed, .step = kCheckedSteps}});
    std::vector<DropoutRates> dropout;
    for (const DropoutNode& node : network->dropout_nodes())
      dropout.push_back({.node = node.node, .of_trials = {0}});
    SLUICE_ASSIGN(const Outcome outcome, program.Run({.trials = 1,
                                                      .parameters = parameters,
                                                      .inputs = batch.inputs,
                                                      .draws = &draws,
                                                      .dropout = dropout}));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const at::Tensor& value = outcome.outputs[i].tensor;
      if (!value.defined() || value.numel() == 0) continue;
      sizes[probed.value(layers[i]).name].push_back(
          value.abs().mean().to(at::kDouble).item().toDouble());
    }
  }
  return sizes;
}

double MeanOf(const std::vector<double>& of) {
  double sum = 0;
  for (const double each : of) sum += each;
  return sum / static_cast<double>(of.size());
}

// The slope of the line through the points, by least squares.
double Slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double middle_x = MeanOf(x);
  const double middle_y = MeanOf(y);
  double above = 0;
  double below = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above += (x[i] - middle_x) * (y[i] - middle_y);
    below += (x[i] - middle_x) * (x[i] - middle_x);
  }
  return above / below;
}

// How what one node computes follows the scale. `sizes` are those of each seed, for each scale.
CoordinateCheck::Line LineOf(const std::string& name, const std::vector<double>& scales,
                             const std::vector<std::vector<double>>& sizes, const Seeds& seeds) {
  CoordinateCheck::Line line;
  line.name = name;
  std::vector<double> x;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    x.push_back(std::log(scales[i]));
    line.sizes.push_back(MeanOf(sizes[i]));
  }
  std::vector<double> slopes;
  for (std::size_t seed = 0; seed < sizes.front().size(); ++seed) {
    std::vector<double> y;
    for (const std::vector<double>& at : sizes)
      y.push_back(std::log(std::max(at[seed], kLeastSize)));
    slopes.push_back(Slope(x, y));
  }
  line.exponent = MeanOf(slopes);
  double squares = 0;
  for (const double slope : slopes) squares += (slope - line.exponent) * (slope - line.exponent);
  line.error = seeds.standard_errors * std::sqrt(squares / (seeds.count - 1) / seeds.count);
  return line;
}

bool HasTiedTable(const model::Graph& graph) {
  return std::ranges::any_of(graph.parameters, [](const model::Parameter& parameter) {
    return parameter.trainable && parameter.tied_to.has_value();
  });
}

// A table that is read twice is one parameter if the code that made the graph says so.
bool IsReadTwice(const model::Graph& graph) {
  std::map<std::size_t, int> reads;
  for (const model::Node& node : graph.nodes)
    model::ForEachOperand(node, [&](model::ValueId value) { ++reads[Index(value)]; });
  return std::ranges::any_of(graph.nodes, [&](const model::Node& node) {
    if (OperatorOf(node) != "embedding") return false;
    bool twice = false;
    model::ForEachOperand(node, [&](model::ValueId value) {
      for (const model::Parameter& parameter : graph.parameters)
        twice |= parameter.value == value && reads[Index(value)] > 1;
    });
    return twice;
  });
}

}  // namespace

bool CoordinateCheck::Follows(const Line& line) const {
  return !(std::abs(line.exponent) - line.error <= bound);
}

const CoordinateCheck::Line& CoordinateCheck::Worst() const {
  SLUICE_CHECK(!lines.empty(), "something was checked");
  return *std::ranges::max_element(lines, {}, [](const Line& line) {
    const double least = std::abs(line.exponent) - line.error;
    return std::isnan(least) ? INFINITY : least;
  });
}

bool CoordinateCheck::alike() const {
  return std::ranges::none_of(lines, [&](const Line& line) { return Follows(line); });
}

Result<CoordinateCheck> CheckCoordinates(const recipe::TrialRecipe& recipe) {
  CoordinateCheck check;
  check.bound = kBound;
  std::vector<SizesByName> found;
  std::vector<std::string> names;
  std::int64_t elements = 0;
  Seeds seeds;
  const double widest = std::max(1.0, recipe.scale / kNarrower[2]);
  for (const double narrower : kNarrower) {
    const double scale = widest * narrower;
    const recipe::TrialRecipe at = RecipeAt(recipe, scale);
    auto opened = OpenTrainedNetwork(at);
    if (!opened && narrower > 1) {
      check.unchecked = opened.error().message;
      break;
    }
    if (!opened) return std::unexpected(std::move(opened).error());
    const std::int64_t now = model::TrainableElements(opened->graph);
    if (now == elements) break;  // it does not get narrower
    elements = now;
    if (narrower == 1) {
      seeds = now > kLargestSmall ? kSeedsOfLarge : kSeedsOfSmall;
      if (HasTiedTable(opened->graph) || IsReadTwice(opened->graph)) check.bound = kBoundIfTied;
      for (const model::ValueId layer : LayerOutputs(opened->graph))
        names.push_back(opened->graph.value(layer).name);
    }
    SLUICE_ASSIGN(SizesByName sizes, SizesAfterTraining(*std::move(opened), at, seeds));
    check.scales.push_back(scale);
    found.push_back(std::move(sizes));
  }
  if (check.scales.size() < kLeastScales) {
    if (check.unchecked.empty())
      check.unchecked = fmt::format(
          "the network gets narrower at {} of the scales {}, {} and {}, and at least {} are needed",
          check.scales.size() - 1, widest * kNarrower[1], widest * kNarrower[2],
          widest * kNarrower[3], kLeastScales - 1);
    return check;
  }
  check.unchecked.clear();
  for (const std::string& name : names) {
    std::vector<std::vector<double>> sizes;
    for (const SizesByName& each : found) {
      const auto at = each.find(name);
      if (at != each.end() && static_cast<int>(at->second.size()) == seeds.count)
        sizes.push_back(at->second);
    }
    if (sizes.size() == found.size())
      check.lines.push_back(LineOf(name, check.scales, sizes, seeds));
  }
  if (check.lines.empty()) check.unchecked = "no node takes both inputs and parameters";
  return check;
}

}  // namespace sluice::train
