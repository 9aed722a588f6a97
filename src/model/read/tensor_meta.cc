#include "model/read/tensor_meta.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/analyse/size_formula.h"
#include "model/read/program_limits.h"

namespace sluice::model {
namespace {

Size ReadSize(JsonEye& eye, const JsonValue& json) {
  const auto part = eye.Union(json, "size");
  if (!part) return {};
  const auto& [kind, about] = *part;
  Size size;
  if (kind == "as_int") {
    size.number = eye.Integer(about, kind);
  } else if (kind == "as_expr") {
    size.symbol = ReadableFormula(eye.TextOf(about, "expr_str"));
    if (size.symbol.empty()) eye.Wrong("expr_str: expected a formula, found nothing");
    const auto hint = about.Find("hint");
    const auto number = hint ? hint->Find("as_int").and_then(&JsonValue::Integer) : std::nullopt;
    size.number = number.value_or(-1);
    if (!number) return size;
  } else {
    eye.Wrong(fmt::format("size: expected 'as_int' or 'as_expr', found '{}'", Shown(kind)));
  }
  if (size.number < 0 || size.number > kMaxSize)
    eye.Wrong(fmt::format("expected sizes from 0 to {}, found {}", kMaxSize, size.number));
  return size;
}

}  // namespace

DType ReadDType(JsonEye& eye, const JsonValue& json, std::string_view what) {
  const std::int64_t code = eye.Integer(json, what);
  const auto dtype = DTypeOfCode(code);
  if (eye.ok() && !dtype) {
    eye.Unsupported(
        fmt::format("{}: expected a type of numbers from {} (1) to {} (13), found one numbered {}",
                    what, Name(DType::kUint8), Name(DType::kBfloat16), code));
  }
  return dtype.value_or(DType::kFloat32);
}

TensorMeta ReadTensorMeta(JsonEye& eye, const JsonValue& json) {
  TensorMeta meta;
  if (const auto dtype = eye.Member(json, "dtype")) meta.dtype = ReadDType(eye, *dtype, "dtype");
  const std::vector<JsonValue> sizes = eye.ListOf(json, "sizes");
  if (sizes.size() > kMaxRank) {
    eye.Unsupported(
        fmt::format("expected at most {} dimensions, found {}", kMaxRank, sizes.size()));
  }
  std::int64_t elements = 1;
  for (const JsonValue& each : sizes) {
    if (!eye.ok()) break;
    const Size& size = meta.sizes.emplace_back(ReadSize(eye, each));
    const std::int64_t number = std::max<std::int64_t>(size.number, 1);
    if (elements > kMaxElements / number) {
      eye.Unsupported(fmt::format("expected tensors of at most {} elements", kMaxElements));
      break;
    }
    elements *= number;
  }
  return meta;
}

}  // namespace sluice::model
