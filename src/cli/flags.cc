#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.h"
#include "engine/read/study_keys.h"

namespace sluice {
namespace {

static_assert(kLargestCount == kMaxTrials);

// Reads a count from 1 to `most`, and hands it to `set`.
Flags::Reading CountReading(const std::string& names, std::uint32_t most,
                            std::function<void(int)> set) {
  return [name = Flags::Flag{names}.long_name(), most, set](const std::string& word) -> Status {
    SLUICE_ASSIGN(const auto count, ReadNumber<std::uint32_t>(name, word, 1, most));
    set(static_cast<int>(count));
    return {};
  };
}

}  // namespace

Flags::Flag& Flags::Declare(std::string names) {
  declared_.push_back({.names = std::move(names)});
  return declared_.back();
}

Flags::Flag& Flags::Declare(std::string names, Reading read) {
  Flag& flag = Declare(std::move(names));
  steps_.push_back([&flag, read = std::move(read)]() -> Result<bool> {
    if (flag.word) SLUICE_TRY(read(*flag.word));
    return true;
  });
  return flag;
}

void Flags::Switch(std::string names, bool& into) {
  Flag& flag = Declare(std::move(names));
  flag.on = &into;
  flag.filled = [&into] { return into ? "yes" : ""; };
}

void Flags::Text(std::string names, std::string& into) {
  const auto read = [&into](const std::string& word) { return into = word, Status{}; };
  Declare(std::move(names), read).filled = [&into] { return into; };
}

void Flags::Text(std::string names, std::optional<std::string>& into) {
  const auto read = [&into](const std::string& word) { return into = word, Status{}; };
  Declare(std::move(names), read).filled = [&into] { return into.value_or(""); };
}

void Flags::List(std::string names, std::vector<std::string>& into) {
  Flag& flag = Declare(std::move(names));
  flag.list = &into;
  flag.filled = [&into] { return Join(into, ","); };
}

void Flags::CommaList(std::string names, std::vector<std::string>& into) {
  const auto read = [&into](const std::string& word) -> Status {
    for (std::size_t begin = 0; begin <= word.size();) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      const std::string text = word.substr(begin, end - begin);
      if (std::ranges::find(into, text) == into.end()) into.push_back(text);
      begin = end + 1;
    }
    return {};
  };
  Declare(std::move(names), read).filled = [&into] { return Join(into, ","); };
}

void Flags::Required(std::string names, std::string& into, std::string_view what) {
  Text(std::move(names), into);
  Check([this, &into, what]() -> Status {
    if (into.empty()) return Expected(what);
    return {};
  });
}

void Flags::NotEmpty(std::string names, std::optional<std::string>& into, std::string_view what) {
  const std::string name = Flag{names}.long_name();
  Text(std::move(names), into);
  Check([&into, name, what]() -> Status {
    if (into && into->empty())
      return InvalidArgument(fmt::format("{}: expected {}, found ''", name, what));
    return {};
  });
}

void Flags::Count(std::string names, int& into, std::uint32_t most) {
  const Reading read = CountReading(names, most, [&into](int count) { into = count; });
  Declare(std::move(names), read).filled = [&into] { return std::to_string(into); };
}

void Flags::Count(std::string names, std::optional<int>& into, std::uint32_t most) {
  const Reading read = CountReading(names, most, [&into](int count) { into = count; });
  Declare(std::move(names), read).filled = [&into] { return into ? std::to_string(*into) : ""; };
}

void Flags::TrialNumber(std::string names, TrialId& into) {
  const bool is_flag = names.starts_with('-');
  // Messages begin with it, as in "logs TRIAL" and "run --trial TRIAL".
  const std::string subject = is_flag ? fmt::format("{} {}", verb_, names) : verb_;
  Flag& flag = Declare(std::move(names));
  flag.filled = [&into] { return IsSet(into) ? std::to_string(Number(into)) : ""; };
  steps_.push_back([&flag, &into, subject, is_flag]() -> Result<bool> {
    if (is_flag && !flag.word) return true;
    const std::string word = flag.word.value_or("");
    if (word.empty()) {
      return InvalidArgument(
          fmt::format("{}: expected the number of a trial: {}", subject, SeeHelp(subject)));
    }
    SLUICE_ASSIGN(const auto number,
                  ReadNumber<std::uint32_t>(subject + " TRIAL", word, 1, kLargestCount));
    into = TrialId(number);
    return true;
  });
}

