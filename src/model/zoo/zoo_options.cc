#include "model/zoo/zoo_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace sluice::model {
namespace {

constexpr std::size_t kMaxDigits = 8;  // of a number
constexpr std::int64_t kMostOfAnOption = 99'999'999;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits && std::ranges::all_of(text, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

std::vector<std::string_view> Split(std::string_view list, char between = ',') {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(between), list.size());
    parts.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

}  // namespace

Result<ZooOptions> ZooOptions::Read(std::string_view usual, std::string_view given) {
  ZooOptions options;
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> words;  // allowed for each option
  for (const std::string_view part : Split(usual)) {
    const std::size_t equals = part.find('=');
    names.emplace_back(part.substr(0, equals));
    for (const std::string_view word : Split(part.substr(equals + 1), '|'))
      words[names.back()].emplace_back(word);
    options.values_[names.back()] = words[names.back()].front();
  }
  for (const std::string_view part : Split(given)) {
    const std::size_t equals = part.find('=');
    const std::string name(part.substr(0, equals));
    const auto known = options.values_.find(name);
    if (equals == std::string_view::npos || known == options.values_.end()) {
      return InvalidArgument(fmt::format("expected options of {}, found '{}'{}",
                                         usual.empty() ? "none" : usual, Shown(part),
                                         DidYouMean(name, names)));
    }
    const std::string_view value = part.substr(equals + 1);
    const bool is_number = IsNumber(known->second);
    if (is_number && (!IsNumber(value) || value.find_first_not_of('0') == value.npos)) {
      return InvalidArgument(fmt::format("{}: expected a number from 1 to {}, found '{}'", name,
                                         kMostOfAnOption, Shown(value)));
    }
    const std::vector<std::string>& allowed = words[name];
    if (!is_number && std::ranges::find(allowed, value) == allowed.end()) {
      return InvalidArgument(fmt::format("{}: expected one of {}, found '{}'{}", name,
                                         Join(allowed), Shown(value), DidYouMean(value, allowed)));
    }
    known->second = value;
  }
  return options;
}

std::int64_t ZooOptions::Number(std::string_view name) const {
  const std::string& text = Text(name);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

const std::string& ZooOptions::Text(std::string_view name) const {
  const auto found = values_.find(name);
  SLUICE_CHECK(found != values_.end(), "a network of the zoo asks for options that it has");
  return found->second;
}

}  // namespace sluice::model
