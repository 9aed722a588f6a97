#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct JsonTape;  // the values of a text, one after another

// A value of a JsonDocument. Valid while the document lives.
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

  // Each function returns nothing if the value is of another kind. Integer() and Unsigned() accept
  // a number without a point or an exponent, if it fits in their type.
  std::optional<std::int64_t> Integer() const;
  std::optional<std::uint64_t> Unsigned() const;
  // A number, or one of the texts for numbers that JSON lacks: "NaN", "Infinity", "-Infinity".
  std::optional<double> Number() const;
  std::optional<std::string_view> Text() const;
  std::optional<bool> Boolean() const;
  std::optional<std::vector<JsonValue>> List() const;
  // The members of an object, in the order of the text. If several members have the same name, one
  // is returned: with the last value, at the place of the first.
  std::optional<std::vector<Member>> Members() const;
  // The member of an object with this name; if there are several, the last.
  std::optional<JsonValue> Find(std::string_view name) const;
  // The value, written as JSON.
  std::string Written() const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonTape& tape, std::size_t at) : tape_(&tape), at_(at) {}

  const JsonTape* tape_;
  std::size_t at_;
};

// One JSON object that was read. No tree is built, because most objects are small, and are read
// once for a few of their members.
class JsonDocument {
 public:
  // Bounds on what is accepted. `members` bounds the time of Find(), which looks at every member.
  struct Limits {
    int depth = 1000;
    std::size_t members = SIZE_MAX;  // of one object
  };
  // Returns nothing unless the text is one object, in UTF-8, within the limits and under 4 GiB.
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

// Reads typed members of an object. `error` describes the first member that was missing or wrong.
// For such a member, Integer returns `low`, and the other functions return 0, false or an empty
// value.
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
  // A member that is an object whose members are all numbers.
  std::vector<std::pair<std::string, double>> Numbers(std::string_view name);
  std::vector<JsonValue> List(std::string_view name, std::string_view expected = "a list");
  // A member that is an object, written as JSON.
  std::string Object(std::string_view name);

  // Empty if every member that was read was there and right.
  const std::string& error() const { return error_; }
  void Miss(std::string_view name, std::string_view expected);
  // Takes this as the error, unless there is one already.
  void Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }

 private:
  JsonValue object_;
  std::string error_;
};

}  // namespace sluice
