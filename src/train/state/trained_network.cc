#include "train/state/trained_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "model/network.h"
#include "model/read/archive.h"
#include "model/shrink/shrink.h"
#include "train/failure.h"
#include "train/state/initial_draws.h"
#include "train/state/tensor_types.h"
#include "train/tensor_bound.h"

namespace sluice::train {
namespace {

using model::Law;

double BytesOfTrial(const model::Graph& graph, const model::Parameter& parameter) {
  auto bytes = static_cast<double>(model::BytesOf(graph.value(parameter.value).dtype));
  for (const std::int64_t size : parameter.sizes) bytes *= static_cast<double>(size);
  return bytes;
}

// Sizes come from a file that may hold any number.
Status CheckFits(const model::Graph& graph) {
  const auto has = static_cast<double>(MemoryBytes());
  double takes = 0;
  for (const model::Parameter& parameter : graph.parameters)
    if (!parameter.tied_to) takes += BytesOfTrial(graph, parameter);
  if (takes <= has) return {};
  return FailedPrecondition(fmt::format(
      "expected parameters that fit into the memory of this machine ({:.1f} GiB), found {:.1f} "
      "GiB: train it at a larger `scale`",
      has / 0x1p30, takes / 0x1p30));
}

// Archives may hold parameters of any type.
Status CheckTrainedTypes(const model::Graph& graph) {
  for (const model::Parameter& parameter : graph.parameters) {
    const model::DType type = graph.value(parameter.value).dtype;
    if (!parameter.trainable || type == model::DType::kFloat32 || type == model::DType::kFloat64)
      continue;
    return InvalidArgument(fmt::format(
        "'{}': expected float32 or float64, since it is trained, found {}: export the network with "
        "module.float(); `precision` says in which precision it is trained",
        Shown(parameter.name), model::Name(type)));
  }
  return {};
}

std::string FingerprintOf(const model::Graph& graph) {
  Digest digest;
  digest.Add(graph.parameters.size());
  for (const model::Parameter& parameter : graph.parameters) {
    digest.Add(parameter.name).Add(parameter.role).Add(parameter.trainable);
    digest.Add(graph.value(parameter.value).dtype).Add(parameter.sizes.size());
    for (const std::int64_t size : parameter.sizes) digest.Add(size);
    digest.Add(parameter.tied_to ? std::int64_t{*parameter.tied_to} : -1);
  }
  digest.Add(graph.nodes.size());
  for (const model::Node& node : graph.nodes) digest.Add(node.op).Add(node.label);
  return ToHex(digest.Value());
}

Result<model::Shrunken> NarrowNetwork(const model::Network& network, double scale) {
  if (scale != 1) return model::Shrink(network.graph, network.widths, {.scale = scale});
  model::Shrunken same{.graph = network.graph, .sizes = {}};
  for (const model::WidthClass& width : network.widths.classes()) same.sizes.push_back(width.size);
  return same;
}

// Where the initial values of a parameter come from.
class InitialValues {
 public:
  InitialValues(const TrainedNetwork& made, const std::optional<model::Archive>& archive,
                bool all_from_archive)
      : made_(made), archive_(archive), all_(all_from_archive) {}

  // The values in the archive; undefined for a parameter that is drawn.
  Result<at::Tensor> Stored(std::size_t p) const {
    const model::Parameter& parameter = made_.graph.parameters[p];
    if (parameter.tied_to) return at::Tensor();
    const Law::Kind law = made_.plans[p].law.kind;
    const bool has_values = archive_ && archive_->HasTensor(parameter);
    const bool is_empty = std::ranges::find(parameter.sizes, 0) != parameter.sizes.end();
    const bool is_drawn = law != Law::Kind::kUnknown && parameter.trainable && !all_;
    if (has_values && !is_drawn) return Read(p);
    if (all_ && !is_empty) {
      return FailedPrecondition(
          fmt::format("'{}': expected its values in the archive, as `init: archive` asks, found "
                      "none: export the model with its values",
                      Shown(parameter.name)));
    }
    if (law != Law::Kind::kUnknown || is_empty) return at::Tensor();
    return FailedPrecondition(
        fmt::format("'{}' can be neither drawn nor read: expected {}, found none: export the model "
                    "with its values",
                    Shown(parameter.name),
                    made_.scale == 1 ? "its values in the archive"
                                     : "values in the archive that show how it was drawn"));
  }

 private:
  Result<at::Tensor> Read(std::size_t p) const {
    const model::Parameter& parameter = made_.graph.parameters[p];
    // Elements are read with the sizes of the archive, which this parameter has kept.
    SLUICE_ASSIGN(const std::string bytes,
                  archive_->ReadTensor(archive_->graph().parameters[p],
                                       std::numeric_limits<std::size_t>::max()));
    const model::DType dtype = made_.graph.value(parameter.value).dtype;
    try {
      at::Tensor tensor = at::empty(parameter.sizes, ScalarTypeOf(dtype, at::kFloat));
      if (tensor.nbytes() != bytes.size())
        return Corruption(fmt::format("'{}': expected {} bytes of elements, found {}",
                                      Shown(parameter.name), tensor.nbytes(), bytes.size()));
      std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
      return tensor;
    } catch (const c10::Error& error) {
      return FailureOf(error, fmt::format("'{}'", Shown(parameter.name)));
    }
  }

