#include "train/measure/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/evaluate/evaluation.h"
#include "model/read/archive.h"
#include "train/default_type.h"
#include "train/draws.h"
#include "train/failure.h"
#include "train/program.h"
#include "train/state/tensor_types.h"

namespace sluice::train {
namespace {

using model::Comparison;

constexpr double kLeastMagnitude = 0.01;

Result<at::Tensor> ReadStored(const data::TensorFile& file, const data::StoredTensor& stored) {
  at::Tensor tensor = at::empty(stored.type.shape, ScalarTypeOf(stored.type.dtype));
  SLUICE_TRY(file.Read(stored, {static_cast<char*>(tensor.data_ptr()), tensor.nbytes()}));
  return tensor;
}

// The tensors "PREFIX0", "PREFIX1" and so on, in the order of their numbers. Some may be missing:
// outputs that are no tensors are not stored.
std::vector<const data::StoredTensor*> Numbered(const data::TensorFile& file,
                                                std::string_view prefix) {
  std::map<std::uint64_t, const data::StoredTensor*> found;
  for (const data::StoredTensor& stored : file.tensors()) {
    if (!stored.name.starts_with(prefix)) continue;
    const char* end = stored.name.data() + stored.name.size();
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(stored.name.data() + prefix.size(), end, number);
    if (error == std::errc() && rest == end) found.emplace(number, &stored);
  }
  std::vector<const data::StoredTensor*> ordered;
  for (const auto& [number, stored] : found) ordered.push_back(stored);
  return ordered;
}

std::string TypeText(const at::Tensor& tensor) {
  const auto type = StoredTypeOf(tensor.scalar_type());
  if (!type) return c10::toString(tensor.scalar_type());
  return data::Text({.dtype = *type, .shape = tensor.sizes().vec()});
}

bool ComputesInHalf(const model::Graph& graph) {
  const auto is_half = [](model::DType dtype) {
    return dtype == model::DType::kFloat16 || dtype == model::DType::kBfloat16;
  };
  return std::ranges::any_of(graph.values,
                             [&](const model::Value& value) { return is_half(value.dtype); }) ||
         std::ranges::any_of(graph.regions,
                             [](const model::Region& region) { return region.autocast_enabled; });
}

double LargestMagnitude(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item().toDouble();
}

// `fraction` is what may differ, of the largest magnitude.
ComparedOutput Compare(const std::string& name, const at::Tensor& ours, const at::Tensor& stored,
                       double fraction) {
  ComparedOutput compared{.name = name, .problem = {}};
  if (ours.sizes() != stored.sizes() || ours.scalar_type() != stored.scalar_type()) {
    compared.problem =
        fmt::format("{}: expected {}, found {}", name, TypeText(stored), TypeText(ours));
    return compared;
  }
  const at::Tensor mine = ours.to(at::kDouble);
  const at::Tensor its = stored.to(at::kDouble);
  const at::Tensor finite = its.isfinite();
  // NaN equals NaN, an infinity the same infinity.
  const at::Tensor same = (mine == its).logical_or(mine.isnan().logical_and(its.isnan()));
  if (!same.logical_or(finite.logical_and(mine.isfinite())).all().item().toBool()) {
    compared.difference = std::numeric_limits<double>::infinity();
    compared.problem = fmt::format("{}: other elements are infinite or not a number", name);
    return compared;
  }
  const at::Tensor zero = at::zeros({}, at::kDouble);
  compared.difference = LargestMagnitude(at::where(finite, mine - its, zero));
  if (stored.is_floating_point()) {
    const double magnitude = LargestMagnitude(at::where(finite, its, zero));
    compared.bound = fraction * std::max(magnitude, kLeastMagnitude);
  }
  if (compared.difference > compared.bound) {
    compared.problem = fmt::format("{}: differs by up to {:.3g}, and at most {:.3g} is rounding",
                                   name, compared.difference, compared.bound);
  }
  return compared;
}

// A network and the inputs that it is run on, one trial alone.
class ExamplesRun {
 public:
  ExamplesRun(std::span<const at::Tensor> parameters, std::vector<Value> inputs)
      : parameters_(parameters), inputs_(std::move(inputs)) {}

