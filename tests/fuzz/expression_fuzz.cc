// rooms: space

// Any text at all is an expression or is refused with a message; what is accepted can be evaluated
// anywhere and reads the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "space/expression/expression.h"

namespace {

const std::vector<sluice::Parameter>& Parameters() {
  using sluice::ParameterKind;
  static const auto& parameters = *new std::vector<sluice::Parameter>{
      {.name = "a", .low = -1, .high = 1},
      {.name = "n", .kind = ParameterKind::kInt, .low = 0, .high = 9},
      {.name = "o",
       .kind = ParameterKind::kOrdinal,
       .choices = {std::string("s"), std::string("m"), std::string("l")}},
      {.name = "c", .kind = ParameterKind::kCategorical, .choices = {std::int64_t{1}, 2.5}},
      {.name = "t", .kind = ParameterKind::kCategorical, .choices = {true, false}},
      {.name = "x",
       .kind = ParameterKind::kCategorical,
       .choices = {std::string("m"), std::int64_t{1}, true}},
      {.name = "w-d", .low = 0, .high = 1},
  };
  return parameters;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const sluice::Symbols symbols(Parameters());
  const auto expression = sluice::Expression::Parse(text, symbols);
  if (!expression) {
    if (expression.error().message.empty()) std::abort();
    return 0;
  }
  if (!(*sluice::Expression::Parse(text, symbols) == *expression)) std::abort();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> points = {{0, 0, 0, 0, 0, 0, 0},
                                                   {-1, 9, 2, 1, 1, 2, 1},
                                                   {0.5, 3, 1, 0, 1, 1, 0.25},
                                                   {nan, nan, nan, nan, nan, nan, nan}};
  for (const auto& point : points) {
    const sluice::Truth truth = expression->Evaluate(point);
    if (expression->is_constant() && truth != expression->Evaluate(points.front())) std::abort();
    // Negation turns it round, and leaves what is undefined.
    const auto negated = sluice::Expression::Parse("not (" + std::string(text) + ")", symbols);
    if (!negated) continue;  // one level too deep, or too long
    const sluice::Truth other = negated->Evaluate(point);
    if ((truth == sluice::Truth::kUndefined) != (other == sluice::Truth::kUndefined)) std::abort();
    if (truth != sluice::Truth::kUndefined && truth == other) std::abort();
  }
  return 0;
}
