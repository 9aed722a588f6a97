#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::recipe {

// What a value may be.
enum class FieldKind : std::uint8_t { kText, kWord, kNumber, kInteger, kBoolean };

// Whether trials with different values can be trained together.
enum class OfShape : std::uint8_t { kNo, kValue, kPresence };

// How many values a field has.
enum class FieldForm : std::uint8_t {
  kOne,
  kList,        // NAME.0, NAME.1, ...
  kNumberOrMap  // NAME, or NAME.KEY for any keys, but not both
};

// A value below `model` or `train`.
struct Field {
  std::string_view path;  // "train.schedule.over"
  FieldKind kind = FieldKind::kNumber;
  OfShape of_shape = OfShape::kNo;
  std::vector<std::string> words = {};  // kWord: the values that it may have
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // low itself is not allowed
  bool below_high = false;
  bool required = false;
  FieldForm form = FieldForm::kOne;
};

std::span<const Field> Fields();

// The field to which a path belongs; null if there is none.
const Field* FieldAt(std::string_view path);

// A value that was read, by its field's kind: of kNumber and kInteger a number, of kBoolean 0 or 1,
// of kWord which of the words it is, of kText 0.
struct FieldValue {
  std::optional<double> number;  // nothing: the text is no such value
  std::string expected;          // then: what was expected
};
FieldValue ReadField(const Field& field, std::string_view text);

// Lists and maps have at most so many items, and paths and texts so many bytes.
constexpr std::size_t kMostSettings = 1000;
constexpr std::size_t kLongestSetting = 4096;

}  // namespace sluice::recipe
