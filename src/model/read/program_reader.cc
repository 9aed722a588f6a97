#include "model/read/program_reader.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/json_reader.h"
#include "base/text.h"
#include "model/analyse/size_formula.h"
#include "model/read/argument_reader.h"
#include "model/read/bare_numbers.h"
#include "model/read/checked_json.h"
#include "model/read/graph_reader.h"
#include "model/read/tensor_list.h"
#include "model/read/value_names.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kSchemaMajor = 8;

class ProgramReader {
 public:
  Result<Graph> Read(const JsonValue& program, const JsonValue& weights,
                     const JsonValue* constants) {
    ReadHeader(program);
    if (!checked_.ok()) return checked_.Failure();
    ReadTensorList(checked_, weights, "the list of weights", "weights/", stored_);
    if (constants != nullptr)
      ReadTensorList(checked_, *constants, "the list of constants", "constants/", stored_);
    checked_.Look("program");
    const auto module = checked_.Member(program, "graph_module");
    if (!module) return checked_.Failure();
    const auto graph = checked_.Member(*module, "graph");
    const auto signature = checked_.Member(*module, "signature");
    if (!graph || !signature) return checked_.Failure();

    const TensorMetas metas = ReadTensorMetas(checked_, *graph);
    ReadInputs(*signature, *graph, metas);
    reader_.ReadNodes(*graph, metas, names_);
    checked_.Look("outputs");
    for (const JsonValue& output : checked_.ListOf(*graph, "outputs")) {
      for (const std::optional<ValueId> value : ReadResult(checked_, output, names_))
        if (value) graph_.outputs.push_back(*value);
    }
    ReadRanges(program);
    if (!checked_.ok()) return checked_.Failure();
    FindTied();
    return std::move(graph_);
  }

 private:
  void ReadHeader(const JsonValue& program) {
    checked_.Look("program");
    const auto version = checked_.Member(program, "schema_version");
    if (!version) return;
    const std::int64_t major = checked_.IntegerOf(*version, "major");
    const std::int64_t minor = checked_.IntegerOf(*version, "minor");
    if (major != kSchemaMajor) {
      checked_.Unsupported(
          fmt::format("expected version {} of the format, found {}.{}: export it with PyTorch 2.11 "
                      "to 2.13",
                      kSchemaMajor, major, minor));
    }
    if (const auto made_by = program.Find("torch_version").and_then(&JsonValue::Text))
      graph_.made_by = fmt::format("torch {}", *made_by);
    bool is_training = false;
    if (const auto verifiers = program.Find("verifiers").and_then(&JsonValue::List))
      for (const JsonValue& verifier : *verifiers) is_training |= verifier.Text() == "TRAINING";
    if (!is_training) {
      checked_.Unsupported(
          "expected a program in the training dialect, found one that was decomposed: leave out "
          "run_decompositions()");
    }
  }

  void ReadInputs(const JsonValue& signature, const JsonValue& graph, const TensorMetas& metas) {
    const std::vector<JsonValue> specs = checked_.ListOf(signature, "input_specs");
    const std::size_t inputs = checked_.ListOf(graph, "inputs").size();
    if (specs.size() != inputs) {
      checked_.Fail(fmt::format("expected as many inputs as the signature has, {}, found {}",
                                specs.size(), inputs));
    }
    for (std::size_t i = 0; i < specs.size() && checked_.ok(); ++i) {
      checked_.Look(fmt::format("input {}", i));
      ReadInput(specs[i], metas);
    }
  }

  void ReadInput(const JsonValue& spec, const TensorMetas& metas) {
    const auto part = checked_.Union(spec, "input_specs");
    if (!part) return;
    const auto& [kind, about] = *part;
    if (kind == "constant_input" || kind == "token") return;
    const auto argument = checked_.Member(about, "arg");
    if (!argument) return;
    if (kind == "user_input") {
      ReadUserInput(*argument, metas);
    } else if (kind == "parameter") {
      AddParameter({.name = checked_.TextOf(about, "parameter_name")}, *argument, metas);
    } else if (kind == "buffer") {
      AddParameter({.name = checked_.TextOf(about, "buffer_name"),
                    .role = Parameter::Role::kBuffer,
                    .persistent = checked_.BooleanOf(about, "persistent")},
                   *argument, metas);
    } else if (kind == "tensor_constant") {
      AddParameter({.name = checked_.TextOf(about, "tensor_constant_name"),
                    .role = Parameter::Role::kConstant,
                    .persistent = false},
                   *argument, metas);
    } else {
      checked_.Unsupported(
          fmt::format("expected tensors, found an input of the kind '{}'", Shown(kind)));
    }
  }

  void ReadUserInput(const JsonValue& argument, const TensorMetas& metas) {
    const auto part = checked_.Union(argument, "user_input");
    if (!part) return;
    if (IsSymbolic(part->first)) {
      checked_.Unsupported("expected tensors as inputs, found a number that varies");
      return;
    }
    if (part->first != "as_tensor") return;  // a number or none is part of the program
    const std::string name = checked_.TextOf(part->second, "name");
    if (!checked_.ok()) return;
    const ValueId id = reader_.AddTensor(name, metas, names_);
    if (!checked_.ok()) return;
    graph_.inputs.push_back(id);
    for (const Size& size : graph_.value(id).sizes)
      if (!size.symbol.empty()) AddSymbol(name, size);
  }