  // The outputs that are tensors.
  Result<std::vector<at::Tensor>> Outputs(const Program& program) const {
    std::vector<at::Tensor> held;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const bool stacks = program.stacked(i) && parameters_[i].defined();
      held.push_back(stacks ? parameters_[i].unsqueeze(0) : parameters_[i]);
    }
    const CounterDraws draws({CounterDraws::Trial{}});
    SLUICE_ASSIGN(
        const Outcome outcome,
        program.Run({.trials = 1, .parameters = held, .inputs = inputs_, .draws = &draws}));
    std::vector<at::Tensor> outputs;
    for (const Value& output : outcome.outputs) {
      if (!output.tensor.defined()) continue;
      outputs.push_back(output.stacked() ? OfTrial(output, 0) : output.tensor);
    }
    return outputs;
  }

 private:
  std::span<const at::Tensor> parameters_;
  std::vector<Value> inputs_;
};

// Compares the outputs with the stored ones of this prefix, and adds what it finds to `all`.
Result<Comparison> CompareAll(const std::vector<at::Tensor>& ours, const data::TensorFile& file,
                              std::string_view prefix, double fraction,
                              std::vector<ComparedOutput>& all) {
  const std::vector<const data::StoredTensor*> stored = Numbered(file, prefix);
  if (ours.size() != stored.size()) {
    return Comparison{.verdict = Comparison::Verdict::kDiffers,
                      .about = fmt::format("expected {} outputs, as the file has ({}N), found {}",
                                           stored.size(), prefix, ours.size())};
  }
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    SLUICE_ASSIGN(const at::Tensor its, ReadStored(file, *stored[i]));
    all.push_back(Compare(stored[i]->name, ours[i], its, fraction));
    if (!all.back().problem.empty()) problems.push_back(all.back().problem);
  }
  if (problems.empty()) return Comparison{.verdict = Comparison::Verdict::kEqual};
  return Comparison{.verdict = Comparison::Verdict::kDiffers, .about = Join(problems, "; ")};
}

Result<std::vector<Value>> ReadInputs(const model::Graph& graph, const data::TensorFile& file) {
  const std::vector<const data::StoredTensor*> stored = Numbered(file, "input.");
  if (stored.size() != graph.inputs.size()) {
    return InvalidArgument(
        fmt::format("the examples are of another network: expected {} inputs, found {}; export the "
                    "network again",
                    graph.inputs.size(), stored.size()));
  }
  std::vector<Value> inputs;
  for (const data::StoredTensor* each : stored) {
    SLUICE_ASSIGN(at::Tensor tensor, ReadStored(file, *each));
    inputs.push_back(Shared(std::move(tensor)));
  }
  return inputs;
}

Comparison UncheckedEvaluation(const data::TensorFile& file) {
  const auto why = file.metadata().find("eval_output");
  return {.about =
              fmt::format("the archive has no evaluation outputs{}",
                          why == file.metadata().end() ? "; export the network again"
                                                       : fmt::format(": {}", Shown(why->second)))};
}

Result<Comparison> CompareTraining(const model::Graph& graph, const ExamplesRun& run,
                                   const data::TensorFile& file, double fraction,
                                   std::vector<ComparedOutput>& all) {
  SLUICE_ASSIGN(const Program program, Program::Prepare(graph));
  if (program.draws()) {
    return Comparison{.about =
                          "the network draws random numbers in training, and the stored "
                          "outputs are of PyTorch's"};
  }
  SLUICE_ASSIGN(const std::vector<at::Tensor> outputs, run.Outputs(program));
  return CompareAll(outputs, file, "output.", fraction, all);
}

