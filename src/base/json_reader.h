#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct JsonTape;  // the values of a text, one behind the other

// A value of a JsonDocument; of use while that lives.
class JsonValue {
 public:
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kInteger,
    kUnsigned,
    kReal,
    kText,
    kList,
    kObject
  };
  using Member = std::pair<std::string_view, JsonValue>;

  Kind kind() const;
  bool IsNumber() const;

  // Nothing if it is something else. Numbers without point and exponent are integers if they fit.
  std::optional<std::int64_t> Integer() const;
  std::optional<std::uint64_t> Unsigned() const;
  // A number, or a text for one that JSON lacks: "NaN", "Infinity", "-Infinity".
  std::optional<double> Number() const;
  std::optional<std::string_view> Text() const;
  std::optional<bool> Boolean() const;
  std::optional<std::vector<JsonValue>> List() const;
  // In the order of the text. Of several with one name, the last is there, in the first's place.
  std::optional<std::vector<Member>> Members() const;
  // A member of an object, by its name.
  std::optional<JsonValue> Find(std::string_view name) const;
  // As JSON again.
  std::string Written() const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonTape& tape, std::size_t at) : tape_(&tape), at_(at) {}

  const JsonTape* tape_;
  std::size_t at_;
};

// One JSON object that was read, without a tree: most are small, are read once, and are read for a
// few of their members.
class JsonDocument {
 public:
  // What a text may ask for; looking for a name takes as long as there are members.
  struct Limits {
    int depth = 1000;
    std::size_t members = SIZE_MAX;  // of one object
  };
  // Nothing if the text is anything but one object, in UTF-8, within the limits, under 4 GiB.
  static std::optional<JsonDocument> Read(std::string_view text, const Limits& limits);
  static std::optional<JsonDocument> Read(std::string_view text) { return Read(text, Limits()); }

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue object() const { return {*tape_, 0}; }

 private:
  explicit JsonDocument(std::unique_ptr<JsonTape> tape);
  std::unique_ptr<JsonTape> tape_;
};

// Reads typed members of an object; the first that is missing or wrong is remembered.
class JsonMembers {
 public:
  explicit JsonMembers(JsonValue object) : object_(object) {}

  bool Has(std::string_view name) const { return object_.Find(name).has_value(); }
  std::int64_t Integer(std::string_view name, std::int64_t low = INT64_MIN,
                       std::int64_t high = INT64_MAX);
  std::uint64_t Unsigned(std::string_view name);
  std::string Text(std::string_view name);
  bool Boolean(std::string_view name);
  double Number(std::string_view name);
  // Of an object of numbers.
  std::vector<std::pair<std::string, double>> Numbers(std::string_view name);
  std::vector<JsonValue> List(std::string_view name, std::string_view expected = "a list");
  // As JSON.
  std::string Object(std::string_view name);

  // Empty while all is well.
  const std::string& error() const { return error_; }
  void Miss(std::string_view name, std::string_view expected);

 private:
  JsonValue object_;
  std::string error_;
};

}  // namespace sluice