  void AddSymbol(const std::string& input, const Size& size) {
    if (!IsSymbolName(size.symbol)) {
      checked_.Unsupported(fmt::format("'{}': expected a number or a symbol as its size, found {}",
                                       Shown(input), Shown(size.symbol)));
      return;
    }
    if (size.number < 0) {
      checked_.Fail(fmt::format("'{}': expected what {} was in the example, found nothing",
                                Shown(input), Shown(size.symbol)));
      return;
    }
    const auto [known, is_new] = symbols_.try_emplace(size.symbol, graph_.symbols.size());
    if (is_new) {
      graph_.symbols.push_back({.name = size.symbol, .example = size.number});
    } else if (const Symbol& symbol = graph_.symbols[known->second];
               symbol.example != size.number) {
      checked_.Fail(fmt::format("'{}': expected {} to be {} as before, found {}", Shown(input),
                                Shown(symbol.name), symbol.example, size.number));
    }
  }

  // Adds a parameter. Its sizes, its storage, and whether it is trainable are filled in from the
  // program and the lists of tensors.
  void AddParameter(Parameter parameter, const JsonValue& argument, const TensorMetas& metas) {
    const std::string inside = checked_.TextOf(argument, "name");
    if (!checked_.ok()) return;
    parameter.value = reader_.AddTensor(inside, metas, names_);
    if (!parameter_names_.insert(parameter.name).second)
      checked_.Fail(fmt::format("'{}' is there twice", Shown(parameter.name)));
    const auto found = stored_.find(parameter.name);
    if (found == stored_.end())
      checked_.Fail(fmt::format("'{}' is in none of the lists of tensors", Shown(parameter.name)));
    if (!checked_.ok()) return;
    const StoredTensor& stored = found->second;
    const Value& value = graph_.value(parameter.value);
    for (const Size& size : value.sizes)
      parameter.sizes.push_back(size.symbol.empty() ? size.number : -1);
    if (parameter.sizes != stored.sizes || value.dtype != stored.dtype) {
      checked_.Fail(fmt::format("'{}': the program has {} [{}], the list of tensors {} [{}]",
                                Shown(parameter.name), Name(value.dtype),
                                fmt::join(parameter.sizes, ", "), Name(stored.dtype),
                                fmt::join(stored.sizes, ", ")));
      return;
    }
    parameter.trainable = stored.trainable;
    parameter.storage = stored.storage;
    graph_.parameters.push_back(std::move(parameter));
  }

  // Finds parameters that are the same tensor. Each name of such a tensor is an input of the graph.
  // Nodes use the last name.
  void FindTied() {
    using Whole = std::tuple<std::string_view, std::int64_t, std::vector<std::int64_t>,
                             std::vector<std::int64_t>, DType>;
    std::map<Whole, std::uint32_t> first;
    for (std::uint32_t i = 0; i < graph_.parameters.size(); ++i) {
      Parameter& parameter = graph_.parameters[i];
      const Storage& storage = parameter.storage;
      const auto [known, is_new] =
          first.try_emplace({storage.member, storage.offset, storage.strides, parameter.sizes,
                             graph_.value(parameter.value).dtype},
                            i);
      if (!is_new) parameter.tied_to = known->second;
    }
  }

  void ReadRanges(const JsonValue& program) {
    checked_.Look("range_constraints");
    for (const auto& [name, range] : checked_.MembersOf(program, "range_constraints")) {
      const auto found = symbols_.find(name);
      if (found == symbols_.end()) continue;
      Symbol& symbol = graph_.symbols[found->second];
      symbol.least = range.Find("min_val").and_then(&JsonValue::Integer).value_or(symbol.least);
      symbol.most = range.Find("max_val").and_then(&JsonValue::Integer).value_or(symbol.most);
      if (symbol.example < symbol.least || symbol.example > symbol.most) {
        checked_.Fail(fmt::format("{}: expected {} to {}, found {} in the example", Shown(name),
                                  symbol.least, symbol.most, symbol.example));
      }
    }
  }

  CheckedJson checked_;
  Graph graph_;
  GraphReader reader_{checked_, graph_};
  ValueNames names_{graph_};
  StoredTensors stored_;
  std::set<std::string> parameter_names_;
  std::map<std::string, std::size_t, std::less<>> symbols_;  // into Graph::symbols
};

Result<JsonDocument> ParseObject(std::string_view text, std::string_view what) {
  constexpr int kMaxDepth = 200;
  auto document = JsonDocument::Read(text, {.depth = kMaxDepth});
  if (!document) document = JsonDocument::Read(WithQuotedNumbers(text), {.depth = kMaxDepth});
  if (document) return *std::move(document);
  return Corruption(
      fmt::format("{}: expected one JSON object, nested at most {} deep, found something else",
                  what, kMaxDepth));
}

}  // namespace

Result<Graph> ReadProgram(std::string_view program, std::string_view weights,
                          std::string_view constants) {
  SLUICE_ASSIGN(const JsonDocument parsed, ParseObject(program, "the program"));
  SLUICE_ASSIGN(const JsonDocument parsed_weights, ParseObject(weights, "the list of weights"));
  if (constants.empty())
    return ProgramReader().Read(parsed.object(), parsed_weights.object(), nullptr);
  SLUICE_ASSIGN(const JsonDocument parsed_constants,
                ParseObject(constants, "the list of constants"));
  const JsonValue constants_object = parsed_constants.object();
  return ProgramReader().Read(parsed.object(), parsed_weights.object(), &constants_object);
}

}  // namespace sluice::model
