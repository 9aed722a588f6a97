#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/analyse/law.h"
#include "model/graph.h"
#include "model/shrink/shrink.h"
#include "model/shrink/widths.h"

namespace sluice::model {

// The kind of a parameter: where it has widths.
enum class ParameterKind : std::uint8_t {
  // Widths among the axes that products are summed up over, and among the other axes.
  kHidden,
  // Widths only among the other axes: input maps, embeddings, biases, gains, depthwise kernels.
  kInput,
  // Widths only among the axes that products are summed up over: readouts, routers.
  kOutput,
  // No width.
  kScalar,
};
std::string_view Name(ParameterKind kind);

// How a parameter of the narrower network is drawn and trained, so that hyperparameters that are
// good on that network are good on the original. The factors multiply the values that the user
// sets. A learning rate that was found on the narrower network is used on the original without a
// factor.
struct ParameterPlan {
  ParameterKind kind = ParameterKind::kScalar;
  double in_ratio = 1;   // narrow / original, of the sizes that are summed up over
  double out_ratio = 1;  // narrow / original, of the other sizes
  Law law;               // by which the parameter is drawn
  bool zeroed = false;   // a readout that begins at 0, in the narrower network and in the original
  double sgd_lr = 1;
  double adam_lr = 1;
  double sgd_decay = 1;
  double adamw_decay = 1;
  double adam_eps = 1;
};

// A factor that multiplies one of a node's operands or its output, or that is the new value of one
// of its arguments.
struct Multiplier {
  NodeId node{};
  std::optional<ValueId> operand;
  std::string argument;  // without an operand: the argument to set; empty: multiply the output
  double factor = 1;
  std::string why;
};

struct ParametrisationOptions {
  std::string rule = "mup";
  std::string decay = "scaled";  // or "same": the weight decay that the user sets
  bool keep_readout = false;     // the readout begins as it was drawn, not at 0
};

struct Parametrisation {
  std::vector<ParameterPlan> parameters;  // in the order of the graph's parameters
  std::vector<Multiplier> multipliers;
};

// The values of --rule and --decay.
std::span<const std::string> ParametrisationRules();
std::span<const std::string> DecayRules();

// Fails with invalid_argument for an unknown rule or decay. `laws` are the laws of the original's
// parameters.
Result<Parametrisation> Parametrise(const Graph& graph, const Widths& widths,
                                    const Shrunken& narrow, const std::vector<Law>& laws,
                                    const ParametrisationOptions& options = {});

// The narrower graph with the multipliers inserted as operators.
Graph Multiplied(const Graph& graph, std::span<const Multiplier> multipliers);

}  // namespace sluice::model
