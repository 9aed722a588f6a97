#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/json_writer.h"

namespace sluice {

using Kind = JsonValue::Kind;

// The values of a JSON text, in one vector. The item of an object is followed by its members, each
// of which is a name and a value. The item of a list is followed by its values. Items are small,
// because a text may have a value for every two characters.
struct JsonTape {
  struct Part {
    std::uint32_t begin;  // in `texts`
    std::uint32_t length;
  };
  struct Item {
    Kind kind = Kind::kNull;
    std::uint32_t end = 0;  // where the next value begins, after all that this value contains
    union {
      std::int64_t integer = 0;
      std::uint64_t natural;
      double real;
      Part text;
    };
  };
  static constexpr std::size_t kMaxBytes =
      UINT32_MAX;  // of a JSON text; bounds the items and `texts` too
  std::vector<Item> items;
  std::string texts;
};

namespace {

// Writes the tape while the library parses a text: the parser calls a function for each value. A
// function that returns false ends the parse.
class TapeWriter final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TapeWriter(JsonTape& tape, const JsonDocument::Limits& limits) : tape_(tape), limits_(limits) {}

  bool null() override {
    Add(Kind::kNull);
    return true;
  }
  bool boolean(bool value) override {
    Add(Kind::kBoolean).integer = value ? 1 : 0;
    return true;
  }
  bool number_integer(std::int64_t value) override {
    Add(Kind::kInteger).integer = value;
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    Add(Kind::kUnsigned).natural = value;
    return true;
  }
  bool number_float(double value, const std::string&) override {
    Add(Kind::kReal).real = value;
    return true;
  }
  bool string(std::string& value) override { return AddText(value); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& name) override {
    return ++open_.back().members <= limits_.members && AddText(name);
  }
  bool start_object(std::size_t) override { return Open(Kind::kObject); }
  bool start_array(std::size_t) override { return !open_.empty() && Open(Kind::kList); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  struct Level {
    std::size_t at = 0;
    std::size_t members = 0;
  };

  JsonTape::Item& Add(Kind kind) {
    JsonTape::Item& item = tape_.items.emplace_back();
    item.kind = kind;
    item.end = Place();
    return item;
  }
  bool AddText(const std::string& text) {
    Add(Kind::kText).text = {.begin = static_cast<std::uint32_t>(tape_.texts.size()),
                             .length = static_cast<std::uint32_t>(text.size())};
    tape_.texts += text;
    return true;
  }
  // The index that the next item will have.
  std::uint32_t Place() const { return static_cast<std::uint32_t>(tape_.items.size()); }
  bool Open(Kind kind) {
    open_.push_back({.at = tape_.items.size()});
    Add(kind);
    return open_.size() <= static_cast<std::size_t>(limits_.depth);
  }
  bool Close() {
    tape_.items[open_.back().at].end = Place();
    open_.pop_back();
    return true;
  }

  JsonTape& tape_;
  JsonDocument::Limits limits_;
  std::vector<Level> open_;
};

void AppendValue(std::string& json, const JsonValue& value) {
  if (const auto members = value.Members()) {
    JsonWriter object;
    for (const auto& [name, member] : *members) object.AddJson(name, member.Written());
    json += object.Take();
  } else if (const auto list = value.List()) {
    json += JsonList(*list, AppendValue);
  } else if (const auto text = value.Text()) {
    AppendJson(json, *text);
  } else if (const auto natural = value.Unsigned()) {
    json += fmt::to_string(*natural);
  } else if (const auto integer = value.Integer()) {
    json += fmt::to_string(*integer);
  } else if (const auto number = value.Number()) {
    AppendJson(json, *number);
  } else if (const auto boolean = value.Boolean()) {
    json += *boolean ? "true" : "false";
  } else {
    json += "null";
  }
}

using Member = JsonValue::Member;
constexpr std::size_t kFewMembers = 16;

// Merges members of the same name: the first keeps its place and gets the value of the last.
// MergeFew compares all pairs of names. MergeMany sorts, so it is fast for many members too.
void MergeFew(std::vector<Member>& members) {
  auto end = members.begin();
  for (const Member& member : members) {
    const auto found = std::find_if(
        members.begin(), end, [&](const Member& earlier) { return earlier.first == member.first; });
    *found = member;
    if (found == end) ++end;
  }
  members.erase(end, members.end());
}

void MergeMany(std::vector<Member>& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const int compared = members[a].first.compare(members[b].first);
    return compared < 0 || (compared == 0 && a < b);
  });
  std::vector<bool> merged(members.size());
  std::size_t first = 0;  // the first member, in `order`, with the current name
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].first != members[order[first]].first) {
      first = i;
      continue;
    }
    members[order[first]].second = members[order[i]].second;
    merged[order[i]] = true;
  }
  std::size_t at = 0;
  std::erase_if(members, [&](const Member&) { return merged[at++]; });
}

}  // namespace

Kind JsonValue::kind() const { return tape_->items[at_].kind; }

bool JsonValue::IsNumber() const {
  return kind() == Kind::kInteger || kind() == Kind::kUnsigned || kind() == Kind::kReal;
}

std::optional<std::int64_t> JsonValue::Integer() const {
  const JsonTape::Item& item = tape_->items[at_];
  if (item.kind == Kind::kInteger) return item.integer;
  if (item.kind == Kind::kUnsigned && item.natural <= INT64_MAX)
    return static_cast<std::int64_t>(item.natural);
  return std::nullopt;
}

std::optional<std::uint64_t> JsonValue::Unsigned() const {
  if (kind() != Kind::kUnsigned) return std::nullopt;
  return tape_->items[at_].natural;
}

