#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace sluice {

constexpr std::uint32_t kLargestCount = 10'000'000;  // the most trials that a study may have
constexpr std::uint32_t kMaxSeeds = 10'000;

// The arguments and flags that a verb takes on the command line. The verb declares each argument
// ("STUDY", in the order in which they are typed) and each flag ("-q,--quiet"), and names the
// variable that it fills. ParseCommandLine (cli/command_line.h) then stores what was typed, and
// Read fills the variables, in the order of declaration. A variable for which nothing was typed is
// not changed. The variables must outlive the Flags.
class Flags {
 public:
  // An argument or a flag: how it was declared, and what was typed.
  struct Flag {
    std::string names;
    std::optional<std::string> word = {};      // the typed value; nullopt: nothing was typed
    std::vector<std::string>* list = nullptr;  // where the values go if there may be several
    bool* on = nullptr;                        // set to true if a flag without a value is typed
    std::function<std::string()> filled = {};  // the variable's value as text; null: `word` is it
    std::string long_name() const { return names.substr(names.find(',') + 1); }
  };
  using Reading = std::function<Status(const std::string& word)>;

  explicit Flags(std::string verb) : verb_(std::move(verb)) {}
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  void Switch(std::string names, bool& into);
  void Text(std::string names, std::string& into);
  void Text(std::string names, std::optional<std::string>& into);
  void List(std::string names, std::vector<std::string>& into);
  // Texts separated by commas. A repeated text is kept once.
  void CommaList(std::string names, std::vector<std::string>& into);
  // Must be typed. `what` says in the error message what was expected.
  void Required(std::string names, std::string& into, std::string_view what);
  // Need not be typed, but must not be ''. `what` says in the error message what was expected.
  void NotEmpty(std::string names, std::optional<std::string>& into, std::string_view what);
  // A whole number from 1 to `most`.
  void Count(std::string names, int& into, std::uint32_t most = kLargestCount);
  void Count(std::string names, std::optional<int>& into, std::uint32_t most = kLargestCount);
  // The number of a trial. It must be typed if it is an argument, and need not be if it is a flag.
  void TrialNumber(std::string names, TrialId& into);
  void TimeSpan(std::string names, std::optional<Duration>& into);
  // One of `choices`, which name the enumerators in their order.
  template <typename Enum>
  void Choice(std::string names, std::vector<std::string> choices, Enum& into) {
    OneOf(std::move(names), std::move(choices), [&into](auto at) { into = static_cast<Enum>(at); });
  }
  template <typename Enum>
  void Choice(std::string names, std::vector<std::string> choices, std::optional<Enum>& into) {
    OneOf(std::move(names), std::move(choices), [&into](auto at) { into = static_cast<Enum>(at); });
  }
  // Hands the typed word to `read`.
  void Value(std::string names, Reading read);

  // Adds a check. Read calls it after it has read the flags that were declared before the check.
  void Check(std::function<Status()> check);
  // The flags and checks declared after this call are read only if `wanted` returns true.
  void OnlyIf(std::function<bool()> wanted);

  // Whether something was typed for a flag. For a switch: whether it is on.
  bool Given(std::string_view long_name) const;
  // An invalid_argument such as "tune: expected WHAT: 'sluice tune --help' shows examples".
  std::unexpected<Error> Expected(std::string_view what) const;

  // Fills the variables. Fails with invalid_argument at the first mistake.
  Status Read();
  // The variables that are not empty, as in "STUDY=s.yaml --trials=5 --quiet=yes"; for tests.
  std::string Filled() const;
  std::deque<Flag>& declared() { return declared_; }

 private:
  Flag& Declare(std::string names);
  Flag& Declare(std::string names, Reading read);
  void OneOf(std::string names, std::vector<std::string> choices,
             std::function<void(std::size_t)> set);

  std::string verb_;
  std::deque<Flag> declared_;                         // a deque does not move its elements
  std::vector<std::function<Result<bool>()>> steps_;  // of Read, which ends at the first false
};

// Where to find help on a verb, as in "'sluice tune --help' shows examples".
std::string SeeHelp(std::string_view verb);

// Reads a whole number of the type std::uint32_t, std::uint64_t or std::int64_t. `what` begins the
// error message, as in "--seed: expected a whole number". The message leaves out `max` if it is the
// largest number of the type.
template <typename Integer>
Result<Integer> ReadNumber(std::string_view what, const std::string& text, Integer min,
                           Integer max);

// The index of `text` in `names`. `what` begins the error message.
Result<std::size_t> ReadOneOf(std::string_view what, const std::string& text,
                              std::span<const std::string> names);

}  // namespace sluice