void Flags::TimeSpan(std::string names, std::optional<Duration>& into) {
  const auto read = [name = Flag{names}.long_name(), &into](const std::string& word) -> Status {
    const auto time = ParseDuration(word);
    if (!time) return InvalidArgument(fmt::format("{}: {}", name, time.error().message));
    into = *time;
    return {};
  };
  Declare(std::move(names), read).filled = [&into] {
    return into ? fmt::format("{}s", Seconds(*into)) : "";
  };
}

void Flags::OneOf(std::string names, std::vector<std::string> choices,
                  std::function<void(std::size_t)> set) {
  const std::string name = Flag{names}.long_name();
  Value(std::move(names), [name, choices, set](const std::string& word) -> Status {
    SLUICE_ASSIGN(const std::size_t at, ReadOneOf(name, word, choices));
    set(at);
    return {};
  });
}

void Flags::Value(std::string names, Reading read) { Declare(std::move(names), std::move(read)); }

void Flags::Check(std::function<Status()> check) {
  steps_.push_back([check = std::move(check)]() -> Result<bool> {
    SLUICE_TRY(check());
    return true;
  });
}

void Flags::OnlyIf(std::function<bool()> wanted) {
  steps_.push_back([wanted = std::move(wanted)]() -> Result<bool> { return wanted(); });
}

bool Flags::Given(std::string_view long_name) const {
  const auto flag = std::ranges::find(declared_, long_name, &Flag::long_name);
  if (flag == declared_.end()) return false;
  return flag->word || (flag->on != nullptr && *flag->on) ||
         (flag->list != nullptr && !flag->list->empty());
}

std::unexpected<Error> Flags::Expected(std::string_view what) const {
  return InvalidArgument(fmt::format("{}: expected {}: {}", verb_, what, SeeHelp(verb_)));
}

Status Flags::Read() {
  for (const auto& step : steps_) {
    SLUICE_ASSIGN(const bool goes_on, step());
    if (!goes_on) break;
  }
  return {};
}

std::string Flags::Filled() const {
  std::string text;
  for (const Flag& flag : declared_) {
    const std::string value = flag.filled ? flag.filled() : flag.word.value_or("");
    if (value.empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", flag.long_name(), value);
  }
  return text;
}

std::string SeeHelp(std::string_view verb) {
  return verb.empty() ? "'sluice --help' shows what there is"
                      : fmt::format("'sluice {} --help' shows examples", verb);
}

template <typename Integer>
Result<Integer> ReadNumber(std::string_view what, const std::string& text, Integer min,
                           Integer max) {
  Integer number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end && number >= min && number <= max) return number;
  const std::string range = max == std::numeric_limits<Integer>::max()
                                ? fmt::format("from {}", min)
                                : fmt::format("from {} to {}", min, max);
  return InvalidArgument(
      fmt::format("{}: expected a whole number {}, found '{}'", what, range, text));
}
template Result<std::uint32_t> ReadNumber(std::string_view, const std::string&, std::uint32_t,
                                          std::uint32_t);
template Result<std::uint64_t> ReadNumber(std::string_view, const std::string&, std::uint64_t,
                                          std::uint64_t);
template Result<std::int64_t> ReadNumber(std::string_view, const std::string&, std::int64_t,
                                         std::int64_t);

Result<std::size_t> ReadOneOf(std::string_view what, const std::string& text,
                              std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  return InvalidArgument(fmt::format("{}: expected one of {}, found '{}'{}", what, Join(names),
                                     text, DidYouMean(text, names)));
}

}  // namespace sluice
