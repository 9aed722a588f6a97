#include "train/state/trial_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/digest.h"
#include "base/files/byte_source.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "data/tensors/tensor_file.h"
#include "data/tensors/whole_file.h"
#include "train/failure.h"
#include "train/state/tensor_types.h"

namespace sluice::train {
namespace {

using model::Parameter;
using recipe::TrialJson;

constexpr std::string_view kAbout = "/trial.json";
constexpr std::string_view kModel = "/model.safetensors";
constexpr std::string_view kOptimizer = "/optimizer.safetensors";
constexpr std::array<std::string_view, 2> kMoments = {"moment1.", "moment2."};
constexpr std::uint64_t kMostAboutBytes = std::uint64_t{64} << 20;

bool IsInStateDict(const Parameter& parameter) {
  return parameter.role != Parameter::Role::kConstant && parameter.persistent;
}

// A complex tensor is stored as pairs of real numbers.
at::Tensor AsStored(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().cpu();
  return (plain.is_complex() ? at::view_as_real(plain.resolve_conj()) : plain).contiguous();
}

std::span<const char> BytesOf(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

bool Has(const std::vector<at::Tensor>& tensors, std::size_t p) {
  return p < tensors.size() && tensors[p].defined();
}

// A digest of the tensors in one file that a trial has of its own, in the order of the parameters.
class DigestOfTensors {
 public:
  void Add(std::string_view name, const at::Tensor& stored) {
    const std::span<const char> bytes = BytesOf(stored);
    digest_.Add(name).Add(std::string_view(bytes.data(), bytes.size()));
  }
  std::string Hex() const { return ToHex(digest_.Value()); }

 private:
  Digest digest_;
};

// Tensors to be written to one file. Each is made contiguous when it is written, one at a time.
class TensorsToWrite {
 public:
  void Add(std::string name, at::Tensor tensor, bool is_own = true) {
    tensors_.push_back({std::move(name), std::move(tensor), is_own});
  }
  // Returns the digest of those tensors that the trial has of its own.
  Result<std::string> Write(const std::string& path) {
    std::vector<data::TensorFileWriter::Declared> declared;
    for (const auto& [name, tensor, is_own] : tensors_) {
      const auto type = StoredTypeOf(c10::toRealValueType(tensor.scalar_type()));
      if (!type) {
        return InvalidArgument(
            fmt::format("{}: '{}' has elements of a type that cannot be saved", path, Shown(name)));
      }
      std::vector<std::int64_t> sizes = tensor.sizes().vec();
      if (tensor.is_complex()) sizes.push_back(2);
      declared.push_back({.name = name, .type = {.dtype = *type, .shape = std::move(sizes)}});
    }
    SLUICE_ASSIGN(auto writer,
                  data::TensorFileWriter::Create(path, std::move(declared), {{"format", "pt"}}));
    DigestOfTensors digest;
    for (const auto& [name, tensor, is_own] : tensors_) {
      const at::Tensor stored = AsStored(tensor);
      if (is_own) digest.Add(name, stored);
      SLUICE_TRY(writer.Write(name, BytesOf(stored)));
    }
    SLUICE_TRY(writer.Commit());
    return digest.Hex();
  }

 private:
  struct OneTensor {
    std::string name;
    at::Tensor tensor;
    bool is_own = true;
  };
  std::vector<OneTensor> tensors_;
};

// What a checkpoint says of its network.
TrialJson AboutNetwork(const TrainedNetwork& network) {
  TrialJson about;
  about.network = network.name;
  about.scale = network.scale;
  about.fingerprint = network.fingerprint;
  for (const model::Parameter& parameter : network.graph.parameters) {
    if (parameter.tied_to) {
      about.tied.emplace_back(parameter.name, network.graph.parameters[*parameter.tied_to].name);
      continue;
    }
    if (parameter.role == model::Parameter::Role::kConstant || !parameter.persistent)
      about.not_in_state_dict.push_back(parameter.name);
    const model::DType dtype = network.graph.value(parameter.value).dtype;
    if (dtype == model::DType::kComplex32 || dtype == model::DType::kComplex64 ||
        dtype == model::DType::kComplex128)
      about.complex.push_back(parameter.name);
  }
  for (std::size_t i = 0; i < network.foldings.size(); ++i) {
    const model::Folding& folding = network.foldings[i];
    TrialJson::Multiplied& made =
        about.multipliers.emplace_back(TrialJson::Multiplied{.module = network.folding_modules[i],
                                                             .why = folding.why,
                                                             .factor = folding.factor,
                                                             .into = {},
                                                             .why_not = folding.why_not});
    for (const std::size_t p : folding.parameters)
      made.into.push_back(network.graph.parameters[p].name);
  }
  return about;
}

Status WriteText(const std::string& path, std::string_view text) {
  SLUICE_ASSIGN(data::WholeFile file, data::WholeFile::Create(path));
  SLUICE_TRY(file.Append(text));
  return file.Commit();
}

Result<std::string> ReadText(const std::string& path) {
  SLUICE_ASSIGN(const std::unique_ptr<ByteSource> source, OpenFile(path));
  if (source->size() > kMostAboutBytes) {
    return Corruption(fmt::format("{}: expected a file of at most {} bytes, found {}", path,
                                  kMostAboutBytes, source->size()));
  }
  std::string text(source->size(), '\0');
  if (const Status read = source->Read(0, text); !read)
    return Fail(read.error().code, fmt::format("{}: {}", path, read.error().message));
  return text;
}

// Reads the tensors of a checkpoint's files for a network.
class CheckpointReader {
 public:
  CheckpointReader(const std::string& folder, const TrainedNetwork& network, at::ScalarType real)
      : folder_(folder), network_(network), real_(real) {}

  Result<LoadedTrial> Read() {
    SLUICE_ASSIGN(const std::string text, ReadText(Path(kAbout)));
    auto about = recipe::ReadTrialJson(text);
    if (!about) return Failed(kAbout, about.error());
    if (const Status same = CheckNetwork(*about); !same) return Failed(kAbout, same.error());
    SLUICE_ASSIGN(const data::TensorFile model, data::TensorFile::Open(Path(kModel)));
    SLUICE_ASSIGN(const data::TensorFile optimizer, data::TensorFile::Open(Path(kOptimizer)));
    LoadedTrial loaded;
    loaded.notes = about->notes;
    TrialState& state = loaded.state;
    state.step = about->step;
    const std::size_t count = network_.graph.parameters.size();
    state.parameters.resize(count);
    state.moment1.resize(count);
    state.moment2.resize(count);
    const std::set<std::string, std::less<>> own(about->own.begin(), about->own.end());
    std::size_t found = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const Parameter& parameter = network_.graph.parameters[p];
      if (parameter.tied_to) continue;
      if (!own.contains(parameter.name)) {
        if (!parameter.trainable) continue;
        return Failed(kAbout, {ErrorCode::kCorruption,
                               fmt::format("expected the trained parameter '{}' among `own`, found "
                                           "none",
                                           Shown(parameter.name))});
      }
      ++found;
      SLUICE_ASSIGN(state.parameters[p],
                    ReadTensor(model, kModel, parameter.name, p, model_digest_));
      for (std::size_t m = 0; m < kMoments.size(); ++m) {
        const std::string name = std::string(kMoments[m]) + parameter.name;
        if (optimizer.Find(name) == nullptr) continue;
        auto& moments = m == 0 ? state.moment1 : state.moment2;
        SLUICE_ASSIGN(moments[p], ReadTensor(optimizer, kOptimizer, name, p, optimizer_digest_));
      }
    }
    if (found != own.size() || model_digest_.Hex() != about->model_digest) return Damaged(kModel);
    if (optimizer_digest_.Hex() != about->optimizer_digest) return Damaged(kOptimizer);
    return loaded;
  }

 private:
  std::string Path(std::string_view file) const { return folder_ + std::string(file); }
  std::unexpected<Error> Failed(std::string_view file, const Error& error) const {
    return Fail(error.code, fmt::format("{}: {}", Path(file), error.message));
  }

  std::unexpected<Error> Damaged(std::string_view file) const {
    return Failed(file, {ErrorCode::kCorruption,
                         fmt::format("its tensors are not those that were written with {}: restore "
                                     "the whole folder from a good copy, or train the trial again",
                                     kAbout.substr(1))});
  }

  Status CheckNetwork(const TrialJson& about) const {
    if (about.fingerprint == network_.fingerprint) return {};
    const bool looks_same = about.network == network_.name && about.scale == network_.scale;
    return InvalidArgument(fmt::format(
        "expected a checkpoint of {} at scale {}, found one of {} at scale {}{}", network_.name,
        network_.scale, Shown(about.network), about.scale,
        looks_same ? ", whose parameters or operators were others: it goes on with the network "
                     "that it was trained with"
                   : ""));
  }

  Result<at::Tensor> ReadTensor(const data::TensorFile& file, std::string_view where,
                                const std::string& name, std::size_t p, DigestOfTensors& digest) {
    const Parameter& parameter = network_.graph.parameters[p];
    const at::ScalarType type = ScalarTypeOf(network_.graph.value(parameter.value).dtype, real_);
    std::vector<std::int64_t> sizes = parameter.sizes;
    if (c10::isComplexType(type)) sizes.push_back(2);
    const data::StoredTensor* found = file.Find(name);
    if (found == nullptr)
      return Failed(where, {ErrorCode::kCorruption,
                            fmt::format("expected a tensor '{}', found none", Shown(name))});
    const at::ScalarType stored_type = ScalarTypeOf(found->type.dtype);
    const at::ScalarType wanted = c10::toRealValueType(type);
    const bool fits =
        stored_type == wanted || (at::isFloatingType(stored_type) && at::isFloatingType(wanted));
    if (found->type.shape != sizes || !fits) {
      const data::TensorType expected{.dtype = StoredTypeOf(wanted).value_or(found->type.dtype),
                                      .shape = std::move(sizes)};
      return Failed(where, {ErrorCode::kCorruption,
                            fmt::format("'{}': expected {}, found {}", Shown(name),
                                        data::Text(expected), data::Text(found->type))});
    }
    try {
      const at::Tensor stored = at::empty(sizes, stored_type);
      SLUICE_TRY(file.Read(*found, {static_cast<char*>(stored.data_ptr()), stored.nbytes()}));
      digest.Add(name, stored);
      const at::Tensor real = stored.to(wanted);
      return c10::isComplexType(type) ? at::view_as_complex(real) : real;
    } catch (const c10::Error& error) {
      return Failed(where, FailureOf(error, fmt::format("'{}'", Shown(name))).error());
    }
  }

  const std::string& folder_;
  const TrainedNetwork& network_;
  const at::ScalarType real_;
  DigestOfTensors model_digest_;
  DigestOfTensors optimizer_digest_;
};

}  // namespace

Status SaveTrial(const std::string& folder, const TrainedNetwork& network, const TrialState& state,
                 const CheckpointNotes& notes) {
  TensorsToWrite model;
  TensorsToWrite optimizer;
  TrialJson about = AboutNetwork(network);
  about.step = state.step;
  about.notes = notes;
  for (std::size_t p = 0; p < network.graph.parameters.size(); ++p) {
    const Parameter& parameter = network.graph.parameters[p];
    if (parameter.tied_to) continue;
    const bool is_own = Has(state.parameters, p);
    SLUICE_CHECK(is_own || !parameter.trainable, "a trial has its own trained parameters");
    if (is_own) {
      SLUICE_CHECK(state.parameters[p].sizes() == at::IntArrayRef(parameter.sizes),
                   "a trial's tensors have the sizes of its network");
      model.Add(parameter.name, state.parameters[p]);
      about.own.push_back(parameter.name);
    } else if (IsInStateDict(parameter)) {
      SLUICE_ASSIGN(at::Tensor tensor,
                    InitialTensor(network, p, /*trial_seed=*/0, RealOf(notes.precision)));
      model.Add(parameter.name, std::move(tensor), /*is_own=*/false);
    }
    if (Has(state.moment1, p))
      optimizer.Add(std::string(kMoments[0]) + parameter.name, state.moment1[p]);
    if (Has(state.moment2, p))
      optimizer.Add(std::string(kMoments[1]) + parameter.name, state.moment2[p]);
  }
  SLUICE_ASSIGN(about.model_digest, model.Write(folder + std::string(kModel)));
  SLUICE_ASSIGN(about.optimizer_digest, optimizer.Write(folder + std::string(kOptimizer)));
  return WriteText(folder + std::string(kAbout), recipe::ToJson(about));
}

Result<LoadedTrial> LoadTrial(const std::string& folder, const TrainedNetwork& network,
                              at::ScalarType real) {
  return CheckpointReader(folder, network, real).Read();
}

}  // namespace sluice::train