Result<Comparison> CompareEvaluation(const model::Graph& graph, const ExamplesRun& run,
                                     const data::TensorFile& file, double fraction,
                                     std::vector<ComparedOutput>& all) {
  if (Numbered(file, "eval_output.").empty()) return UncheckedEvaluation(file);
  const auto cannot = [](const Error& error) -> Result<Comparison> {
    // With more memory it might be evaluated.
    if (error.code == ErrorCode::kOutOfMemory) return std::unexpected(error);
    return Comparison{.verdict = Comparison::Verdict::kDiffers,
                      .about = fmt::format("the trainer cannot evaluate it: {}", error.message)};
  };
  const auto program = Program::Prepare(graph);
  if (!program) return cannot(program.error());
  const auto outputs = run.Outputs(*program);
  if (!outputs) return cannot(outputs.error());
  return CompareAll(*outputs, file, "eval_output.", fraction, all);
}

Result<at::Tensor> ReadParameter(const model::Archive& archive, const model::Parameter& parameter) {
  const model::DType dtype = archive.graph().value(parameter.value).dtype;
  at::Tensor tensor = at::empty(parameter.sizes, ScalarTypeOf(dtype, at::kFloat));
  SLUICE_ASSIGN(const std::string bytes,
                archive.ReadTensor(parameter, std::numeric_limits<std::size_t>::max()));
  if (bytes.size() != tensor.nbytes()) {
    return Corruption(fmt::format("'{}': expected {} bytes, found {}", Shown(parameter.name),
                                  tensor.nbytes(), bytes.size()));
  }
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

Result<ExamplesCheck> CheckArchive(const std::string& name) {
  SLUICE_ASSIGN(const model::Archive archive, model::Archive::Open(name));
  const std::string path = name + ".examples";
  const auto file = data::TensorFile::Open(path);
  if (!file && file.error().code == ErrorCode::kNotFound) {
    ExamplesCheck unchecked;
    unchecked.training.about = unchecked.evaluation.about =
        fmt::format("there is no file {}; sluice.export writes it beside the archive", path);
    return unchecked;
  }
  if (!file) return std::unexpected(file.error());
  std::vector<at::Tensor> parameters;
  for (const model::Parameter& each : archive.graph().parameters) {
    if (each.tied_to) {
      parameters.emplace_back();
      continue;
    }
    SLUICE_ASSIGN(at::Tensor tensor, ReadParameter(archive, each));
    parameters.push_back(std::move(tensor));
  }
  auto checked = CheckExamples(archive.graph(), parameters, *file);
  if (!checked)
    return Fail(checked.error().code, fmt::format("{}: {}", name, checked.error().message));
  return checked;
}

}  // namespace

Result<ExamplesCheck> CheckExamples(const std::string& archive) {
  return Guarded(fmt::format("{}: PyTorch refuses", archive),
                 [&] { return CheckArchive(archive); });
}

Result<ExamplesCheck> CheckExamples(const model::Graph& training,
                                    std::span<const at::Tensor> parameters,
                                    const data::TensorFile& examples) {
  const at::NoGradGuard no_gradients;
  const DefaultType default_type(at::kFloat);
  SLUICE_ASSIGN(std::vector<Value> inputs, ReadInputs(training, examples));
  SLUICE_ASSIGN(model::Evaluation evaluation, model::MakeEvaluation(training));
  const ExamplesRun run(parameters, std::move(inputs));
  const double fraction = ComputesInHalf(training) ? kExamplesBoundOfHalf : kExamplesBound;
  ExamplesCheck check;
  SLUICE_ASSIGN(check.training, CompareTraining(training, run, examples, fraction, check.outputs));
  SLUICE_ASSIGN(check.evaluation,
                CompareEvaluation(evaluation.graph, run, examples, fraction, check.outputs));
  check.notes = std::move(evaluation.notes);
  return check;
}

}  // namespace sluice::train
