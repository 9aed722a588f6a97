#include "base/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace sluice {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bytes of a text that stand for themselves.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A number by JSON's grammar; infinite if it is too large.
double ToDouble(std::string_view number) {
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  // Too small is said like too large; only the C library tells them apart.
  if (read.ec != std::errc{}) value = std::strtod(std::string(number).c_str(), nullptr);
  return value;
}

// Four hexadecimal digits.
std::optional<std::uint32_t> CodeUnit(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + 4, unit, 16);
  if (read.ec != std::errc{} || read.ptr != digits.data() + 4) return std::nullopt;
  return unit;
}

bool IsHighSurrogate(std::uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool IsLowSurrogate(std::uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

void AppendUtf8(std::string& text, std::uint32_t point) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80U | ((point >> shift) & 0x3fU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0U | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0U | (point >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// What stands between the quotes, which the scanner has found to be right.
std::string Unescaped(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      text += raw[i];
      continue;
    }
    switch (const char c = raw[++i]) {
      case 'b': text += '\b'; break;
      case 'f': text += '\f'; break;
      case 'n': text += '\n'; break;
      case 'r': text += '\r'; break;
      case 't': text += '\t'; break;
      case 'u': {
        std::uint32_t point = CodeUnit(raw.substr(i + 1)).value_or(0);
        i += 4;
        if (IsHighSurrogate(point)) {
          const std::uint32_t low = CodeUnit(raw.substr(i + 3)).value_or(0);
          point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
        AppendUtf8(text, point);
        break;
      }
      default: text += c;
    }
  }
  return text;
}

}  // namespace

// Goes through a text once. Each function returns whether it found what it looked for.
class JsonScanner {
 public:
  JsonScanner(std::string_view text, int deepest)
      : at_(text.data()), end_(text.data() + text.size()), deepest_(deepest) {}

  bool AtEnd() {
    SkipSpace();
    return at_ == end_;
  }

  bool Value(JsonValue& value) {
    SkipSpace();
    if (at_ == end_) return false;
    const char* const begin = at_;
    bool found = false;
    switch (*at_) {
      case '{':
        value.kind_ = JsonValue::Kind::kObject;
        found = Members([](const JsonValue&, const JsonValue&) {});
        break;
      case '[':
        value.kind_ = JsonValue::Kind::kList;
        found = Elements([](const JsonValue&) {});
        break;
      case '"':
        value.kind_ = JsonValue::Kind::kText;
        value.has_escapes_ = false;
        found = Text(value.has_escapes_);
        break;
      case 't':
      case 'f':
        value.kind_ = JsonValue::Kind::kBoolean;
        found = Word("true") || Word("false");
        break;
      case 'n':
        value.kind_ = JsonValue::Kind::kNull;
        found = Word("null");
        break;
      default: value.kind_ = JsonValue::Kind::kNumber; found = Number();
    }
    value.written_ = {begin, static_cast<std::size_t>(at_ - begin)};
    return found;
  }

  // Visits the names, as values, and the values.
  template <typename Visit>
  bool Members(Visit visit) {
    return Several('{', '}', [&] {
      JsonValue name;
      JsonValue value;
      SkipSpace();
      if (at_ == end_ || *at_ != '"' || !Value(name)) return false;
      SkipSpace();
      if (!Take(':') || !Value(value)) return false;
      visit(name, value);
      return true;
    });
  }

  template <typename Visit>
  bool Elements(Visit visit) {
    return Several('[', ']', [&] {
      JsonValue value;
      if (!Value(value)) return false;
      visit(value);
      return true;
    });
  }

 private:
  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }

  bool Take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool Word(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }

  template <typename One>
  bool Several(char open, char close, One one) {
    if (!Take(open) || ++depth_ > deepest_) return false;
    SkipSpace();
    if (!Take(close)) {
      do {
        if (!one()) return false;
        SkipSpace();
      } while (Take(','));
      if (!Take(close)) return false;
    }
    --depth_;
    return true;
  }

  bool Digits() {
    const char* const begin = at_;
    while (at_ != end_ && IsDigit(*at_)) ++at_;
    return at_ != begin;
  }

  bool Number() {
    const char* const begin = at_;
    (void)Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    bool may_be_too_large = false;
    if (Take('e') || Take('E')) {
      may_be_too_large = true;
      if (!Take('+')) (void)Take('-');
      if (!Digits()) return false;
    }
    const auto length = static_cast<std::size_t>(at_ - begin);
    may_be_too_large |= length > std::numeric_limits<double>::max_exponent10;
    return !may_be_too_large || std::isfinite(ToDouble({begin, length}));
  }

  bool Text(bool& has_escapes) {
    ++at_;
    while (true) {
      while (at_ != end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
      if (at_ == end_) return false;
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c == '\\') {
        has_escapes = true;
        if (!Escape()) return false;
      } else if (c < 0x20 || !Utf8()) {
        return false;
      }
    }
  }

  bool Escape() {
    ++at_;
    if (at_ == end_) return false;
    const char c = *at_++;
    if (c != 'u') return std::string_view("\"\\/bfnrt").contains(c);
    const auto unit = [&] {
      const auto read = CodeUnit({at_, static_cast<std::size_t>(end_ - at_)});
      if (read) at_ += 4;
      return read;
    };
    const auto first = unit();
    if (!first || IsLowSurrogate(*first)) return false;
    if (!IsHighSurrogate(*first)) return true;
    if (!Word("\\u")) return false;
    const auto second = unit();
    return second && IsLowSurrogate(*second);
  }

  // One character of several bytes: the shortest form, no surrogate, nothing beyond U+10FFFF.
  bool Utf8() {
    const auto lead = static_cast<unsigned char>(*at_++);
    const auto tail = [&](unsigned char low = 0x80, unsigned char high = 0xbf) {
      if (at_ == end_) return false;
      const auto c = static_cast<unsigned char>(*at_++);
      return c >= low && c <= high;
    };
    if (lead >= 0xc2 && lead <= 0xdf) return tail();
    if (lead == 0xe0) return tail(0xa0) && tail();
    if (lead == 0xed) return tail(0x80, 0x9f) && tail();
    if (lead >= 0xe1 && lead <= 0xef) return tail() && tail();
    if (lead == 0xf0) return tail(0x90) && tail() && tail();
    if (lead >= 0xf1 && lead <= 0xf3) return tail() && tail() && tail();
    return lead == 0xf4 && tail(0x80, 0x8f) && tail() && tail();
  }

  const char* at_;
  const char* end_;
  int depth_ = 0;
  int deepest_;
};

std::optional<std::int64_t> JsonValue::Integer() const {
  std::int64_t value = 0;
  const char* const end = written_.data() + written_.size();
  const auto read = std::from_chars(written_.data(), end, value);
  if (kind_ != Kind::kNumber || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> JsonValue::Unsigned() const {
  std::uint64_t value = 0;
  const char* const end = written_.data() + written_.size();
  const auto read = std::from_chars(written_.data(), end, value);
  if (kind_ != Kind::kNumber || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> JsonValue::Number() const {
  if (kind_ == Kind::kNumber) return ToDouble(written_);
  if (written_ == "\"NaN\"") return std::numeric_limits<double>::quiet_NaN();
  if (written_ == "\"Infinity\"") return kInfinity;
  if (written_ == "\"-Infinity\"") return -kInfinity;
  return std::nullopt;
}

std::optional<std::string> JsonValue::Text() const {
  if (kind_ != Kind::kText) return std::nullopt;
  const std::string_view raw = written_.substr(1, written_.size() - 2);
  return has_escapes_ ? Unescaped(raw) : std::string(raw);
}

std::optional<bool> JsonValue::Boolean() const {
  if (kind_ != Kind::kBoolean) return std::nullopt;
  return written_ == "true";
}

std::optional<std::vector<JsonValue>> JsonValue::List() const {
  if (kind_ != Kind::kList) return std::nullopt;
  std::vector<JsonValue> values;
  JsonScanner scanner(written_, std::numeric_limits<int>::max());
  (void)scanner.Elements([&](const JsonValue& value) { values.push_back(value); });
  return values;
}

std::optional<JsonObject> JsonObject::Read(std::string_view text, int deepest) {
  constexpr std::size_t kUsually = 8;
  JsonObject object;
  object.members_.reserve(kUsually);
  JsonScanner scanner(text, deepest);
  if (scanner.AtEnd()) return std::nullopt;
  const bool whole = scanner.Members([&](const JsonValue& name_value, const JsonValue& value) {
    const std::string_view written = name_value.written();
    std::string_view name = written.substr(1, written.size() - 2);
    if (name.contains('\\')) name = object.names_.emplace_back(Unescaped(name));
    const auto found = std::ranges::find(object.members_, name, &Member::name);
    if (found == object.members_.end()) {
      object.members_.push_back({name, value});
    } else {
      found->value = value;
    }
  });
  if (!whole || !scanner.AtEnd()) return std::nullopt;
  return object;
}

const JsonValue* JsonObject::Find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found == members_.end() ? nullptr : &found->value;
}

void JsonMembers::Miss(std::string_view name, std::string_view expected) {
  if (error_.empty()) error_ = fmt::format("'{}': expected {}", name, expected);
}

std::int64_t JsonMembers::Integer(std::string_view name, std::int64_t low, std::int64_t high) {
  const JsonValue* const found = object_.Find(name);
  const auto value = found == nullptr ? std::nullopt : found->Integer();
  if (!value) {
    const bool large = found != nullptr && found->Unsigned();
    return Miss(name, large ? "a smaller integer" : "an integer"), low;
  }
  if (*value < low || *value > high)
    return Miss(name, fmt::format("an integer from {} to {}", low, high)), low;
  return *value;
}

std::uint64_t JsonMembers::Unsigned(std::string_view name) {
  const JsonValue* const found = object_.Find(name);
  const auto value = found == nullptr ? std::nullopt : found->Unsigned();
  if (!value) Miss(name, "an integer of at least 0");
  return value.value_or(0);
}

std::string JsonMembers::Text(std::string_view name) {
  const JsonValue* const found = object_.Find(name);
  auto value = found == nullptr ? std::nullopt : found->Text();
  if (!value) Miss(name, "a text");
  return std::move(value).value_or("");
}

bool JsonMembers::Boolean(std::string_view name) {
  const JsonValue* const found = object_.Find(name);
  const auto value = found == nullptr ? std::nullopt : found->Boolean();
  if (!value) Miss(name, "true or false");
  return value.value_or(false);
}

double JsonMembers::Number(std::string_view name) {
  const JsonValue* const found = object_.Find(name);
  const auto value = found == nullptr ? std::nullopt : found->Number();
  if (!value) Miss(name, "a number");
  return value.value_or(0);
}

std::vector<std::pair<std::string, double>> JsonMembers::Numbers(std::string_view name) {
  std::vector<std::pair<std::string, double>> numbers;
  const JsonValue* const found = object_.Find(name);
  if (found == nullptr || found->kind() != JsonValue::Kind::kObject)
    return Miss(name, "an object of numbers"), numbers;
  const auto object = JsonObject::Read(found->written());
  for (const auto& [its_name, value] : object->members()) {
    const auto number = value.Number();
    if (!number) {
      Miss(its_name, value.kind() == JsonValue::Kind::kText
                         ? "a number, \"NaN\", \"Infinity\" or \"-Infinity\""
                         : "a number");
      break;
    }
    numbers.emplace_back(its_name, *number);
  }
  return numbers;
}

std::vector<JsonValue> JsonMembers::List(std::string_view name, std::string_view expected) {
  const JsonValue* const found = object_.Find(name);
  auto values = found == nullptr ? std::nullopt : found->List();
  if (!values) Miss(name, expected);
  return std::move(values).value_or(std::vector<JsonValue>{});
}

std::string_view JsonMembers::Object(std::string_view name) {
  const JsonValue* const found = object_.Find(name);
  if (found == nullptr || found->kind() != JsonValue::Kind::kObject)
    return Miss(name, "an object"), "{}";
  return found->written();
}

}  // namespace sluice
