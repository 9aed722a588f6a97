#include "model/program_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/config.h"
#include "base/json_reader.h"
#include "model/size_formula.h"

namespace sluice::model {
namespace {

using Kind = JsonValue::Kind;
using Names = std::map<std::string, ValueId, std::less<>>;

constexpr std::int64_t kSchemaMajor = 8;
constexpr int kMaxRegionDepth = 16;

std::string_view KindName(const JsonValue& value) {
  switch (value.kind()) {
    case Kind::kNull: return "null";
    case Kind::kBoolean: return "a boolean";
    case Kind::kInteger:
    case Kind::kUnsigned: return "an integer";
    case Kind::kReal: return "a number";
    case Kind::kText: return "a text";
    case Kind::kList: return "a list";
    case Kind::kObject: return "an object";
  }
  return "";
}

// Reads with one eye on what is wrong: the first thing is remembered, with where it is, and what is read from then on
// is of no use.
class JsonEye {
 public:
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  // What is being read, for messages.
  void Look(std::string where) { where_ = std::move(where); }
  const std::string& where() const { return where_; }
  void Wrong(std::string_view message) {
    if (ok()) error_ = fmt::format("{}: {}", where_, message);
  }

  std::optional<JsonValue> Member(const JsonValue& object, std::string_view name) {
    auto found = object.Find(name);
    if (!found) Wrong(fmt::format("expected a member '{}', found none", name));
    return found;
  }
  std::int64_t Integer(const JsonValue& value, std::string_view what) {
    return Or(value, value.Integer(), what, "an integer");
  }
  std::int64_t IntegerOf(const JsonValue& object, std::string_view name) {
    const auto found = Member(object, name);
    return found ? Integer(*found, name) : 0;
  }
  bool BooleanOf(const JsonValue& object, std::string_view name) {
    const auto found = Member(object, name);
    return found && Or(*found, found->Boolean(), name, "true or false");
  }
  std::string Text(const JsonValue& value, std::string_view what) {
    return std::string(Or(value, value.Text(), what, "a text"));
  }
  std::string TextOf(const JsonValue& object, std::string_view name) {
    const auto found = Member(object, name);
    return found ? Text(*found, name) : "";
  }
  std::vector<JsonValue> List(const JsonValue& value, std::string_view what) {
    return Or(value, value.List(), what, "a list");
  }
  std::vector<JsonValue> ListOf(const JsonValue& object, std::string_view name) {
    const auto found = Member(object, name);
    return found ? List(*found, name) : std::vector<JsonValue>();
  }
  std::vector<JsonValue::Member> MembersOf(const JsonValue& object, std::string_view name) {
    const auto found = Member(object, name);
    return found ? Or(*found, found->Members(), name, "an object")
                 : std::vector<JsonValue::Member>();
  }
  // An object with one member, whose name tells what its value is.
  std::optional<JsonValue::Member> Union(const JsonValue& value, std::string_view what) {
    auto members = value.Members();
    if (members && members->size() == 1) return members->front();
    Wrong(fmt::format("{}: expected an object with one member, found {}", what,
                      members ? fmt::format("{} members", members->size()) : KindName(value)));
    return std::nullopt;
  }

 private:
  template <typename T>
  T Or(const JsonValue& value, std::optional<T> read, std::string_view what,
       std::string_view expected) {
    if (read) return *std::move(read);
    Wrong(fmt::format("{}: expected {}, found {}", what, expected, KindName(value)));
    return T();
  }