  const TrainedNetwork& made_;
  const std::optional<model::Archive>& archive_;
  const bool all_;
};

Status CheckInit(const recipe::TrialRecipe& recipe) {
  if (!recipe.init_from_archive) return {};
  if (recipe.scale != 1) {
    return InvalidArgument(
        fmt::format("init: archive: expected scale 1, found {}: the weights of a narrower network "
                    "are drawn, because those in the archive have other sizes",
                    recipe.scale));
  }
  if (!model::IsOfZoo(recipe.network)) return {};
  return InvalidArgument(fmt::format(
      "init: archive: expected a network in an archive, found {}: networks of the zoo have no "
      "weights, leave `init` out to draw them",
      Shown(recipe.network)));
}

Status Complete(const recipe::TrialRecipe& recipe, const model::Network& network,
                TrainedNetwork& made) {
  SLUICE_ASSIGN(const model::Shrunken narrow, NarrowNetwork(network, recipe.scale));
  SLUICE_ASSIGN(
      model::Parametrisation parametrisation,
      model::Parametrise(
          network.graph, network.widths, narrow, network.laws,
          {.rule = recipe.rule, .decay = recipe.decay, .keep_readout = recipe.keep_readout}));
  made.plans = std::move(parametrisation.parameters);
  made.foldings = model::FoldMultipliers(narrow.graph, parametrisation.multipliers);
  for (const model::Folding& folding : made.foldings)
    made.folding_modules.push_back(narrow.graph.nodes[model::Index(folding.node)].label);
  made.graph = model::Multiplied(narrow.graph, parametrisation.multipliers);
  made.fingerprint = FingerprintOf(made.graph);
  SLUICE_TRY(CheckFits(made.graph));
  SLUICE_TRY(CheckTrainedTypes(made.graph));
  std::optional<model::Archive> archive;
  if (!model::IsOfZoo(recipe.network)) {
    SLUICE_ASSIGN(archive, model::Archive::Open(recipe.network));
  }
  const InitialValues values(made, archive, recipe.init_from_archive);
  for (std::size_t p = 0; p < made.graph.parameters.size(); ++p) {
    SLUICE_ASSIGN(made.stored.emplace_back(), values.Stored(p));
  }
  return {};
}

}  // namespace

Result<TrainedNetwork> OpenTrainedNetwork(const recipe::TrialRecipe& recipe) {
  SLUICE_TRY(CheckInit(recipe));
  SLUICE_ASSIGN(const model::Network network, model::OpenNetwork(recipe.network));
  TrainedNetwork made;
  made.name = recipe.network;
  made.scale = recipe.scale;
  if (const Status status = Complete(recipe, network, made); !status) {
    const Error& error = status.error();
    if (error.message.starts_with(recipe.network)) return std::unexpected(error);
    return Fail(error.code, fmt::format("{}: {}", recipe.network, error.message));
  }
  return made;
}

at::ScalarType RealOf(recipe::Precision precision) {
  return precision == recipe::Precision::kFloat64 ? at::kDouble : at::kFloat;
}

Result<at::Tensor> InitialTensor(const TrainedNetwork& network, std::size_t p,
                                 std::uint64_t trial_seed, at::ScalarType real) {
  const model::Parameter& parameter = network.graph.parameters[p];
  const at::ScalarType type = ScalarTypeOf(network.graph.value(parameter.value).dtype, real);
  try {
    if (const at::Tensor& stored = network.stored[p]; stored.defined())
      return stored.to(type, /*non_blocking=*/false, /*copy=*/parameter.trainable);
    Law law = network.plans[p].law;
    if (law.kind == Law::Kind::kUnknown) law.kind = Law::Kind::kConstant;  // it has no elements
    return DrawnByLaw(law, parameter.sizes, type, trial_seed, parameter.name);
  } catch (const c10::Error& error) {
    return OutOfMemory(fmt::format("{}: '{}': expected memory for {:.3f} GiB, found too little: {}",
                                   network.name, Shown(parameter.name),
                                   BytesOfTrial(network.graph, parameter) / 0x1p30,
                                   FirstLine(error.what_without_backtrace())));
  }
}

Result<std::vector<at::Tensor>> InitialTensors(const TrainedNetwork& network,
                                               std::uint64_t trial_seed, at::ScalarType real) {
  std::vector<at::Tensor> tensors(network.graph.parameters.size());
  for (std::size_t p = 0; p < tensors.size(); ++p) {
    if (network.graph.parameters[p].tied_to) continue;
    SLUICE_ASSIGN(tensors[p], InitialTensor(network, p, trial_seed, real));
  }
  return tensors;
}

}  // namespace sluice::train
