#include "base/config.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"

namespace sluice {

enum class ConfigKind { kNull, kScalar, kList, kMap };

struct ConfigRawNode {
  ConfigKind kind = ConfigKind::kNull;
  bool quoted = false;
  bool complete = false;  // false while its children are still read
  int line = 0;
  std::string text;
  std::vector<const ConfigRawNode*> children;  // of a map: key, value, key, value
  std::size_t weight = 1;                      // nodes below and itself, aliases expanded
  std::size_t depth = 1;
};

struct ConfigData {
  struct Problem {
    int line;
    std::size_t order;  // of reporting
    std::string text;
  };

  std::string file;
  std::deque<ConfigRawNode> nodes;
  const ConfigRawNode* root = nullptr;
  std::vector<Problem> problems;
  std::set<std::string> said;  // what is read again, as layers are, is wrong only once

  // More than anyone reads; the bound keeps a hostile file from filling memory.
  bool full() const { return problems.size() >= 1000; }

  std::string Prefix(int line, std::string_view path) const {
    return fmt::format("{}:{}: {}{}", file, line, Shown(path), path.empty() ? "" : ": ");
  }
  void Report(int line, std::string_view path, std::string_view message) {
    if (full()) return;
    const auto [text, is_new] = said.insert(Prefix(line, path).append(message));
    if (is_new) problems.push_back({line, problems.size(), *text});
  }
};

namespace {

constexpr std::size_t kLongestShown = 60;
constexpr std::size_t kMaxListed = 100;

// A file that cannot be read at all; thrown through yaml-cpp's parser by our handler.
struct Unreadable {
  int line;
  std::string message;
};

// The length of the valid UTF-8 sequence at the front, or 0.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

// Throws for what must not reach yaml-cpp: it guesses UTF-16 from NULs, takes byte 4 for the end of
// the file, and words its complaints about tabs in a way nobody understands.
void CheckBytes(std::string_view text) {
  int line = 1;
  bool indenting = true;
  bool tab = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text.substr(i));
    if (length == 0) {
      throw Unreadable{line, "expected UTF-8, found a byte that is not; save the file as UTF-8"};
    }
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\r' && c != '\t') || code == 0x7F) {
      throw Unreadable{
          line,
          fmt::format("expected text, found the control character 0x{:02x}; remove it", code)};
    }
    if (c == '\n' || c == '\r') {
      if (c == '\n' || i + 1 == text.size() || text[i + 1] != '\n') ++line;
      indenting = true;
      tab = false;
    } else if (indenting && c == '\t') {
      tab = true;
    } else if (c != ' ') {
      if (indenting && tab && c != '#') {
        throw Unreadable{
            line,
            "expected spaces before the first word of a line, found a tab; indent with spaces"};
      }
      indenting = false;
    }
    i += length;
  }
}

// Whether a quoted scalar beginning at or soon after `position` is closed. yaml-cpp 0.7 takes the
// end of the file for its closing quote.
bool QuoteCloses(std::string_view text, std::size_t position) {
  std::size_t at = std::min(position, text.size());
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = std::min(text.find_first_of(" \t\r\n", at), text.size());
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  if (at == text.size() || (text[at] != '"' && text[at] != '\'')) return true;
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 == text.size() || text[at + 1] != '\'') return true;
      ++at;
    }
  }
  return false;
}

// Builds our nodes from yaml-cpp's events. Every level of yaml-cpp's recursion begins with an
// event, so refusing a deep start here bounds its stack too.
class Builder : public YAML::EventHandler {
 public:
  Builder(ConfigData& data, std::string_view text) : data_(data), text_(text) {}

