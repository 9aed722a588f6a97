#include "model/read/argument_reader.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/read/tensor_meta.h"

namespace sluice::model {
namespace {

using Values = std::vector<std::optional<ValueId>>;

// Names of settings, in the order of their numbers in archives.
constexpr std::array<std::string_view, 8> kLayouts = {"unknown",    "sparse_coo", "sparse_csr",
                                                      "sparse_csc", "sparse_bsr", "sparse_bsc",
                                                      "_mkldnn",    "strided"};
constexpr std::array<std::string_view, 5> kMemoryFormats = {
    "unknown", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};

class ArgumentReader {
 public:
  ArgumentReader(CheckedJson& checked, const ValueNames& names)
      : checked_(checked), names_(names) {}

  ArgumentValue Read(const JsonValue& json) {
    const auto part = checked_.Union(json, "arg");
    if (!part) return {};
    const auto& [kind, value] = *part;
    if (kind == "as_none") return {};
    if (kind == "as_tensor") return Referred(names_.FindTensor(checked_, value));
    if (kind == "as_optional_tensor") return Referred(Optional(value));
    if (kind == "as_tensors") return Tensors(value);
    if (kind == "as_optional_tensors") return OptionalTensors(value);
    if (kind == "as_int") return checked_.Integer(value, kind);
    if (kind == "as_bool") return checked_.Boolean(value, kind);
    if (kind == "as_float") return checked_.Number(value, kind);
    if (kind == "as_string" || kind == "as_operator") return checked_.Text(value, kind);
    if (IsSymbolic(kind)) return Symbolic(value);
    if (kind == "as_ints" || kind == "as_sym_ints") return Integers(kind, value);
    if (kind == "as_floats") {
      std::vector<double> numbers;
      for (const JsonValue& each : List(kind, value))
        numbers.push_back(checked_.Number(each, kind));
      return numbers;
    }
    if (kind == "as_bools") {
      std::vector<bool> flags;
      for (const JsonValue& each : List(kind, value)) flags.push_back(checked_.Boolean(each, kind));
      return flags;
    }
    if (kind == "as_scalar_type") return ReadDType(checked_, value, kind);
    if (kind == "as_device")
      return Setting{.kind = Setting::Kind::kDevice, .text = checked_.TextOf(value, "type")};
    if (kind == "as_layout") return Numbered(value, Setting::Kind::kLayout, kLayouts);
    if (kind == "as_memory_format")
      return Numbered(value, Setting::Kind::kMemoryFormat, kMemoryFormats);
    checked_.Unsupported(fmt::format("an argument of the kind '{}' is not known", Shown(kind)));
    return {};
  }

  Values Result(const JsonValue& json) {
    const auto part = checked_.Union(json, "outputs");
    if (!part) return {};
    const auto& [kind, value] = *part;
    if (kind == "as_tensor") return {names_.FindTensor(checked_, value)};
    if (kind == "as_optional_tensor") return {Optional(value)};
    if (kind == "as_tensors") return Tensors(value);
    if (kind == "as_optional_tensors") return OptionalTensors(value);
    if (!IsSymbolic(kind)) return {std::nullopt};
    const ArgumentValue read = Symbolic(value);
    const auto* id = std::get_if<ValueId>(&read);
    return {id == nullptr ? std::nullopt : std::optional(*id)};
  }

 private:
  static ArgumentValue Referred(std::optional<ValueId> value) {
    return value ? ArgumentValue(*value) : ArgumentValue();
  }

  // Empty after an error, so that nothing more is read.
  std::vector<JsonValue> List(std::string_view kind, const JsonValue& value) {
    return checked_.ok() ? checked_.List(value, kind) : std::vector<JsonValue>();
  }

  std::optional<ValueId> Optional(const JsonValue& json) {
    const auto inner = checked_.Union(json, "an optional tensor");
    if (!inner || inner->first == "as_none") return std::nullopt;
    return names_.FindTensor(checked_, inner->second);
  }

  Values Tensors(const JsonValue& json) {
    Values values;
    for (const JsonValue& each : List("as_tensors", json))
      values.push_back(names_.FindTensor(checked_, each));
    return values;
  }

  Values OptionalTensors(const JsonValue& json) {
    Values values;
    for (const JsonValue& each : List("as_optional_tensors", json))
      values.push_back(Optional(each));
    return values;
  }

  ArgumentValue Symbolic(const JsonValue& json) {
    const auto part = checked_.Union(json, "a symbolic number");
    if (!part) return {};
    const auto& [kind, value] = *part;
    if (kind == "as_name") {
      const std::string name = checked_.Text(value, kind);
      return checked_.ok() ? Referred(names_.Find(checked_, name, /*is_tensor=*/false))
                           : ArgumentValue();
    }
    if (kind == "as_int") return checked_.Integer(value, kind);
    if (kind == "as_float") return checked_.Number(value, kind);
    if (kind == "as_bool") return checked_.Boolean(value, kind);
    checked_.Unsupported(
        fmt::format("a symbolic number of the kind '{}' is not known", Shown(kind)));
    return {};
  }

  std::vector<IntegerOrValue> Integers(std::string_view kind, const JsonValue& json) {
    std::vector<IntegerOrValue> numbers;
    for (const JsonValue& each : List(kind, json)) {
      const ArgumentValue read =
          kind == "as_ints" ? ArgumentValue(checked_.Integer(each, kind)) : Symbolic(each);
      if (const auto* number = std::get_if<std::int64_t>(&read)) {
        numbers.push_back({.number = *number, .value = std::nullopt});
      } else if (const auto* id = std::get_if<ValueId>(&read)) {
        numbers.push_back({.number = 0, .value = *id});
      } else {
        checked_.Fail(fmt::format("{}: expected integers", kind));
      }
    }
    return numbers;
  }

  Setting Numbered(const JsonValue& value, Setting::Kind kind,
                   std::span<const std::string_view> names) {
    const std::int64_t code = checked_.Integer(value, "a setting");
    if (code < 0 || code >= std::ssize(names)) {
      checked_.Unsupported(fmt::format("a setting numbered {} is not known", code));
      return {};
    }
    return {.kind = kind, .text = std::string(names[static_cast<std::size_t>(code)])};
  }

  CheckedJson& checked_;
  const ValueNames& names_;
};

}  // namespace

bool IsSymbolic(std::string_view kind) {
  return kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float";
}

ArgumentValue ReadArgument(CheckedJson& checked, const JsonValue& json, const ValueNames& names) {
  return ArgumentReader(checked, names).Read(json);
}

std::vector<std::optional<ValueId>> ReadResult(CheckedJson& checked, const JsonValue& json,
                                               const ValueNames& names) {
  return ArgumentReader(checked, names).Result(json);
}

}  // namespace sluice::model
