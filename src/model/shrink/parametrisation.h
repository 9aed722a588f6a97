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

// What a parameter is to the width of a network.
enum class ParameterKind : std::uint8_t {
  kHidden,  // widths on both sides: products are summed up over one of them
  kInput,  // a width only in what it gives: input maps, embeddings, biases, gains, depthwise kernels
  kOutput,  // a width only in what is summed up: readouts, routers
  kScalar,  // no width
};
std::string_view Name(ParameterKind kind);

// How a parameter of the narrower network is drawn and trained, so that what was found on it holds on the original.
// Factors are for what the user asked for: a learning rate found is used on the original as it is.
struct ParameterPlan {
  ParameterKind kind = ParameterKind::kScalar;
  double in_ratio = 1;   // sizes of what is summed up, narrow / original
  double out_ratio = 1;  // of the rest
  Law law;               // it is drawn by
  bool zeroed = false;   // a readout that begins at 0, here and in the original
  double sgd_lr = 1;
  double adam_lr = 1;
  double sgd_decay = 1;
  double adamw_decay = 1;
  double adam_eps = 1;
};

// A factor for one of a node's operands, for what it gives, or to be given to it as an argument.
struct Multiplier {
  NodeId node{};
  std::optional<ValueId> operand;
  std::string argument;  // with no operand; empty: its output
  double factor = 1;
  std::string why;
};

struct ParametrisationOptions {
  std::string rule = "mup";
  std::string decay = "scaled";  // or "same": weight decay as it is given
  bool keep_readout = false;     // as it was drawn, not 0
};

struct Parametrisation {
  std::vector<ParameterPlan> parameters;  // by the order of the graph's
  std::vector<Multiplier> multipliers;
};

// Names for --rule and --decay.
std::span<const std::string> ParametrisationRules();
std::span<const std::string> DecayRules();

// Fails with invalid_argument for a rule that is not there. Laws are those of the original.
Result<Parametrisation> Parametrise(const Graph& graph, const Widths& widths,
                                    const Shrunken& narrow, const std::vector<Law>& laws,
                                    const ParametrisationOptions& options = {});

// The narrower graph with its multipliers as operators.
Graph Multiplied(const Graph& graph, std::span<const Multiplier> multipliers);

}  // namespace sluice::model