  std::string where_;
  std::string error_;
};

std::string_view Without(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

// The innermost module of a stack "KEY,PATH,TYPE;KEY,PATH,TYPE".
std::string ModulePath(std::string_view stack) {
  const std::size_t last = stack.rfind(';');
  if (last != std::string_view::npos) stack.remove_prefix(last + 1);
  const std::size_t begin = stack.find(',');
  if (begin == std::string_view::npos) return "";
  stack.remove_prefix(begin + 1);
  return std::string(stack.substr(0, stack.find(',')));
}

class ProgramReader {
 public:
  Result<Graph> Read(const JsonValue& program, const JsonValue& weights,
                     const JsonValue* constants) {
    ReadHeader(program);
    if (!eye_.ok()) return Failure();
    const auto module = eye_.Member(program, "graph_module");
    if (!module) return Failure();
    const auto graph = eye_.Member(*module, "graph");
    const auto signature = eye_.Member(*module, "signature");
    if (!graph || !signature) return Failure();
    ReadPayloads(weights, "the list of weights", "weights/");
    if (constants != nullptr) ReadPayloads(*constants, "the list of constants", "constants/");

    Names names;
    const std::vector<JsonValue> specs = eye_.ListOf(*signature, "input_specs");
    const std::vector<JsonValue> inputs = eye_.ListOf(*graph, "inputs");
    if (eye_.ok() && specs.size() != inputs.size()) {
      eye_.Wrong(fmt::format("expected as many inputs as the signature has, {}, found {}",
                             specs.size(), inputs.size()));
    }
    Meanings meanings;
    ReadMeanings(*graph, meanings);
    for (std::size_t i = 0; i < specs.size() && eye_.ok(); ++i) {
      eye_.Look(fmt::format("input {}", i));
      ReadInput(specs[i], meanings, names);
    }
    ReadNodes(*graph, meanings, names, 0);
    eye_.Look("outputs");
    for (const JsonValue& output : eye_.ListOf(*graph, "outputs")) {
      for (const std::optional<ValueId> value : ReadOutput(output, names)) {
        if (value) graph_.outputs.push_back(*value);
      }
    }
    ReadRanges(program);
    FindTied();
    if (!eye_.ok()) return Failure();
    return std::move(graph_);
  }

 private:
  // Sizes and types, by the names of one graph.
  struct Meanings {
    std::map<std::string, JsonValue, std::less<>> tensors;
    std::map<std::string, JsonValue, std::less<>> integers;
  };
  struct Payload {
    std::vector<std::int64_t> sizes;
    DType dtype = DType::kFloat32;
    bool trainable = false;
    Storage storage;
  };

  std::unexpected<Error> Failure() { return Corruption(eye_.error()); }

  void ReadHeader(const JsonValue& program) {
    eye_.Look("program");
    const auto version = eye_.Member(program, "schema_version");
    if (!version) return;
    const std::int64_t major = eye_.IntegerOf(*version, "major");
    const std::int64_t minor = eye_.IntegerOf(*version, "minor");
    if (eye_.ok() && major != kSchemaMajor) {
      eye_.Wrong(
          fmt::format("expected version {} of the format, found {}.{}: export it with PyTorch 2.11 "
                      "to 2.13",
                      kSchemaMajor, major, minor));
    }
    if (const auto made_by = program.Find("torch_version").and_then(&JsonValue::Text))
      graph_.made_by = fmt::format("torch {}", *made_by);
    bool is_training = false;
    if (const auto verifiers = program.Find("verifiers").and_then(&JsonValue::List))
      for (const JsonValue& verifier : *verifiers) is_training |= verifier.Text() == "TRAINING";
    if (eye_.ok() && !is_training) {
      eye_.Wrong(
          "expected a program in the training dialect, found one that was decomposed: leave out "
          "run_decompositions()");
    }
  }

  // ---- sizes

  std::vector<std::int64_t> ReadNumbers(const JsonValue& object, std::string_view name) {
    std::vector<std::int64_t> numbers;
    const std::vector<JsonValue> list = eye_.ListOf(object, name);
    if (list.size() > kMaxRank)
      eye_.Wrong(
          fmt::format("{}: expected at most {} dimensions, found {}", name, kMaxRank, list.size()));
    for (const JsonValue& each : list) {
      if (!eye_.ok()) break;
      const std::int64_t number = eye_.IntegerOf(each, "as_int");
      if (number < 0 || number > kMaxSize)
        eye_.Wrong(
            fmt::format("{}: expected sizes from 0 to {}, found {}", name, kMaxSize, number));
      numbers.push_back(number);
    }
    return numbers;
  }

  Size ReadSize(const JsonValue& json) {
    const auto part = eye_.Union(json, "size");
    if (!part) return {};
    Size size;
    if (part->first == "as_int") {
      size.number = eye_.Integer(part->second, "as_int");
    } else {
      const std::string formula = eye_.TextOf(part->second, "expr_str");
      size.symbol = ReadableFormula(formula);
      const auto hint = part->second.Find("hint");
      const auto number = hint ? hint->Find("as_int").and_then(&JsonValue::Integer) : std::nullopt;
      size.number = number.value_or(-1);
      if (!number) return size;
    }
    if (size.number < 0 || size.number > kMaxSize)
      eye_.Wrong(fmt::format("expected sizes from 0 to {}, found {}", kMaxSize, size.number));
    return size;
  }

  DType ReadDType(const JsonValue& json, std::string_view what) {
    const std::int64_t code = eye_.Integer(json, what);
    const auto dtype = DTypeOfCode(code);
    if (eye_.ok() && !dtype) eye_.Wrong(fmt::format("{}: {} is a type we do not know", what, code));
    return dtype.value_or(DType::kFloat32);
  }

  void ReadMeanings(const JsonValue& graph, Meanings& meanings) {
    for (const auto& [name, value] : eye_.MembersOf(graph, "tensor_values"))
      meanings.tensors.emplace(name, value);
    for (const auto& [name, value] : eye_.MembersOf(graph, "sym_int_values"))
      meanings.integers.emplace(name, value);
  }

  // ---- values

  ValueId Add(Value value) {
    if (graph_.values.size() >= 8 * kMaxNodes) eye_.Wrong("it has too many values");
    const std::string base = value.name;
    for (int i = 1; !taken_.insert({value.name, 0}).second; ++i)
      value.name = fmt::format("{}_{}", base, i);
    graph_.values.push_back(std::move(value));
    return ValueId(static_cast<std::uint32_t>(graph_.values.size() - 1));
  }

  ValueId AddTensor(const std::string& name, const Meanings& meanings, Names& names) {
    Value value{.name = name, .sizes = {}};
    const auto meaning = meanings.tensors.find(name);
    if (meaning == meanings.tensors.end()) {
      eye_.Wrong(fmt::format("'{}' has no entry in tensor_values", Shown(name)));
      return {};
    }
    if (const auto dtype = eye_.Member(meaning->second, "dtype"))
      value.dtype = ReadDType(*dtype, "dtype");
    for (const JsonValue& size : eye_.ListOf(meaning->second, "sizes"))
      value.sizes.push_back(ReadSize(size));
    if (value.sizes.size() > kMaxRank)
      eye_.Wrong(fmt::format("'{}': expected at most {} dimensions", Shown(name), kMaxRank));
    return Define(name, Add(std::move(value)), names);
  }

  ValueId Define(const std::string& name, ValueId id, Names& names) {
    if (!names.emplace(name, id).second) eye_.Wrong(fmt::format("'{}' is made twice", Shown(name)));
    return id;
  }

  std::optional<ValueId> Lookup(std::string_view name, const Names& names) {
    const auto found = names.find(name);
    if (found != names.end()) return found->second;
    eye_.Wrong(fmt::format("'{}' is used, but nothing before makes it", Shown(name)));
    return std::nullopt;
  }

  std::optional<ValueId> LookupNamed(const JsonValue& object, const Names& names) {
    const std::string name = eye_.TextOf(object, "name");
    return eye_.ok() ? Lookup(name, names) : std::nullopt;
  }

  // ---- inputs

  void ReadPayloads(const JsonValue& config, std::string_view what, std::string_view folder) {
    eye_.Look(std::string(what));
    for (const auto& [name, entry] : eye_.MembersOf(config, "config")) {
      eye_.Look(fmt::format("{}: '{}'", what, Shown(name)));
      if (entry.Find("use_pickle").and_then(&JsonValue::Boolean).value_or(false)) {
        eye_.Wrong("is a pickle, which may hold a program: only plain tensors are read");
        return;
      }
      const auto meta = eye_.Member(entry, "tensor_meta");
      if (!meta) return;
      Payload payload{.sizes = ReadNumbers(*meta, "sizes"), .storage = {}};
      if (const auto dtype = eye_.Member(*meta, "dtype"))
        payload.dtype = ReadDType(*dtype, "dtype");
      payload.trainable = eye_.BooleanOf(*meta, "requires_grad");
      payload.storage.strides = ReadNumbers(*meta, "strides");
      const std::string path = eye_.TextOf(entry, "path_name");
      payload.storage.member = fmt::format("{}{}", folder, path);
      if (const auto offset = eye_.Member(*meta, "storage_offset"))
        payload.storage.offset = eye_.IntegerOf(*offset, "as_int");
      if (!eye_.ok()) return;
      std::int64_t elements = 1;
      for (const std::int64_t size : payload.sizes) {
        if (size != 0 && elements > kMaxSize / size) {
          eye_.Wrong(fmt::format("expected at most {} elements", kMaxSize));
          return;
        }
        elements *= size;
      }
      if (payload.storage.strides.size() != payload.sizes.size() || payload.storage.offset < 0 ||
          payload.storage.offset > kMaxSize) {
        eye_.Wrong("expected a stride for each size, and an offset of at least 0");
        return;
      }
      payloads_.emplace(name, std::move(payload));
    }
  }

  void ReadInput(const JsonValue& spec, const Meanings& meanings, Names& names) {
    const auto part = eye_.Union(spec, "input_specs");
    if (!part) return;
    const auto& [kind, about] = *part;
    if (kind == "constant_input" || kind == "token") return;
    const auto argument = eye_.Member(about, "arg");
    if (!argument) return;
    if (kind == "user_input") {
      ReadUserInput(*argument, meanings, names);
    } else if (kind == "parameter") {
      AddParameter(Parameter::Role::kParameter, eye_.TextOf(about, "parameter_name"), *argument,
                   meanings, names);
    } else if (kind == "buffer") {
      AddParameter(Parameter::Role::kBuffer, eye_.TextOf(about, "buffer_name"), *argument, meanings,
                   names);
      if (eye_.ok()) graph_.parameters.back().persistent = eye_.BooleanOf(about, "persistent");
    } else if (kind == "tensor_constant") {
      AddParameter(Parameter::Role::kConstant, eye_.TextOf(about, "tensor_constant_name"),
                   *argument, meanings, names);
      if (eye_.ok()) graph_.parameters.back().persistent = false;
    } else {
      eye_.Wrong(fmt::format("expected tensors, found an input of the kind '{}'", Shown(kind)));
    }
  }

  void ReadUserInput(const JsonValue& argument, const Meanings& meanings, Names& names) {
    const auto part = eye_.Union(argument, "user_input");
    if (!part) return;
    // A number or nothing, which is part of the program since.
    if (part->first != "as_tensor" && part->first != "as_sym_int") return;
    if (part->first == "as_sym_int") {
      eye_.Wrong("expected tensors as inputs, found a number that varies");
      return;
    }
    const std::string name = eye_.TextOf(part->second, "name");
    if (!eye_.ok()) return;
    const ValueId id = AddTensor(name, meanings, names);
    if (!eye_.ok()) return;
    graph_.inputs.push_back(id);
    for (const Size& size : graph_.value(id).sizes) {
      if (size.symbol.empty()) continue;
      if (!IsSymbolName(size.symbol)) {
        eye_.Wrong(fmt::format("'{}': expected a number or a symbol as its size, found {}",
                               Shown(name), Shown(size.symbol)));
      }
      if (std::ranges::find(graph_.symbols, size.symbol, &Symbol::name) == graph_.symbols.end())
        graph_.symbols.push_back({.name = size.symbol, .example = size.number});
    }
  }

  void AddParameter(Parameter::Role role, const std::string& name, const JsonValue& argument,
                    const Meanings& meanings, Names& names) {
    const std::string inside = eye_.TextOf(argument, "name");
    if (!eye_.ok()) return;
    const ValueId id = AddTensor(inside, meanings, names);
    const auto payload = payloads_.find(name);
    if (eye_.ok() && payload == payloads_.end())
      eye_.Wrong(fmt::format("'{}' is in none of the lists of tensors", Shown(name)));
    if (!eye_.ok()) return;
    const Value& value = graph_.value(id);
    std::vector<std::int64_t> sizes;
    for (const Size& size : value.sizes) sizes.push_back(size.symbol.empty() ? size.number : -1);
    if (sizes != payload->second.sizes || value.dtype != payload->second.dtype) {
      eye_.Wrong(fmt::format("'{}': the program has {} [{}], the list of tensors {} [{}]",
                             Shown(name), Name(value.dtype), fmt::join(sizes, ", "),
                             Name(payload->second.dtype), fmt::join(payload->second.sizes, ", ")));
      return;
    }
    graph_.parameters.push_back({.name = name,
                                 .role = role,
                                 .value = id,
                                 .sizes = std::move(sizes),
                                 .trainable = payload->second.trainable,
                                 .tied_to = std::nullopt,
                                 .storage = payload->second.storage});
  }

  // Names of one tensor: all are inputs, nodes use the last.
  void FindTied() {
    std::map<std::pair<std::string, std::int64_t>, std::uint32_t> first;
    for (std::uint32_t i = 0; i < graph_.parameters.size(); ++i) {
      Parameter& parameter = graph_.parameters[i];
      const auto [known, is_new] =
          first.try_emplace({parameter.storage.member, parameter.storage.offset}, i);
      if (is_new) continue;
      const Parameter& other = graph_.parameters[known->second];
      const bool same = other.sizes == parameter.sizes &&
                        other.storage.strides == parameter.storage.strides &&
                        graph_.value(other.value).dtype == graph_.value(parameter.value).dtype;
      if (same) parameter.tied_to = known->second;
    }
  }

  void ReadRanges(const JsonValue& program) {
    eye_.Look("range_constraints");
    for (const auto& [name, range] : eye_.MembersOf(program, "range_constraints")) {
      const auto symbol = std::ranges::find(graph_.symbols, name, &Symbol::name);
      if (symbol == graph_.symbols.end()) continue;
      const auto bound = [&](std::string_view which) {
        return range.Find(which).and_then(&JsonValue::Integer);
      };
      symbol->least = bound("min_val").value_or(0);
      symbol->most = bound("max_val").value_or(INT64_MAX);
    }
  }

  // ---- nodes

  void ReadNodes(const JsonValue& graph, const Meanings& meanings, Names& names, int depth) {
    const std::vector<JsonValue> nodes = eye_.ListOf(graph, "nodes");
    for (std::size_t i = 0; i < nodes.size() && eye_.ok(); ++i) {
      eye_.Look(fmt::format("node {}", i));
      ReadNode(nodes[i], meanings, names, depth);
    }
  }

  void ReadNode(const JsonValue& json, const Meanings& meanings, Names& names, int depth) {
    if (graph_.nodes.size() >= kMaxNodes) {
      eye_.Wrong(fmt::format("expected at most {} nodes", kMaxNodes));
      return;
    }
    const std::string target = eye_.TextOf(json, "target");
    eye_.Look(fmt::format("{} ({})", eye_.where(), Shown(target)));
    if (!eye_.ok()) return;
    if (target.starts_with("torch.ops.higher_order.")) {
      ReadRegion(json, std::string(Without(target, "torch.ops.higher_order.")), names, depth);
      return;
    }
    Node node;
    node.op = Without(Without(target, "torch.ops."), "_");
    node.region = region_;
    if (const auto metadata = json.Find("metadata")) {
      if (const auto stack = metadata->Find("nn_module_stack").and_then(&JsonValue::Text))
        node.label = ModulePath(*stack);
    }
    for (const JsonValue& input : eye_.ListOf(json, "inputs")) {
      if (!eye_.ok()) return;
      const auto argument = eye_.Member(input, "arg");
      if (!argument) return;
      Argument read{.name = eye_.TextOf(input, "name"), .value = ReadArgument(*argument, names)};
      read.keyword = input.Find("kind").and_then(&JsonValue::Integer) == 2;
      node.arguments.push_back(std::move(read));
    }
    const std::vector<JsonValue> outputs = eye_.ListOf(json, "outputs");
    for (const JsonValue& output : outputs) {
      if (!eye_.ok()) return;
      for (const std::optional<ValueId> made : Define(output, meanings, names, node.returns_list))
        node.outputs.push_back(made);
    }
    if (!eye_.ok()) return;
    const auto named = json.Find("name").and_then(&JsonValue::Text);
    const auto first =
        std::ranges::find_if(node.outputs, [](const auto& out) { return out.has_value(); });
    if (named) {
      node.name = *named;
    } else if (first != node.outputs.end()) {
      node.name = graph_.value(**first).name;
    }
    graph_.nodes.push_back(std::move(node));
  }

  // Values that a node makes.
  std::vector<std::optional<ValueId>> Define(const JsonValue& output, const Meanings& meanings,
                                             Names& names, bool& is_list) {
    std::vector<std::optional<ValueId>> made;
    const auto part = eye_.Union(output, "outputs");
    if (!part) return made;
    const auto& [kind, about] = *part;
    const auto tensor = [&](const JsonValue& named) {
      const std::string name = eye_.TextOf(named, "name");
      if (eye_.ok()) made.emplace_back(AddTensor(name, meanings, names));
    };
    if (kind == "as_tensor") {
      tensor(about);
    } else if (kind == "as_tensors") {
      is_list = true;
      for (const JsonValue& each : eye_.List(about, kind)) tensor(each);
    } else if (kind == "as_optional_tensors") {
      is_list = true;
      for (const JsonValue& each : eye_.List(about, kind)) {
        const auto inner = eye_.Union(each, kind);
        if (!inner) return made;
        if (inner->first == "as_tensor") {
          tensor(inner->second);
        } else {
          made.emplace_back();
        }
      }
    } else if (kind == "as_none") {
      made.emplace_back();
    } else if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") {
      const std::string name = eye_.TextOf(about, "as_name");
      if (!eye_.ok()) return made;
      const auto value_kind = kind == "as_sym_int"    ? Value::Kind::kInteger
                              : kind == "as_sym_bool" ? Value::Kind::kBoolean
                                                      : Value::Kind::kReal;
      made.emplace_back(
          Define(name, Add({.name = name, .kind = value_kind, .dtype = DType::kInt64, .sizes = {}}),
                 names));
    } else {
      eye_.Wrong(fmt::format("expected tensors or numbers as outputs, found '{}'", Shown(kind)));
    }
    return made;
  }

  // Values that are there already.
  std::vector<std::optional<ValueId>> ReadOutput(const JsonValue& output, const Names& names) {
    const auto part = eye_.Union(output, "outputs");
    if (!part) return {};
    if (part->first == "as_tensor") return {LookupNamed(part->second, names)};
    if (part->first == "as_tensors") {
      std::vector<std::optional<ValueId>> values;
      for (const JsonValue& each : eye_.List(part->second, part->first))
        values.push_back(LookupNamed(each, names));
      return values;
    }
    if (part->first == "as_sym_int") {
      const auto name = part->second.Find("as_name").and_then(&JsonValue::Text);
      return {name ? Lookup(*name, names) : std::nullopt};
    }
    return {};  // a number that is always the same
  }

  // ---- arguments

  ArgumentValue ReadArgument(const JsonValue& json, const Names& names) {
    const auto part = eye_.Union(json, "arg");
    if (!part) return {};
    const auto& [kind, value] = *part;
    if (kind == "as_none") return {};
    if (kind == "as_tensor") return Referred(LookupNamed(value, names));
    if (kind == "as_optional_tensor") {
      const auto inner = eye_.Union(value, kind);
      if (!inner || inner->first == "as_none") return {};
      return Referred(LookupNamed(inner->second, names));
    }
    if (kind == "as_tensors") {
      std::vector<std::optional<ValueId>> values;
      for (const JsonValue& each : eye_.List(value, kind))
        values.push_back(LookupNamed(each, names));
      return values;
    }
    if (kind == "as_optional_tensors") {
      std::vector<std::optional<ValueId>> values;
      for (const JsonValue& each : eye_.List(value, kind)) {
        const auto inner = eye_.Union(each, kind);
        if (!inner) return {};
        values.push_back(inner->first == "as_none" ? std::nullopt
                                                   : LookupNamed(inner->second, names));
      }
      return values;
    }
    if (kind == "as_int") return eye_.Integer(value, kind);
    if (kind == "as_bool") return value.Boolean().value_or(false);
    if (kind == "as_float") return ReadNumber(value, kind);
    if (kind == "as_string" || kind == "as_operator") return eye_.Text(value, kind);
    if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float")
      return ReadSymbolic(value, names);
    if (kind == "as_ints" || kind == "as_sym_ints") {
      std::vector<IntegerOrValue> numbers;
      for (const JsonValue& each : eye_.List(value, kind)) {
        if (kind == "as_ints") {
          numbers.push_back({.number = eye_.Integer(each, kind), .value = std::nullopt});
          continue;
        }
        const ArgumentValue read = ReadSymbolic(each, names);
        if (const auto* number = std::get_if<std::int64_t>(&read)) {
          numbers.push_back({.number = *number, .value = std::nullopt});
        } else if (const auto* id = std::get_if<ValueId>(&read)) {
          numbers.push_back({.number = 0, .value = *id});
        } else {
          eye_.Wrong("as_sym_ints: expected integers");
        }
      }
      return numbers;
    }
    if (kind == "as_floats") {
      std::vector<double> numbers;
      for (const JsonValue& each : eye_.List(value, kind))
        numbers.push_back(ReadNumber(each, kind));
      return numbers;
    }
    if (kind == "as_bools") {
      std::vector<bool> flags;
      for (const JsonValue& each : eye_.List(value, kind))
        flags.push_back(each.Boolean().value_or(false));
      return flags;
    }
    if (kind == "as_scalar_type") return ReadDType(value, kind);
    if (kind == "as_device")
      return Setting{.kind = Setting::Kind::kDevice, .text = eye_.TextOf(value, "type")};
    if (kind == "as_layout") return ReadSetting(value, Setting::Kind::kLayout, kLayouts);
    if (kind == "as_memory_format")
      return ReadSetting(value, Setting::Kind::kMemoryFormat, kMemoryFormats);
    eye_.Wrong(fmt::format("an argument of the kind '{}' is not known", Shown(kind)));
    return {};
  }

  static ArgumentValue Referred(std::optional<ValueId> value) {
    return value ? ArgumentValue(*value) : ArgumentValue();
  }

  double ReadNumber(const JsonValue& json, std::string_view what) {
    const auto number = json.Number();
    if (!number) eye_.Wrong(fmt::format("{}: expected a number, found {}", what, KindName(json)));
    return number.value_or(0);
  }

  // A number that is computed, or one that is known.
  ArgumentValue ReadSymbolic(const JsonValue& json, const Names& names) {
    const auto part = eye_.Union(json, "a symbolic number");
    if (!part) return {};
    const auto& [kind, value] = *part;
    if (kind == "as_name") {
      const std::string name = eye_.Text(value, kind);
      return eye_.ok() ? Referred(Lookup(name, names)) : ArgumentValue();
    }
    if (kind == "as_int") return eye_.Integer(value, kind);
    if (kind == "as_float") return ReadNumber(value, kind);
    if (kind == "as_bool") return value.Boolean().value_or(false);
    eye_.Wrong(fmt::format("a symbolic number of the kind '{}' is not known", Shown(kind)));
    return {};
  }

  static constexpr std::string_view kLayouts[] = {"unknown",    "sparse_coo", "sparse_csr",
                                                  "sparse_csc", "sparse_bsr", "sparse_bsc",
                                                  "_mkldnn",    "strided"};
  static constexpr std::string_view kMemoryFormats[] = {
      "unknown", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};

  Setting ReadSetting(const JsonValue& value, Setting::Kind kind,
                      std::span<const std::string_view> names) {
    const std::int64_t code = eye_.Integer(value, "a setting");
    if (code < 0 || code >= std::ssize(names)) {
      eye_.Wrong(fmt::format("a setting numbered {} is not known", code));
      return {};
    }
    return {.kind = kind, .text = std::string(names[static_cast<std::size_t>(code)])};
  }

  // ---- regions

  // Their nodes join the others, with what holds for them.
  void ReadRegion(const JsonValue& json, const std::string& op, Names& names, int depth) {
    if (depth >= kMaxRegionDepth) {
      eye_.Wrong(fmt::format("expected regions at most {} deep", kMaxRegionDepth));
      return;
    }
    Region region = region_ ? graph_.regions[*region_] : Region();
    const std::vector<JsonValue> inputs = eye_.ListOf(json, "inputs");
    std::optional<std::size_t> at;  // of the sub-graph
    for (std::size_t i = 0; i < inputs.size() && !at; ++i) {
      const auto argument = inputs[i].Find("arg");
      if (argument && argument->Find("as_graph")) at = i;
    }
    const auto setting = [&](std::size_t i, std::string_view kind) {
      const auto argument = i < inputs.size() ? inputs[i].Find("arg") : std::nullopt;
      return argument ? argument->Find(kind) : std::nullopt;
    };
    if (op == "wrap_with_set_grad_enabled" && at == 1) {
      region.no_grad = !setting(0, "as_bool").and_then(&JsonValue::Boolean).value_or(true);
    } else if (op == "wrap_with_autocast" && at == 4) {
      region.autocast_device = setting(0, "as_string").and_then(&JsonValue::Text).value_or("");
      region.autocast_enabled = setting(2, "as_bool").and_then(&JsonValue::Boolean).value_or(false);
    } else {
      eye_.Wrong(fmt::format(
          "'{}' is not supported: only what runs the same way each time can be read, not "
          "branches and loops that depend on data",
          Shown(op)));
      return;
    }
    const auto body = inputs[*at].Find("arg")->Find("as_graph")->Find("graph");
    if (!body) {
      eye_.Wrong("expected a graph, found none");
      return;
    }
    Unfold(*body, std::span(inputs).subspan(*at + 1), json, region, names, depth);
  }

  void Unfold(const JsonValue& body, std::span<const JsonValue> operands, const JsonValue& json,
              const Region& region, Names& names, int depth) {
    Names inner;
    const std::vector<JsonValue> inputs = eye_.ListOf(body, "inputs");
    if (inputs.size() != operands.size()) {
      eye_.Wrong(fmt::format("expected {} operands, found {}", inputs.size(), operands.size()));
      return;
    }
    for (std::size_t i = 0; i < inputs.size() && eye_.ok(); ++i) {
      const auto part = eye_.Union(inputs[i], "inputs");
      const auto argument = eye_.Member(operands[i], "arg");
      if (!part || !argument) return;
      const bool is_tensor = part->first == "as_tensor";
      if (!is_tensor && part->first != "as_sym_int") continue;
      const std::string name = eye_.TextOf(part->second, is_tensor ? "name" : "as_name");
      const ArgumentValue outer = ReadArgument(*argument, names);
      if (const auto* id = std::get_if<ValueId>(&outer)) {
        Define(name, *id, inner);
      } else {
        eye_.Wrong(fmt::format("operand {}: expected a value", i));
      }
    }
    if (!eye_.ok()) return;
    const std::optional<std::uint32_t> before = region_;
    graph_.regions.push_back(region);
    region_ = static_cast<std::uint32_t>(graph_.regions.size() - 1);
    Meanings meanings;
    ReadMeanings(body, meanings);
    const std::string where = eye_.where();
    ReadNodes(body, meanings, inner, depth + 1);
    eye_.Look(where);
    region_ = before;

    std::vector<std::optional<ValueId>> made;
    for (const JsonValue& output : eye_.ListOf(body, "outputs"))
      for (const auto value : ReadOutput(output, inner)) made.push_back(value);
    std::vector<std::string> called;
    for (const JsonValue& output : eye_.ListOf(json, "outputs")) CollectNames(output, called);
    if (eye_.ok() && made.size() != called.size())
      eye_.Wrong(fmt::format("expected {} outputs, found {}", made.size(), called.size()));
    for (std::size_t i = 0; i < made.size() && eye_.ok(); ++i)
      if (made[i] && !called[i].empty()) Define(called[i], *made[i], names);
  }

  void CollectNames(const JsonValue& output, std::vector<std::string>& called) {
    const auto part = eye_.Union(output, "outputs");
    if (!part) return;
    if (part->first == "as_tensors") {
      for (const JsonValue& each : eye_.List(part->second, part->first))
        called.push_back(eye_.TextOf(each, "name"));
    } else if (part->first == "as_tensor") {
      called.push_back(eye_.TextOf(part->second, "name"));
    } else if (part->first == "as_sym_int") {
      called.push_back(eye_.TextOf(part->second, "as_name"));
    } else {
      called.emplace_back();
    }
  }

  JsonEye eye_;
  Graph graph_;
  std::map<std::string, int> taken_;  // names of values
  std::map<std::string, Payload, std::less<>> payloads_;
  std::optional<std::uint32_t> region_;
};

Result<JsonDocument> ParseObject(std::string_view text, std::string_view what) {
  constexpr int kMaxDepth = 200;
  auto document = JsonDocument::Read(text, {.depth = kMaxDepth});
  if (!document)
    return Corruption(
        fmt::format("{}: expected one JSON object, nested at most {} deep, found something else",
                    what, kMaxDepth));
  return *std::move(document);
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
