#include "train/check/fallbacks.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "train/bundle/prepared_network.h"
#include "train/check/drawn_batches.h"
#include "train/default_type.h"
#include "train/draws.h"
#include "train/failure.h"

namespace sluice::train {
namespace {

constexpr std::int64_t kMeasuredTrials = 3;
constexpr int kWarmRuns = 1;
constexpr int kTimedRuns = 3;

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// How long each node takes, and its gradients. PyTorch numbers what it keeps for the gradients in
// the order in which it is made, so each number belongs to the node that ran then.
class Stopwatch : public StepWatch {
 public:
  void Begins(model::NodeId node) override {
    first_[at::sequence_number::peek()] = node;
    began_ = Clock::now();
  }
  void Ends(model::NodeId node) override {
    of_node_[node] += Clock::now() - began_;
    first_[at::sequence_number::peek()] = std::nullopt;
  }
  void TookBackward(std::int64_t number, Seconds time) {
    if (number < 0) return;
    auto found = first_.upper_bound(static_cast<std::uint64_t>(number));
    if (found == first_.begin()) return;
    if (const auto& node = (--found)->second) of_node_[*node] += time;
  }
  Seconds Of(model::NodeId node) const {
    const auto found = of_node_.find(node);
    return found == of_node_.end() ? Seconds(0) : found->second;
  }
  void BeginRun() { first_.clear(); }
  void Clear() { of_node_.clear(); }

 private:
  Clock::time_point began_;
  std::map<std::uint64_t, std::optional<model::NodeId>> first_;  // numbers from here on
  std::map<model::NodeId, Seconds> of_node_;
};

// The callbacks are plain functions, of this thread alone: there the gradients are computed.
thread_local Stopwatch* watching = nullptr;

struct OneFunction : at::ObserverContext {
  Clock::time_point began = Clock::now();
};

class GradientsWatch {
 public:
  explicit GradientsWatch(Stopwatch& stopwatch) {
    watching = &stopwatch;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              return std::make_unique<OneFunction>();
            },
            [](const at::RecordFunction& function, at::ObserverContext* context) {
              const auto began = static_cast<OneFunction*>(context)->began;
              if (watching) watching->TookBackward(function.seqNr(), Clock::now() - began);
            })
            .scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~GradientsWatch() {
    at::removeCallback(handle_);
    watching = nullptr;
  }
  GradientsWatch(const GradientsWatch&) = delete;
  GradientsWatch& operator=(const GradientsWatch&) = delete;

 private:
  at::CallbackHandle handle_;
};

std::string WhereIs(const model::Node& node) {
  return node.label.empty() ? fmt::format("node '{}' ({})", node.name, node.op)
                            : fmt::format("node '{}' ({} in '{}')", node.name, node.op, node.label);
}

// What three trials hold at first.
Result<std::vector<at::Tensor>> StackedParameters(const PreparedNetwork& network) {
  std::vector<std::vector<at::Tensor>> states;
  for (std::int64_t trial = 0; trial < kMeasuredTrials; ++trial) {
    SLUICE_ASSIGN(TrialState state, network.InitialState(static_cast<std::uint64_t>(trial)));
    states.push_back(std::move(state.parameters));
  }
  std::vector<at::Tensor> parameters(network.graph().parameters.size());
  for (std::size_t place = 0; place < parameters.size(); ++place) {
    const model::Parameter& parameter = network.graph().parameters[place];
    if (parameter.tied_to) continue;
    if (!network.stacked(place)) {
      parameters[place] = network.shared(place);
      continue;
    }
    std::vector<at::Tensor> each;
    for (const auto& state : states) each.push_back(state[place]);
    parameters[place] = at::stack(each).requires_grad_(parameter.trainable);
  }
  return parameters;
}

struct Timed {
  Seconds all{0};
  Stopwatch nodes;
  std::vector<model::NodeId> looped;
};

// A step without its update, as often as is needed to know its time.
Result<Timed> TimeSteps(const PreparedNetwork& network) {
  const DefaultType default_type(network.real());
  SLUICE_ASSIGN(const std::vector<at::Tensor> parameters, StackedParameters(network));
  DrawnBatches batches(network.graph(), network.real());
  const std::vector<std::int64_t> steps(kMeasuredTrials, 0);
  SLUICE_ASSIGN(const Batch batch, batches.ForTraining(steps));
  const std::vector<CounterDraws::Trial> keys(kMeasuredTrials);
  const CounterDraws draws(keys);
  Timed timed;
  for (int run = 0; run < kWarmRuns + kTimedRuns; ++run) {
    if (run == kWarmRuns) {
      timed.nodes.Clear();
      timed.all = Seconds(0);
    }
    timed.nodes.BeginRun();
    const auto began = Clock::now();
    SLUICE_ASSIGN(const Outcome outcome, network.together().Run({.trials = kMeasuredTrials,
                                                                 .parameters = parameters,
                                                                 .inputs = batch.inputs,
                                                                 .draws = &draws,
                                                                 .watch = &timed.nodes}));
    timed.looped = outcome.looped;
    try {
      const at::Tensor loss = outcome.outputs.front().tensor.sum();
      const GradientsWatch watch(timed.nodes);
      if (loss.requires_grad()) loss.backward();
    } catch (const std::exception& error) {
      return FailureOf(error, network.network().name);
    }
    timed.all += Clock::now() - began;
  }
  return timed;
}

}  // namespace

double Fallbacks::Share() const {
  double share = 0;
  for (const Node& node : nodes) share += node.share;
  return share;
}

Result<Fallbacks> MeasureFallbacks(const std::string& name, double scale) {
  recipe::TrialRecipe shape;
  shape.network = name;
  shape.scale = scale;
  shape.keep_readout = true;
  shape.batch = DrawnBatches::kBatch;
  SLUICE_ASSIGN(TrainedNetwork opened, OpenTrainedNetwork(shape));
  const std::size_t all_nodes = opened.graph.nodes.size();
  ReturnSquares(opened.graph);
  SLUICE_ASSIGN(const auto network, PreparedNetwork::Prepare(std::move(opened), shape));
  SLUICE_ASSIGN(const Timed timed, TimeSteps(*network));
  Fallbacks found{.nodes = {}, .all_nodes = all_nodes};
  std::map<model::NodeId, std::string> how;
  for (const Fallback& each : network->together().fallbacks())
    how[each.node] = each.vmap ? "by vmap" : fmt::format("trial by trial: {}", each.why);
  for (const model::NodeId node : timed.looped)
    how.try_emplace(node, "trial by trial: its rule does not cover these operands");
  for (const auto& [node, words] : how)
    found.nodes.push_back({.where = WhereIs(network->graph().nodes[model::Index(node)]),
                           .how = words,
                           .share = timed.nodes.Of(node) / timed.all});
  return found;
}

std::string FallbacksText(const Fallbacks& fallbacks) {
  if (fallbacks.nodes.empty())
    return fmt::format("fallbacks   none of {} nodes\n", fallbacks.all_nodes);
  std::string text =
      fmt::format("fallbacks   {} of {} nodes, {:.1f} % of a step\n", fallbacks.nodes.size(),
                  fallbacks.all_nodes, 100 * fallbacks.Share());
  for (const Fallbacks::Node& each : fallbacks.nodes)
    text += fmt::format("  {}: {:.1f} %, {}\n", each.where, 100 * each.share, each.how);
  return text;
}

}  // namespace sluice::train
