#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// A value as it is written in a JSON text that was read; of use while that text lives.
class JsonValue {
 public:
  enum class Kind { kNull, kBoolean, kNumber, kText, kList, kObject };

  Kind kind() const { return kind_; }
  std::string_view written() const { return written_; }

  // Nothing if it is something else. Numbers without point and exponent are integers if they fit.
  std::optional<std::int64_t> Integer() const;
  std::optional<std::uint64_t> Unsigned() const;
  // A number, or a text for one that JSON lacks: "NaN", "Infinity", "-Infinity".
  std::optional<double> Number() const;
  std::optional<std::string> Text() const;
  std::optional<bool> Boolean() const;
  std::optional<std::vector<JsonValue>> List() const;

 private:
  friend class JsonScanner;
  Kind kind_ = Kind::kNull;
  bool has_escapes_ = false;
  std::string_view written_ = "null";
};

// One JSON object. What it holds is found where it is written, and nothing is copied until it is
// asked for: most objects here are small, are read once, and are read for a few of their members.
// The text must outlive it.
class JsonObject {
 public:
  struct Member {
    std::string_view name;
    JsonValue value;
  };

  // Nothing if the text is anything but one object, in UTF-8, that nests no deeper.
  static std::optional<JsonObject> Read(std::string_view text, int deepest = 1000);

  // In the order of the text. Of several with one name, the last is there, in the first's place.
  const std::vector<Member>& members() const { return members_; }
  const JsonValue* Find(std::string_view name) const;

 private:
  std::vector<Member> members_;
  std::list<std::string> names_;  // those that had escapes
};

// Reads typed members; the first that is missing or wrong is remembered.
class JsonMembers {
 public:
  explicit JsonMembers(const JsonObject& object) : object_(object) {}

  bool Has(std::string_view name) const { return object_.Find(name) != nullptr; }
  std::int64_t Integer(std::string_view name, std::int64_t low = INT64_MIN,
                       std::int64_t high = INT64_MAX);
  std::uint64_t Unsigned(std::string_view name);
  std::string Text(std::string_view name);
  bool Boolean(std::string_view name);
  double Number(std::string_view name);
  // Of an object of numbers.
  std::vector<std::pair<std::string, double>> Numbers(std::string_view name);
  std::vector<JsonValue> List(std::string_view name, std::string_view expected = "a list");
  // As it is written.
  std::string_view Object(std::string_view name);

  // Empty while all is well.
  const std::string& error() const { return error_; }
  void Miss(std::string_view name, std::string_view expected);

 private:
  const JsonObject& object_;
  std::string error_;
};

}  // namespace sluice