  // The innermost list or map that was begun and not ended, if any.
  const ConfigRawNode* open() const { return open_.empty() ? nullptr : open_.back(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      throw Unreadable{
          Line(mark),
          "expected one document, found the beginning of a second; keep one of them, and "
          "quote texts that hold brackets or braces"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    AddLeaf(New(mark, anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || !found->second->complete) {
      throw Unreadable{Line(mark),
                       "expected an alias of something before it, found one that holds itself"};
    }
    if (open_.size() + found->second->depth > kMaxConfigDepth) TooDeep(mark);
    Attach(found->second, Line(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!QuoteCloses(text_, static_cast<std::size_t>(std::max(mark.pos, 0)))) {
      throw Unreadable{
          Line(mark),
          "expected a closing quote, found the end of the file; close the quote that begins "
          "on this line"};
    }
    CheckTag(mark, tag);
    ConfigRawNode& node = New(mark, anchor);
    node.kind = ConfigKind::kScalar;
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    node.text = value;
    AddLeaf(node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, ConfigKind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, ConfigKind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  static int Line(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }

  [[noreturn]] static void TooDeep(const YAML::Mark& mark) {
    throw Unreadable{Line(mark),
                     fmt::format("expected at most {} lists and maps inside each other, found more",
                                 kMaxConfigDepth)};
  }
  [[noreturn]] static void TooMany(int line) {
    throw Unreadable{
        line,
        fmt::format("expected at most {} values, found more (aliases count as often as they are "
                    "used); make the file smaller",
                    kMaxConfigNodes)};
  }

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with(kStandard)) return;
    throw Unreadable{Line(mark), fmt::format("expected no tags, found {}; remove it", Shown(tag))};
  }

  ConfigRawNode& New(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (data_.nodes.size() >= kMaxConfigNodes) TooMany(Line(mark));
    ConfigRawNode& node = data_.nodes.emplace_back();
    node.line = Line(mark);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &node;
    return node;
  }

  void AddLeaf(ConfigRawNode& node) {
    node.complete = true;
    Attach(&node, node.line);
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            ConfigKind kind) {
    CheckTag(mark, tag);
    if (open_.size() >= kMaxConfigDepth) TooDeep(mark);
    ConfigRawNode& node = New(mark, anchor);
    node.kind = kind;
    open_.push_back(&node);
  }

  void Close() {
    ConfigRawNode* node = open_.back();
    open_.pop_back();
    node->complete = true;
    Attach(node, node->line);
  }

  void Attach(const ConfigRawNode* node, int line) {
    if (open_.empty()) {
      data_.root = node;
      return;
    }
    ConfigRawNode& parent = *open_.back();
    parent.children.push_back(node);
    parent.weight += node->weight;
    parent.depth = std::max(parent.depth, node->depth + 1);
    if (parent.weight > kMaxConfigNodes) TooMany(line);
  }

  ConfigData& data_;
  std::string_view text_;
  int documents_ = 0;
  std::vector<ConfigRawNode*> open_;
  std::map<YAML::anchor_t, const ConfigRawNode*> anchors_;
};

// yaml-cpp's complaint in plain words.
Unreadable Explain(const YAML::ParserException& error, const ConfigRawNode* open) {
  const int line = std::max(error.mark.line, 0) + 1;
  const auto is = [&](std::string_view message) {
    return std::string_view(error.msg).starts_with(message);
  };
  if ((is(YAML::ErrorMsg::END_OF_SEQ_FLOW) || is(YAML::ErrorMsg::END_OF_MAP_FLOW)) &&
      open != nullptr) {
    const bool list = open->kind == ConfigKind::kList;
    return {open->line,
            fmt::format(
                "expected '{}' to close the '{}' that begins on this line, found none; close it, "
                "and put commas between what it holds",
                list ? ']' : '}', list ? '[' : '{')};
  }
  if (is(YAML::ErrorMsg::MAP_VALUE)) {
    return {line,
            "expected one 'key: value' on a line, found a ':' where none can be; check the "
            "indentation of this "
            "line and the one before, and quote texts that hold ': '"};
  }
  if (is(YAML::ErrorMsg::END_OF_MAP) || is(YAML::ErrorMsg::END_OF_SEQ)) {
    return {line,
            "expected the next key or item, found something else; check the indentation, and quote "
            "texts that "
            "begin with a bracket, brace or quote"};
  }
  if (is(YAML::ErrorMsg::FLOW_END)) {
    return {line, "expected an opening bracket or brace before, found only the closing one"};
  }
  if (is(YAML::ErrorMsg::UNKNOWN_TOKEN)) {
    return {line, "expected a value, found a character that cannot begin one; quote the text"};
  }
  if (is(YAML::ErrorMsg::UNKNOWN_ANCHOR)) {
    return {line,
            "expected an alias of something named before, found a name that is not; quote texts "
            "that begin with "
            "'*'"};
  }
  if (is(YAML::ErrorMsg::INVALID_ESCAPE)) {
    return {line,
            "expected a known escape after '\\' in double quotes, found another; write \\\\ for a "
            "backslash, or "
            "use single quotes"};
  }
  return {line, fmt::format("expected YAML, found an error: {}", Shown(error.msg))};
}

void ParseInto(ConfigData& data, std::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    throw Unreadable{
        1, fmt::format("expected at most {} bytes, found {}", kMaxConfigBytes, text.size())};
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CheckBytes(text);
  Builder builder(data, text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::ParserException& error) {
    throw Explain(error, builder.open());
  } catch (const YAML::Exception& error) {
    throw Unreadable{std::max(error.mark.line, 0) + 1,
                     fmt::format("expected YAML, found an error: {}", error.msg)};
  }
  if (data.root == nullptr || data.root->kind == ConfigKind::kNull) {
    throw Unreadable{1, "expected keys and values, found an empty file"};
  }
}

bool OnlyDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A whole number by YAML 1.2: 12, -3, 0x1f, 0o17. `whole` says that it looks like one, however
// large.
std::optional<std::int64_t> ParseWhole(std::string_view text, bool& whole) {
  whole = false;
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || text.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() == text.size() && (digits.starts_with("0x") || digits.starts_with("0o"))) {
    base = digits[1] == 'x' ? 16 : 8;
    digits.remove_prefix(2);
    const std::string_view allowed = base == 16 ? "0123456789abcdefABCDEF" : "01234567";
    if (digits.empty() || digits.find_first_not_of(allowed) != std::string_view::npos)
      return std::nullopt;
  } else if (!OnlyDigits(digits)) {
    return std::nullopt;
  }
  whole = true;
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc() || magnitude > kMax) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

// A number by YAML 1.2: digits with a point or an exponent, .inf, .nan.
std::optional<double> ParseNumber(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == ".inf" || rest == ".Inf" || rest == ".INF") {
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN")
    return std::numeric_limits<double>::quiet_NaN();
  // from_chars also takes words such as inf, which YAML does not.
  if (rest.empty() || rest.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return std::nullopt;
  if (rest.front() != '.' && !OnlyDigits(rest.substr(0, 1))) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (end != rest.data() + rest.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too small reads as zero and too large as infinity.
    const std::size_t exponent = rest.find_first_of("eE");
    const bool tiny =
        exponent != std::string_view::npos && rest.substr(exponent + 1).starts_with('-');
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<bool> ParseBoolean(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<std::int64_t> ParseSize(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array kUnits = {Unit{"", 1},         Unit{"B", 1},        Unit{"kB", 1e3},
                                 Unit{"KB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                                 Unit{"TB", 1e12},    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                                 Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> amount = ParseNumber(text.substr(0, digits));
  if (!amount) return std::nullopt;
  std::string_view name = text.substr(digits);
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    const double bytes = *amount * unit.bytes;
    return bytes <= 0x1p60 ? std::optional(std::llround(bytes)) : std::nullopt;
  }
  return std::nullopt;
}

std::string RangeOf(IntegerRange range) {
  const IntegerRange any;
  if (range.min == any.min && range.max == any.max) return "a whole number";
  if (range.max == any.max) return fmt::format("a whole number of at least {}", range.min);
  if (range.min == any.min) return fmt::format("a whole number of at most {}", range.max);
  return fmt::format("a whole number from {} to {}", range.min, range.max);
}

std::string RangeOf(const NumberRange& range) {
  const bool below = std::isfinite(range.min);
  const bool above = std::isfinite(range.max);
  if (below && above) return fmt::format("a number from {} to {}", range.min, range.max);
  if (below) return fmt::format("a number of at least {}", range.min);
  if (above) return fmt::format("a number of at most {}", range.max);
  return range.finite ? "a finite number" : "a number";
}

void ShowInto(const ConfigRawNode& node, std::string& out) {
  if (out.size() > kLongestShown) return;
  switch (node.kind) {
    case ConfigKind::kNull: out += "nothing"; break;
    case ConfigKind::kScalar:
      out += node.quoted ? fmt::format("'{}'", Shown(node.text)) : Shown(node.text);
      break;
    case ConfigKind::kList:
    case ConfigKind::kMap: {
      const bool map = node.kind == ConfigKind::kMap;
      out += map ? '{' : '[';
      for (std::size_t i = 0; i < node.children.size() && out.size() <= kLongestShown; ++i) {
        const bool value = map && i % 2 == 1;
        // {lr} is a map to YAML, and shown as its author meant it.
        if (value && node.children[i]->kind == ConfigKind::kNull) continue;
        if (i > 0) out += value ? ": " : ", ";
        ShowInto(*node.children[i], out);
      }
      out += map ? '}' : ']';
      break;
    }
  }
}

// Adds a lower map's keys to an upper one, as many as can be seen.
void AddMissingShown(const ConfigRawNode& lower, ConfigRawNode& upper) {
  if (lower.kind != ConfigKind::kMap) return;
  for (std::size_t i = 0; i < lower.children.size(); i += 2) {
    if (upper.children.size() > kLongestShown) return;
    const auto same = [&](const ConfigRawNode* child) {
      return child->text == lower.children[i]->text;
    };
    bool found = false;
    for (std::size_t k = 0; k < upper.children.size(); k += 2)
      found = found || same(upper.children[k]);
    if (found) continue;
    upper.children.push_back(lower.children[i]);
    upper.children.push_back(lower.children[i + 1]);
  }
}

// At most `length` bytes, no character cut in two.
std::string_view Prefix(std::string_view text, std::size_t length) {
  if (text.size() <= length) return text;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return text.substr(0, length);
}

}  // namespace

std::string Shown(std::string_view text) {
  std::string out;
  for (const char c : Prefix(text, kLongestShown)) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (code < 0x20 || code == 0x7F) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  if (text.size() > kLongestShown) out += "...";
  return out;
}

ConfigNode::ConfigNode(ConfigData* data, const ConfigRawNode* raw, int line, std::string path)
    : data_(data), raw_(raw), line_(line), path_(std::move(path)) {}

bool ConfigNode::is_null() const { return raw_->kind == ConfigKind::kNull; }
bool ConfigNode::is_scalar() const { return raw_->kind == ConfigKind::kScalar; }
bool ConfigNode::is_list() const { return raw_->kind == ConfigKind::kList; }
bool ConfigNode::is_map() const { return raw_->kind == ConfigKind::kMap; }

ConfigNode ConfigNode::Named(std::string path) const {
  ConfigNode named = *this;
  named.path_ = std::move(path);
  return named;
}

std::size_t ConfigNode::size() const { return raw_->weight; }

std::string ConfigNode::Show() const {
  std::string out;
  if (below_.empty()) {
    ShowInto(*raw_, out);
  } else {
    ConfigRawNode whole = *raw_;
    for (const ConfigNode& layer : below_) AddMissingShown(*layer.raw_, whole);
    ShowInto(whole, out);
  }
  // Closing brackets may stand behind a scalar that was shortened already.
  return out.size() <= kLongestShown + 10 ? out : std::string(Prefix(out, kLongestShown)) + "...";
}

void ConfigNode::Report(std::string_view message) const { data_->Report(line_, path_, message); }

void ConfigNode::Expected(std::string_view what, std::string_view advice) const {
  Report(
      fmt::format("expected {}, found {}{}{}", what, Show(), advice.empty() ? "" : "; ", advice));
}

std::optional<std::string> ConfigNode::Text() const {
  if (!is_scalar()) {
    Expected("a text",
             is_map() || is_list() ? "quote a text that begins with a brace or bracket" : "");
    return std::nullopt;
  }
  if (raw_->text.find('\0') != std::string::npos) {
    Expected("a text without NUL characters");
    return std::nullopt;
  }
  return raw_->text;
}

std::optional<std::int64_t> ConfigNode::Integer(IntegerRange range) const {
  std::optional<std::int64_t> value;
  if (is_scalar() && !raw_->quoted) {
    bool whole = false;
    value = ParseWhole(raw_->text, whole);
    // Beyond 2^53 a floating number no longer says which whole one is meant.
    const std::optional<double> number = whole ? std::nullopt : ParseNumber(raw_->text);
    if (number && std::abs(*number) <= 0x1p53 && *number == std::trunc(*number)) {
      value = static_cast<std::int64_t>(*number);
    }
  }
  if (value && *value >= range.min && *value <= range.max) return value;
  Expected(RangeOf(range), is_scalar() && raw_->quoted ? "remove the quotes" : "");
  return std::nullopt;
}

std::optional<double> ConfigNode::Number(NumberRange range) const {
  std::optional<double> value;
  if (is_scalar() && !raw_->quoted) {
    value = ParseNumber(raw_->text);
    bool whole = false;
    if (!value) {
      if (const auto integer = ParseWhole(raw_->text, whole)) value = static_cast<double>(*integer);
    }
  }
  const bool allowed = value && (range.finite ? std::isfinite(*value) : true) &&
                       (std::isnan(*value) || (*value >= range.min && *value <= range.max));
  if (allowed) return value;
  NumberRange shown = range;
  if (!value) shown.finite = false;
  Expected(RangeOf(shown), is_scalar() && raw_->quoted ? "remove the quotes" : "");
  return std::nullopt;
}

std::optional<bool> ConfigNode::Boolean() const {
  const auto value = is_scalar() && !raw_->quoted ? ParseBoolean(raw_->text) : std::nullopt;
  if (!value) Expected("true or false", is_scalar() && raw_->quoted ? "remove the quotes" : "");
  return value;
}

std::optional<sluice::Duration> ConfigNode::Duration() const {
  if (is_scalar()) {
    if (const auto duration = ParseDuration(raw_->text)) return *duration;
  }
  Expected("a duration such as 90s, 20m, 1h30m or 2d");
  return std::nullopt;
}

std::optional<std::int64_t> ConfigNode::SizeBytes() const {
  const auto size = is_scalar() ? ParseSize(raw_->text) : std::nullopt;
  if (!size) Expected("a size such as 500kB, 16MiB or 2GB");
  return size;
}

std::optional<ConfigValue> ConfigNode::Value() const {
  if (!is_scalar()) {
    Expected("a text, a number, true or false", is_null() ? "quote it if a text is meant" : "");
    return std::nullopt;
  }
  if (!raw_->quoted) {
    if (const auto boolean = ParseBoolean(raw_->text)) return ConfigValue(*boolean);
    bool whole = false;
    const auto integer = ParseWhole(raw_->text, whole);
    if (integer) return ConfigValue(*integer);
    if (whole) {
      Expected("a whole number of at most 64 bits", "quote it if a text is meant");
      return std::nullopt;
    }
    if (const auto number = ParseNumber(raw_->text)) {
      if (std::isfinite(*number)) return ConfigValue(*number);
      Expected("a finite number", "quote it if a text is meant");
      return std::nullopt;
    }
  }
  const auto text = Text();
  return text ? std::optional(ConfigValue(*text)) : std::nullopt;
}

std::optional<std::string> ConfigNode::OneOf(std::span<const std::string> names) const {
  if (is_scalar() && std::ranges::find(names, raw_->text) != names.end()) return raw_->text;
  const std::string expected = names.size() == 1 ? names.front() : "one of " + Join(names);
  Report(fmt::format("expected {}, found {}{}", expected, Show(),
                     is_scalar() ? DidYouMean(raw_->text, names) : ""));
  return std::nullopt;
}

std::optional<std::vector<ConfigNode>> ConfigNode::List() const {
  if (!is_list()) {
    Expected("a list");
    return std::nullopt;
  }
  std::vector<ConfigNode> items;
  for (const ConfigRawNode* child : raw_->children) {
    items.push_back({data_, child, child->line, fmt::format("{}[{}]", path_, items.size())});
  }
  return items;
}

std::optional<ConfigMap> ConfigNode::Map() const {
  if (!is_map()) {
    Expected("a map of keys and values");
    return std::nullopt;
  }
  ConfigMap map(*this);
  std::map<std::string_view, int> first_lines;
  for (std::size_t i = 0; i + 1 < raw_->children.size(); i += 2) {
    const ConfigRawNode& key = *raw_->children[i];
    if (key.kind != ConfigKind::kScalar) {
      const ConfigNode node(data_, &key, key.line, path_);
      node.Expected("a word as key", "quote a key that begins with a brace or bracket");
      continue;
    }
    const std::string_view name = Prefix(key.text, kLongestShown);
    ConfigNode value(data_, raw_->children[i + 1], key.line,
                     path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name));
    const auto [first, is_new] = first_lines.emplace(key.text, key.line);
    if (!is_new) {
      value.Report(fmt::format(
          "expected each key once, found it again (first on line {}); remove one", first->second));
      continue;
    }
    map.entries_.push_back({key.text, std::move(value)});
  }
  for (const ConfigNode& layer : below_) {
    if (const auto lower = layer.Map()) map.AddMissing(*lower);
  }
  return map;
}

ConfigMap ConfigMap::Layered(const ConfigNode& node, std::span<const ConfigMap> layers,
                             std::span<const std::string> sections) {
  ConfigMap map(node);
  for (const ConfigMap& layer : layers) {
    for (Entry& upper : map.entries_) {
      if (!upper.value.is_map() || std::ranges::find(sections, upper.key) == sections.end())
        continue;
      if (const ConfigNode* lower = layer.Find(upper.key)) upper.value.below_.push_back(*lower);
    }
    map.AddMissing(layer);
  }
  return map;
}

void ConfigMap::AddMissing(const ConfigMap& lower) {
  std::set<std::string> mine;
  for (const Entry& entry : entries_) mine.insert(entry.key);
  std::ranges::copy_if(lower.entries_, std::back_inserter(entries_),
                       [&](const Entry& entry) { return !mine.contains(entry.key); });
}

ConfigMap ConfigMap::Without(std::string_view key) const {
  ConfigMap map = *this;
  std::erase_if(map.entries_, [&](const Entry& entry) { return entry.key == key; });
  return map;
}

const ConfigNode* ConfigMap::Find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  return found == entries_.end() ? nullptr : &found->value;
}

const ConfigNode* ConfigMap::Require(std::string_view key, std::string_view what,
                                     std::string_view advice) const {
  const ConfigNode* found = Find(key);
  if (found == nullptr) {
    node_.Named(node_.path().empty() ? std::string(key) : fmt::format("{}.{}", node_.path(), key))
        .Report(fmt::format("expected {}, found nothing{}{}", what, advice.empty() ? "" : "; ",
                            advice));
  }
  return found;
}

void ConfigMap::AllowOnly(std::span<const std::string> keys) const {
  for (const Entry& entry : entries_) {
    if (node_.data_->full()) break;
    if (std::ranges::find(keys, entry.key) != keys.end()) continue;
    const std::string nearest = DidYouMean(entry.key, keys);
    entry.value.Report(nearest.empty() ? fmt::format("unknown key; expected one of {}", Join(keys))
                                       : "unknown key" + nearest);
  }
}

ConfigFile::ConfigFile(std::unique_ptr<ConfigData> data) : data_(std::move(data)) {}
ConfigFile::ConfigFile(ConfigFile&&) noexcept = default;
ConfigFile& ConfigFile::operator=(ConfigFile&&) noexcept = default;
ConfigFile::~ConfigFile() = default;

Result<ConfigFile> ConfigFile::Parse(std::string_view text, std::string_view file) {
  auto data = std::make_unique<ConfigData>();
  data->file = file;
  try {
    ParseInto(*data, text);
  } catch (const Unreadable& problem) {
    return InvalidArgument(data->Prefix(problem.line, "") + problem.message);
  }
  return ConfigFile(std::move(data));
}

ConfigNode ConfigFile::root() const { return {data_.get(), data_->root, data_->root->line, ""}; }

Status ConfigFile::Check() const {
  if (data_->problems.empty()) return {};
  std::vector<ConfigData::Problem> problems = data_->problems;
  std::ranges::sort(problems, {}, [](const ConfigData::Problem& problem) {
    return std::pair(problem.line, problem.order);
  });
  std::vector<std::string> lines;
  for (const ConfigData::Problem& problem : problems) {
    if (lines.size() == kMaxListed) {
      lines.push_back(fmt::format("{}: and more problems; mend these first", data_->file));
      break;
    }
    lines.push_back(problem.text);
  }
  return InvalidArgument(Join(lines, "\n"));
}

}  // namespace sluice