std::optional<double> JsonValue::Number() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const JsonTape::Item& item = tape_->items[at_];
  switch (item.kind) {
    case Kind::kInteger: return static_cast<double>(item.integer);
    case Kind::kUnsigned: return static_cast<double>(item.natural);
    case Kind::kReal: return item.real;
    case Kind::kText: break;
    default: return std::nullopt;
  }
  const std::string_view text = *Text();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  return std::nullopt;
}

std::optional<std::string_view> JsonValue::Text() const {
  const JsonTape::Item& item = tape_->items[at_];
  if (item.kind != Kind::kText) return std::nullopt;
  return std::string_view(tape_->texts).substr(item.text.begin, item.text.length);
}

std::optional<bool> JsonValue::Boolean() const {
  if (kind() != Kind::kBoolean) return std::nullopt;
  return tape_->items[at_].integer != 0;
}

std::optional<std::vector<JsonValue>> JsonValue::List() const {
  if (kind() != Kind::kList) return std::nullopt;
  std::vector<JsonValue> values;
  for (std::size_t at = at_ + 1; at < tape_->items[at_].end; at = tape_->items[at].end)
    values.push_back({*tape_, at});
  return values;
}

std::optional<std::vector<JsonValue::Member>> JsonValue::Members() const {
  if (kind() != Kind::kObject) return std::nullopt;
  std::vector<Member> members;
  for (std::size_t at = at_ + 1; at < tape_->items[at_].end; at = tape_->items[at + 1].end)
    members.emplace_back(*JsonValue(*tape_, at).Text(), JsonValue(*tape_, at + 1));
  if (members.size() <= kFewMembers) {
    MergeFew(members);
  } else {
    MergeMany(members);
  }
  return members;
}

std::optional<JsonValue> JsonValue::Find(std::string_view name) const {
  std::optional<JsonValue> found;
  if (kind() != Kind::kObject) return found;
  for (std::size_t at = at_ + 1; at < tape_->items[at_].end; at = tape_->items[at + 1].end) {
    if (*JsonValue(*tape_, at).Text() == name) found = JsonValue(*tape_, at + 1);
  }
  return found;
}

std::string JsonValue::Written() const {
  std::string json;
  AppendValue(json, *this);
  return json;
}

JsonDocument::JsonDocument(std::unique_ptr<JsonTape> tape) : tape_(std::move(tape)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

std::optional<JsonDocument> JsonDocument::Read(std::string_view text, const Limits& limits) {
  constexpr std::size_t kUsually = 24;
  if (text.size() > JsonTape::kMaxBytes) return std::nullopt;
  auto tape = std::make_unique<JsonTape>();
  tape->items.reserve(kUsually);
  TapeWriter writer(*tape, limits);
  if (!nlohmann::json::sax_parse(text, &writer) || tape->items.front().kind != Kind::kObject)
    return std::nullopt;
  return JsonDocument(std::move(tape));
}

void JsonMembers::Miss(std::string_view name, std::string_view expected) {
  if (error_.empty()) error_ = fmt::format("'{}': expected {}", name, expected);
}

std::int64_t JsonMembers::Integer(std::string_view name, std::int64_t low, std::int64_t high) {
  const auto found = object_.Find(name);
  const auto value = found ? found->Integer() : std::nullopt;
  if (!value) {
    const bool large = found && found->Unsigned();
    return Miss(name, large ? "a smaller integer" : "an integer"), low;
  }
  if (*value < low || *value > high)
    return Miss(name, fmt::format("an integer from {} to {}", low, high)), low;
  return *value;
}

std::uint64_t JsonMembers::Unsigned(std::string_view name) {
  const auto value = object_.Find(name).and_then(&JsonValue::Unsigned);
  if (!value) Miss(name, "an integer of at least 0");
  return value.value_or(0);
}

std::string JsonMembers::Text(std::string_view name) {
  const auto value = object_.Find(name).and_then(&JsonValue::Text);
  if (!value) Miss(name, "a text");
  return std::string(value.value_or(""));
}

bool JsonMembers::Boolean(std::string_view name) {
  const auto value = object_.Find(name).and_then(&JsonValue::Boolean);
  if (!value) Miss(name, "true or false");
  return value.value_or(false);
}

double JsonMembers::Number(std::string_view name) {
  const auto value = object_.Find(name).and_then(&JsonValue::Number);
  if (!value) Miss(name, "a number");
  return value.value_or(0);
}

std::vector<std::pair<std::string, double>> JsonMembers::Numbers(std::string_view name) {
  std::vector<std::pair<std::string, double>> numbers;
  const auto members = object_.Find(name).and_then(&JsonValue::Members);
  if (!members) return Miss(name, "an object of numbers"), numbers;
  for (const auto& [its_name, value] : *members) {
    const auto number = value.Number();
    if (!number) {
      Miss(its_name, value.kind() == Kind::kText
                         ? "a number, \"NaN\", \"Infinity\" or \"-Infinity\""
                         : "a number");
      break;
    }
    numbers.emplace_back(its_name, *number);
  }
  return numbers;
}

std::vector<JsonValue> JsonMembers::List(std::string_view name, std::string_view expected) {
  auto values = object_.Find(name).and_then(&JsonValue::List);
  if (!values) Miss(name, expected);
  return std::move(values).value_or(std::vector<JsonValue>{});
}

std::string JsonMembers::Object(std::string_view name) {
  const auto found = object_.Find(name);
  if (!found || found->kind() != Kind::kObject) return Miss(name, "an object"), "{}";
  return found->Written();
}

}  // namespace sluice
