#include "model/dtype.h"

#include <array>

namespace sluice::model {
namespace {

struct About {
  std::string_view name;
  std::size_t bytes;
  std::int64_t code;  // in archives; PyTorch itself uses other numbers
};

constexpr std::array<About, 13> kAbout = {{
    {"uint8", 1, 1},
    {"int8", 1, 2},
    {"int16", 2, 3},
    {"int32", 4, 4},
    {"int64", 8, 5},
    {"float16", 2, 6},
    {"float32", 4, 7},
    {"float64", 8, 8},
    {"complex32", 4, 9},
    {"complex64", 8, 10},
    {"complex128", 16, 11},
    {"bool", 1, 12},
    {"bfloat16", 2, 13},
}};

const About& Of(DType dtype) { return kAbout[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view Name(DType dtype) { return Of(dtype).name; }

std::size_t BytesOf(DType dtype) { return Of(dtype).bytes; }

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         dtype == DType::kBfloat16;
}

std::optional<DType> DTypeOfCode(std::int64_t code) {
  for (std::size_t i = 0; i < kAbout.size(); ++i)
    if (kAbout[i].code == code) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace sluice::model
