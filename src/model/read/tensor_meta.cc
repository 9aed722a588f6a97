#include "model/read/tensor_meta.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/analyse/size_formula.h"
#include "model/read/program_limits.h"

namespace sluice::model {
namespace {

Size ReadSize(CheckedJson& checked, const JsonValue& json) {
  const auto part = checked.Union(json, "size");
  if (!part) return {};
  const auto& [kind, about] = *part;
  Size size;
  if (kind == "as_int") {
    size.number = checked.Integer(about, kind);
  } else if (kind == "as_expr") {
    size.symbol = ReadableFormula(checked.TextOf(about, "expr_str"));
    if (size.symbol.empty()) checked.Fail("expr_str: expected a formula, found nothing");
    const auto hint = about.Find("hint");
    const auto number = hint ? hint->Find("as_int").and_then(&JsonValue::Integer) : std::nullopt;
    size.number = number.value_or(-1);
    if (!number) return size;
  } else {
    checked.Fail(fmt::format("size: expected 'as_int' or 'as_expr', found '{}'", Shown(kind)));
  }
  if (size.number < 0 || size.number > kMaxSize)
    checked.Fail(fmt::format("expected sizes from 0 to {}, found {}", kMaxSize, size.number));
  return size;
}

}  // namespace

DType ReadDType(CheckedJson& checked, const JsonValue& json, std::string_view what) {
  const std::int64_t code = checked.Integer(json, what);
  const auto dtype = DTypeOfCode(code);
  if (checked.ok() && !dtype) {
    checked.Unsupported(
        fmt::format("{}: expected a type of numbers from {} (1) to {} (13), found one numbered {}",
                    what, Name(DType::kUint8), Name(DType::kBfloat16), code));
  }
  return dtype.value_or(DType::kFloat32);
}

TensorMeta ReadTensorMeta(CheckedJson& checked, const JsonValue& json) {
  TensorMeta meta;
  if (const auto dtype = checked.Member(json, "dtype"))
    meta.dtype = ReadDType(checked, *dtype, "dtype");
  const std::vector<JsonValue> sizes = checked.ListOf(json, "sizes");
  if (sizes.size() > kMaxRank) {
    checked.Unsupported(
        fmt::format("expected at most {} dimensions, found {}", kMaxRank, sizes.size()));
  }
  std::int64_t elements = 1;
  for (const JsonValue& each : sizes) {
    if (!checked.ok()) break;
    const Size& size = meta.sizes.emplace_back(ReadSize(checked, each));
    const std::int64_t number = std::max<std::int64_t>(size.number, 1);
    if (elements > kMaxElements / number) {
      checked.Unsupported(fmt::format("expected tensors of at most {} elements", kMaxElements));
      break;
    }
    elements *= number;
  }
  return meta;
}

}  // namespace sluice::model
