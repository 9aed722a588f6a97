#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "base/text.h"
#include "config/config.h"
#include "config/raw_node.h"
#include "config/scalar.h"

namespace sluice {
namespace {

// "trials: 24" for "trials = 24" or "trials 24". Empty if a key is not written like these.
std::string PairOf(std::string_view key) {
  const std::size_t end = key.find_first_of(" =:");
  if (end == 0 || end == std::string_view::npos) return "";
  const std::size_t value = key.find_first_not_of(" =:", end);
  if (value == std::string_view::npos || std::string_view("<>!").contains(key[value])) return "";
  return fmt::format("{}: {}", Shown(key.substr(0, end)), Shown(key.substr(value)));
}

// Puts the value from the file into an example such as "'trials: 24'". A number replaces a number,
// a duration replaces a duration, and any scalar replaces a word in capitals. A map that has the
// key 'name' replaces a word in small letters. Otherwise the example stays as it is.
std::string WithValue(const std::string& example, const ConfigNode& value) {
  const std::size_t begin = example.find(": ");
  const std::size_t end = begin == std::string::npos ? begin : example.find('\'', begin);
  if (end == std::string::npos) return example;
  const std::string_view theirs = std::string_view(example).substr(begin + 2, end - begin - 2);
  const std::string mine = value.Show();
  const auto capital = [](unsigned char c) { return std::isupper(c) != 0; };
  const auto small = [](unsigned char c) { return std::islower(c) != 0; };
  bool alike = false;
  if (value.is_scalar()) {
    bool whole = false;
    const bool integer = ParseWhole(theirs, whole).has_value();
    alike = integer                           ? ParseWhole(mine, whole).has_value()
            : ParseNumber(theirs).has_value() ? ParseNumber(mine).has_value()
            : ParseDuration(theirs)           ? ParseDuration(mine).has_value()
                                              : std::ranges::all_of(theirs, capital);
  } else if (value.is_map() && std::ranges::all_of(theirs, small)) {
    alike = value.Map()->Find("name") != nullptr;
  }
  const bool whole_shown = !mine.ends_with("...");
  return alike && whole_shown
             ? fmt::format("{}{}{}", example.substr(0, begin + 2), mine, example.substr(end))
             : example;
}

}  // namespace

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
  if (found == nullptr &&
      !node_.data_->misspelt.contains(fmt::format("{}.{}", node_.path(), key))) {
    node_.Named(node_.path().empty() ? std::string(key) : fmt::format("{}.{}", node_.path(), key))
        .Report(fmt::format("expected {}, found nothing{}{}", what, advice.empty() ? "" : "; ",
                            advice));
  }
  return found;
}

void ConfigMap::AllowOnly(std::span<const std::string> keys,
                          std::span<const std::pair<std::string, std::string>> foreign) const {
  for (const Entry& entry : entries_) {
    if (node_.data_->full()) break;
    if (std::ranges::find(keys, entry.key) != keys.end()) continue;
    using Translation = std::pair<std::string, std::string>;
    const auto translation = std::ranges::find(foreign, entry.key, &Translation::first);
    const std::string nearest = DidYouMean(entry.key, keys);
    if (const std::string hidden = HiddenCharacter(entry.key); !hidden.empty()) {
      entry.value.Report(fmt::format(
          "unknown key: it holds {}, which looks like a space or like nothing; type it again",
          hidden));
    } else if (const std::string other = Lookalike(entry.key); !other.empty()) {
      entry.value.Report(fmt::format("unknown key: {}: type it again", other));
    } else if (translation != foreign.end()) {
      entry.value.Report(
          fmt::format("unknown key; write {}", WithValue(translation->second, entry.value)));
    } else {
      const std::string pair = entry.value.is_null() ? PairOf(entry.key) : "";
      const bool expression =
          entry.value.is_null() && entry.key.find_first_of("<>") != std::string::npos;
      if (expression) {
        entry.value.Report(
            "expected a key, found a part of an expression, since a comma ends a value inside "
            "braces; "
            "quote the whole expression, and write 'and' in place of the comma");
        continue;
      }
      entry.value.Report(!pair.empty() ? fmt::format("expected 'key: value'; write '{}'", pair)
                         : nearest.empty()
                             ? fmt::format("unknown key; expected one of {}", Join(keys))
                             : "unknown key" + nearest);
    }
    // The key that was probably meant must not be reported as missing, too.
    std::string_view meant = Nearest(entry.key, keys);
    if (translation != foreign.end()) {  // "'trials: 24'"
      meant = translation->second;
      meant.remove_prefix(std::min<std::size_t>(1, meant.size()));
      meant = meant.substr(0, meant.find_first_of(":'"));
    }
    Excuse(meant);
  }
}

void ConfigMap::Excuse(std::string_view key) const {
  node_.data_->misspelt.insert(fmt::format("{}.{}", node_.path(), key));
}

}  // namespace sluice
