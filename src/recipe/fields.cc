#include "recipe/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace sluice::recipe {
namespace {

constexpr double kLongestLength = 1e12;  // of a schedule
constexpr double kLargestBatch = 1 << 24;
constexpr double kMostScale = 1e6;

Field Number(std::string_view path, double low, double high) {
  return {.path = path, .kind = FieldKind::kNumber, .low = low, .high = high};
}
Field Above(Field field) {
  field.above_low = true;
  return field;
}
Field Below(Field field) {
  field.below_high = true;
  return field;
}
Field Word(std::string_view path, OfShape of_shape, std::vector<std::string> words) {
  return {.path = path, .kind = FieldKind::kWord, .of_shape = of_shape, .words = std::move(words)};
}
Field Text(std::string_view path, OfShape of_shape) {
  return {.path = path, .kind = FieldKind::kText, .of_shape = of_shape};
}
Field Required(Field field) {
  field.required = true;
  return field;
}
Field With(Field field, OfShape of_shape) {
  field.of_shape = of_shape;
  return field;
}
Field With(Field field, FieldForm form) {
  field.form = form;
  return field;
}

std::vector<Field> MakeFields() {
  constexpr double kNoBound = std::numeric_limits<double>::infinity();
  Field batch{.path = "train.batch",
              .kind = FieldKind::kInteger,
              .of_shape = OfShape::kValue,
              .low = 1,
              .high = kLargestBatch,
              .required = true};
  Field nesterov{
      .path = "train.nesterov", .kind = FieldKind::kBoolean, .of_shape = OfShape::kValue};
  return {
      Required(Text("model.network", OfShape::kValue)),
      Text("model.loss", OfShape::kValue),
      With(Number("model.scale", 1, kMostScale), OfShape::kValue),
      Text("model.rule", OfShape::kValue),
      Text("model.decay", OfShape::kValue),
      Word("model.readout", OfShape::kValue, {"zero", "keep"}),
      // In the order of OptimizerKind.
      Required(Word("train.optimizer", OfShape::kValue, {"sgd", "adam", "adamw"})),
      Required(Above(Number("train.lr", 0, kNoBound))),
      Below(Number("train.momentum", 0, 1)),
      Number("train.dampening", 0, 1),
      nesterov,
      With(Below(Number("train.betas", 0, 1)), FieldForm::kList),
      Number("train.eps", 0, kNoBound),
      Number("train.weight_decay", 0, kNoBound),
      With(Above(Number("train.clip_norm", 0, kNoBound)), OfShape::kPresence),
      Below(Number("train.label_smoothing", 0, 1)),
      With(Below(Number("train.dropout", 0, 1)), FieldForm::kNumberOrMap),
      std::move(batch),
      // In the order of Precision.
      Word("train.precision", OfShape::kValue, {"float32", "float64", "bf16"}),
      Word("train.evaluate", OfShape::kValue, {"evaluation", "as_trained"}),
      Word("train.init", OfShape::kValue, {"drawn", "archive"}),
      // In the order of Schedule::Kind.
      Word("train.schedule.name", OfShape::kNo,
           {"constant", "step", "multi_step", "exponential", "cosine", "one_cycle"}),
      Above(Number("train.schedule.gamma", 0, kNoBound)),
      Above(Number("train.schedule.every", 0, kLongestLength)),
      With(Number("train.schedule.at", 0, kLongestLength), FieldForm::kList),
      Above(Number("train.schedule.over", 0, kLongestLength)),
      Number("train.schedule.last", 0, 1),
      Below(Above(Number("train.schedule.rise", 0, 1))),
      Number("train.schedule.div", 1, kNoBound),
      Number("train.schedule.warmup", 0, kLongestLength),
  };
}

std::string ExpectedNumber(const Field& field) {
  const std::string_view what = field.kind == FieldKind::kInteger ? "a whole number" : "a number";
  const bool bounded = std::isfinite(field.high);
  if (!bounded)
    return fmt::format("{} {} {}", what, field.above_low ? "above" : "of at least", field.low);
  if (field.above_low && field.below_high)
    return fmt::format("{} between {} and {}, without these two", what, field.low, field.high);
  if (field.above_low) return fmt::format("{} above {}, to {}", what, field.low, field.high);
  return fmt::format("{} from {} to {}{}", what, field.low, field.below_high ? "below " : "",
                     field.high);
}

std::optional<double> ParseNumber(const Field& field, std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  if (number < field.low || number > field.high) return std::nullopt;
  if (field.above_low && number == field.low) return std::nullopt;
  if (field.below_high && number == field.high) return std::nullopt;
  if (field.kind == FieldKind::kInteger && number != std::floor(number)) return std::nullopt;
  return number;
}

}  // namespace

std::span<const Field> Fields() {
  static const auto& fields = *new std::vector<Field>(MakeFields());
  return fields;
}

const Field* FieldAt(std::string_view path) {
  for (const Field& field : Fields()) {
    if (!path.starts_with(field.path)) continue;
    const std::string_view rest = path.substr(field.path.size());
    if (rest.empty() && field.form != FieldForm::kList) return &field;
    if (!rest.starts_with('.') || rest.size() == 1) continue;
    if (field.form == FieldForm::kNumberOrMap) return &field;
    const std::string_view index = rest.substr(1);
    const bool is_index =
        index == "0" || (index.size() <= 3 && index.front() != '0' &&
                         std::ranges::all_of(index, [](char c) { return c >= '0' && c <= '9'; }));
    if (field.form == FieldForm::kList && is_index) return &field;
  }
  return nullptr;
}

FieldValue ReadField(const Field& field, std::string_view text) {
  switch (field.kind) {
    case FieldKind::kText:
      if (!text.empty()) return {.number = 0, .expected = ""};
      return {.number = std::nullopt, .expected = "a text that is not empty"};
    case FieldKind::kBoolean:
      if (text == "true" || text == "false") return {.number = text == "true", .expected = ""};
      return {.number = std::nullopt, .expected = "true or false"};
    case FieldKind::kWord: {
      const auto found = std::ranges::find(field.words, text);
      if (found != field.words.end())
        return {.number = static_cast<double>(found - field.words.begin()), .expected = ""};
      return {.number = std::nullopt, .expected = "one of " + Join(field.words)};
    }
    case FieldKind::kNumber:
    case FieldKind::kInteger:
      if (const auto number = ParseNumber(field, text)) return {.number = number, .expected = ""};
      return {.number = std::nullopt, .expected = ExpectedNumber(field)};
  }
  return {};
}

}  // namespace sluice::recipe
