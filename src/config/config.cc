#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "config/raw_node.h"
#include "config/scalar.h"
#include "config/yaml_reader.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxListed = 100;

std::string RangeOf(IntegerRange range) {
  const IntegerRange any;
  constexpr std::int64_t kHardlyALimit = 1LL << 50;
  if (range.min <= -kHardlyALimit && range.max >= kHardlyALimit) return "a whole number";
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
        // YAML reads {lr} as a map from lr to null. It is shown as the user wrote it.
        if (value && node.children[i]->kind == ConfigKind::kNull) continue;
        if (i > 0) out += value ? ": " : ", ";
        ShowInto(*node.children[i], out);
      }
      out += map ? '}' : ']';
      break;
    }
  }
}

void WholeInto(const ConfigRawNode& node, std::string& out) {
  switch (node.kind) {
    case ConfigKind::kNull: out += '~'; return;
    case ConfigKind::kScalar:
      out += fmt::format("{}{}:{}", node.quoted ? "q" : "p", node.text.size(), node.text);
      return;
    case ConfigKind::kList:
    case ConfigKind::kMap:
      out += node.kind == ConfigKind::kMap ? '{' : '[';
      for (const ConfigRawNode* child : node.children) WholeInto(*child, out);
      out += node.kind == ConfigKind::kMap ? '}' : ']';
      return;
  }
}

// Only the letters and digits of a text, in lower case.
std::string Letters(std::string_view text) {
  std::string letters;
  for (const unsigned char c : text) {
    if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
  }
  return letters;
}

// Advice on what to write instead of a value that is not a number or not in the range.
std::string CureOfNumber(const ConfigRawNode& node, bool whole, std::string_view instead) {
  if (node.kind == ConfigKind::kList && node.children.size() == 1 &&
      node.children.front()->kind == ConfigKind::kScalar)
    return fmt::format("write '{}'", node.children.front()->text);
  if (node.kind != ConfigKind::kScalar) return std::string(instead);
  if (node.quoted) return "remove the quotes";
  const std::string number = SuggestNumber(node.text);
  const bool fits = !number.empty() && !(whole && number.contains('.'));
  return fits ? fmt::format("write '{}'", number) : std::string(instead);
}

// Adds to the upper map the keys that only the lower map has, but not more than a message can show.
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

}  // namespace

std::string ConfigData::Prefix(int line, std::string_view path) const {
  return fmt::format("{}:{}: {}{}", file, line, Shown(path), path.empty() ? "" : ": ");
}

void ConfigData::Report(int line, std::string_view path, std::string_view message) {
  if (full()) return;
  const auto [text, is_new] = said.insert(Prefix(line, path).append(message));
  if (is_new) problems.push_back({line, problems.size(), *text});
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
  // A scalar that was shortened already may have closing brackets behind it. So a few bytes more
  // than kLongestShown are allowed.
  return out.size() <= kLongestShown + 10 ? out
                                          : std::string(FirstBytes(out, kLongestShown)) + "...";
}

std::string ConfigNode::Whole() const {
  std::string out;
  WholeInto(*raw_, out);
  return out;
}

void ConfigNode::Report(std::string_view message) const { data_->Report(line_, path_, message); }

void ConfigNode::Expected(std::string_view what, std::string_view advice) const {
  const std::string other = is_scalar() ? Lookalike(raw_->text) : "";
  std::string cure(advice);
  if (!other.empty()) cure = other + ": type it again";
  if (is_scalar() && !raw_->quoted && raw_->text.contains('#'))
    cure = "put a space before '#' if it begins a comment";
  if (is_scalar() && !raw_->quoted && raw_->text.contains(" //"))
    cure = "write '#' before a comment, not '//'";
  Report(fmt::format("expected {}, found {}{}{}", what, Show(), cure.empty() ? "" : "; ", cure));
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
    // Beyond 2^53 a floating-point number no longer tells which whole number is meant.
    const std::optional<double> number = whole ? std::nullopt : ParseNumber(raw_->text);
    if (number && std::abs(*number) <= 0x1p53 && *number == std::trunc(*number)) {
      value = static_cast<std::int64_t>(*number);
    }
  }
  if (value && *value >= range.min && *value <= range.max) return value;
  const bool fraction = is_scalar() && !value && ParseNumber(raw_->text).has_value();
  const bool above = value && *value > range.max;
  Expected(RangeOf(range), CureOfNumber(*raw_, /*whole=*/true,
                                        above      ? ""
                                        : fraction ? range.fraction
                                                   : range.instead));
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
  std::string cure = CureOfNumber(*raw_, /*whole=*/false, "");
  if (is_scalar() && raw_->text.ends_with('%') && range.max == 100)
    cure = fmt::format("write '{}'", raw_->text.substr(0, raw_->text.size() - 1));
  Expected(RangeOf(shown), cure);
  return std::nullopt;
}

