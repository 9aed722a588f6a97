#include "model/analyse/sines.h"

#include <cmath>

#include "base/check.h"

namespace sluice::model {
namespace {

constexpr double kBase = 10000;
// The difference allowed in row t is t + 1 times this, because networks compute angles in single
// precision.
constexpr double kTolerance = 1e-5;
constexpr std::size_t kLeastRows = 4;
constexpr std::size_t kLeastWidth = 4;

bool Is(Law::Kind kind, std::span<const double> elements, std::size_t width) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t row = i / width;
    const double off = std::abs(elements[i] - SineAt(kind, row, i % width, width));
    if (!(off <= kTolerance * static_cast<double>(row + 1))) return false;
  }
  return true;
}

}  // namespace

double SineAt(Law::Kind kind, std::size_t row, std::size_t column, std::size_t width) {
  SLUICE_CHECK(kind == Law::Kind::kSinesInTurns || kind == Law::Kind::kSinesFirst,
               "only tables of sines have them");
  const std::size_t half = (width + 1) / 2;
  const bool in_turns = kind == Law::Kind::kSinesInTurns;
  const std::size_t pair = in_turns ? column / 2 : column % half;
  const bool is_sine = in_turns ? column % 2 == 0 : column < half;
  const double exponent = 2 * static_cast<double>(pair) / static_cast<double>(width);
  const double angle = static_cast<double>(row) * std::pow(kBase, -exponent);
  return is_sine ? std::sin(angle) : std::cos(angle);
}

std::optional<Law::Kind> RecogniseSines(std::span<const double> elements, std::size_t width) {
  if (width < kLeastWidth || elements.size() < kLeastRows * width) return std::nullopt;
  for (const Law::Kind kind : {Law::Kind::kSinesInTurns, Law::Kind::kSinesFirst})
    if (Is(kind, elements, width)) return kind;
  return std::nullopt;
}

}  // namespace sluice::model
