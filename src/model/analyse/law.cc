#include "model/analyse/law.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "model/analyse/sines.h"

namespace sluice::model {
namespace {

// The kurtosis is 3 for a normal law and 1.8 for a uniform one. With a kurtosis below this value, a
// law counts as uniform.
constexpr double kKurtosisBetween = 2.3;
// Limits the time: many parameters may be views of the same few bytes.
constexpr std::size_t kMostBytesInAll = std::size_t{4} << 30;

float FromBfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float FromFloat16(std::uint16_t bits) {
  const bool negative = (bits & 0x8000) != 0;
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  float value = 0;
  if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else {
    value = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return negative ? -value : value;
}

double ElementAt(const char* bytes, DType dtype) {
  const auto as = [&]<typename T>(T value) {
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::kUint8:
    case DType::kBool: return as(std::uint8_t{});
    case DType::kInt8: return as(std::int8_t{});
    case DType::kInt16: return as(std::int16_t{});
    case DType::kInt32: return as(std::int32_t{});
    case DType::kInt64: return static_cast<double>(as(std::int64_t{}));
    case DType::kFloat16: return FromFloat16(as(std::uint16_t{}));
    case DType::kBfloat16: return FromBfloat16(as(std::uint16_t{}));
    case DType::kFloat32: return as(float{});
    case DType::kFloat64: return as(double{});
    default: return std::nan("");
  }
}

}  // namespace

std::string_view Name(Law::Kind kind) {
  switch (kind) {
    case Law::Kind::kUnknown: return "unknown";
    case Law::Kind::kConstant: return "constant";
    case Law::Kind::kNormal: return "normal";
    case Law::Kind::kUniform: return "uniform";
    case Law::Kind::kSinesInTurns: return "sines and cosines in turns";
    case Law::Kind::kSinesFirst: return "sines, then cosines";
  }
  return "";
}

Law MeasureLaw(std::string_view bytes, DType dtype) {
  const std::size_t width = BytesOf(dtype);
  const std::size_t count = bytes.size() / width;
  Law law;
  if (count == 0) return law;
  const auto element = [&](std::size_t i) { return ElementAt(bytes.data() + i * width, dtype); };
  const double first = element(0);
  bool constant = true;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    constant = constant && element(i) == first;
    sum += element(i);
  }
  if (!std::isfinite(sum)) return law;
  if (constant) return {.kind = Law::Kind::kConstant, .mean = first, .deviation = 0};
  law.mean = sum / static_cast<double>(count);
  double widest = 0;  // distances are divided by this, so that no power overflows or vanishes
  for (std::size_t i = 0; i < count; ++i)
    widest = std::max(widest, std::abs(element(i) - law.mean));
  double second = 0;
  double fourth = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double off = (element(i) - law.mean) / widest;
    second += off * off;
    fourth += off * off * off * off;
  }
  second /= static_cast<double>(count);
  fourth /= static_cast<double>(count);
  law.deviation = std::sqrt(second) * widest;
  law.kind =
      fourth / (second * second) < kKurtosisBetween ? Law::Kind::kUniform : Law::Kind::kNormal;
  return law;
}

namespace {

// The kind of a table of sines that has one row for each position. Empty if the parameter is not
// such a table. All but two dimensions of a table have size 1.
Result<std::optional<Law::Kind>> LookForSines(const Archive& archive, const Parameter& parameter,
                                              DType dtype) {
  constexpr std::int64_t kMostRows = 64;
  constexpr std::int64_t kMostWidth = 1 << 14;  // so that at most 2^20 elements are read
  const std::int64_t width = parameter.sizes.empty() ? 0 : parameter.sizes.back();
  const bool is_table =
      IsFloating(dtype) && width > 1 && width <= kMostWidth &&
      std::ranges::count_if(parameter.sizes, [](std::int64_t size) { return size > 1; }) == 2;
  if (!is_table) return std::optional<Law::Kind>();
  Parameter rows = parameter;  // the first rows
  for (std::size_t i = 0; i + 1 < rows.sizes.size(); ++i)
    rows.sizes[i] = std::min(rows.sizes[i], kMostRows);
  const auto most = static_cast<std::size_t>(kMostRows * width);
  SLUICE_ASSIGN(const std::string bytes, archive.ReadTensor(rows, most));
  std::vector<double> elements;
  for (std::size_t at = 0; at < bytes.size(); at += BytesOf(dtype))
    elements.push_back(ElementAt(bytes.data() + at, dtype));
  return RecogniseSines(elements, static_cast<std::size_t>(width));
}

}  // namespace

Result<std::vector<Law>> MeasureLaws(const Archive& archive, std::size_t most_bytes) {
  const std::vector<Parameter>& parameters = archive.graph().parameters;
  if (!parameters.empty()) most_bytes = std::min(most_bytes, kMostBytesInAll / parameters.size());
  std::vector<Law> laws;
  for (const Parameter& parameter : parameters) {
    Law& law = laws.emplace_back();
    if (parameter.tied_to) law = laws[*parameter.tied_to];
    if (parameter.tied_to || !archive.HasTensor(parameter)) continue;
    const DType dtype = archive.graph().value(parameter.value).dtype;
    SLUICE_ASSIGN(const std::string bytes,
                  archive.ReadTensor(parameter, most_bytes / BytesOf(dtype)));
    law = MeasureLaw(bytes, dtype);
    if (parameter.trainable || law.kind == Law::Kind::kConstant) continue;
    SLUICE_ASSIGN(const auto sines, LookForSines(archive, parameter, dtype));
    if (sines) law.kind = *sines;
  }
  return laws;
}

}  // namespace sluice::model