std::optional<bool> ConfigNode::Boolean() const {
  const auto value = is_scalar() && !raw_->quoted ? ParseBoolean(raw_->text) : std::nullopt;
  if (!value) {
    std::string cure = is_scalar() && raw_->quoted ? "remove the quotes" : "";
    for (const auto& [word, meant] :
         {std::pair("yes", "true"), std::pair("on", "true"), std::pair("1", "true"),
          std::pair("no", "false"), std::pair("off", "false"), std::pair("0", "false")}) {
      if (is_scalar() && !raw_->quoted && raw_->text == word)
        cure = fmt::format("write '{}'", meant);
    }
    Expected("true or false", cure);
  }
  return value;
}

std::optional<sluice::Duration> ConfigNode::Duration() const {
  if (is_scalar()) {
    if (const auto duration = ParseDuration(raw_->text)) return *duration;
  }
  Expected("a duration such as 90s, 20m, 1h30m or 2d",
           is_scalar() ? SuggestDuration(raw_->text) : "");
  return std::nullopt;
}

std::optional<std::int64_t> ConfigNode::SizeBytes() const {
  const auto size = is_scalar() ? ParseSize(raw_->text) : std::nullopt;
  if (!size)
    Expected("a size such as 500kB, 16MiB or 2GB", is_scalar() ? SuggestSize(raw_->text) : "");
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

std::optional<std::string> ConfigNode::OneOf(
    std::span<const std::string> names,
    std::span<const std::pair<std::string, std::string>> foreign) const {
  if (is_scalar() && std::ranges::find(names, raw_->text) != names.end()) return raw_->text;
  const std::string expected = names.size() == 1 ? names.front() : "one of " + Join(names);
  std::string cure;
  for (const auto& [theirs, ours] : foreign) {
    const bool meant = is_scalar() && Letters(raw_->text) == Letters(theirs);
    if (meant && cure.empty()) cure = fmt::format("; write '{}'", ours);
  }
  if (cure.empty() && is_scalar()) cure = DidYouMean(raw_->text, names);
  for (const ConfigRawNode* child : raw_->children) {  // "{name: tpe}", "[tpe]"
    const bool named =
        child->kind == ConfigKind::kScalar && std::ranges::find(names, child->text) != names.end();
    if (named && cure.empty()) cure = fmt::format("; write '{}' alone", child->text);
  }
  Report(fmt::format("expected {}, found {}{}", expected, Show(), cure));
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

std::optional<ConfigMap> ConfigNode::Map(std::string_view advice) const {
  if (!is_map()) {
    Expected("a map of keys and values", advice);
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
    const std::string_view name = FirstBytes(key.text, kLongestShown);
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

ConfigFile::ConfigFile(std::unique_ptr<ConfigData> data) : data_(std::move(data)) {}
ConfigFile::ConfigFile(ConfigFile&&) noexcept = default;
ConfigFile& ConfigFile::operator=(ConfigFile&&) noexcept = default;
ConfigFile::~ConfigFile() = default;

Result<ConfigFile> ConfigFile::Parse(std::string_view text, std::string_view file) {
  auto data = std::make_unique<ConfigData>();
  data->file = file;
  try {
    ReadYaml(text, *data);
  } catch (const Unreadable& problem) {
    return InvalidArgument(data->Prefix(problem.line, "") + problem.message);
  }
  return ConfigFile(std::move(data));
}

ConfigNode ConfigFile::root() const { return {data_.get(), data_->root, data_->root->line, ""}; }

ConfigNode ConfigFile::At(std::string_view path) const {
  ConfigNode node = root();
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    bool whole = false;
    const auto map = node.is_map() ? node.Map() : std::nullopt;
    const auto items = node.is_list() ? node.List() : std::nullopt;
    const auto index = ParseWhole(key, whole);
    if (const ConfigNode* inner = map ? map->Find(key) : nullptr) {
      node = ConfigNode(*inner);
    } else if (items && index && *index >= 0 && std::cmp_less(*index, items->size())) {
      node = (*items)[static_cast<std::size_t>(*index)].Named(node.path());
    } else {
      break;
    }
  }
  return node;
}

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
