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

constexpr std::uint32_t kLargestCount = 10'000'000;  // as many trials as a study may have
constexpr std::uint32_t kMaxSeeds = 10'000;

// What a verb takes on the command line. The verb declares each argument ("STUDY", in the order
// they are typed) and each flag ("-q,--quiet") with the variable that it fills. ParseCommandLine
// notes what was typed (cli/command_line.h). Read then fills the variables, in the order of
// declaration. A variable stays as it is where nothing was typed. The variables outlive the Flags.
class Flags {
 public:
  // An argument or a flag: how it was declared, and what was typed.
  struct Flag {
    std::string names;
    std::optional<std::string> word = {};
    std::vector<std::string>* list = nullptr;  // filled, if it may be typed several times
    bool* on = nullptr;                        // filled, if it takes no value
    std::function<std::string()> filled = {};  // what the variable holds; null: the word
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
  // Texts with commas between them, each once.
  void CommaList(std::string names, std::vector<std::string>& into);
  // Must be typed. `what` is what was expected, for the message.
  void Required(std::string names, std::string& into, std::string_view what);
  // Must not be ''. `what` is what was expected, for the message.
  void NotEmpty(std::string names, std::optional<std::string>& into, std::string_view what);
  // From 1 to `most`.
  void Count(std::string names, int& into, std::uint32_t most = kLargestCount);
  void Count(std::string names, std::optional<int>& into, std::uint32_t most = kLargestCount);
  // The number of a trial. An argument must be typed, a flag need not be.
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
  // Whatever `read` makes of the word.
  void Value(std::string names, Reading read);

  // Adds a check that Read makes in the order of declaration: the flags declared before it have
  // been read by then.
  void Check(std::function<Status()> check);
  // What is declared after this is read only if `wanted` says so.
  void OnlyIf(std::function<bool()> wanted);

  // Whether something was typed for a flag. Of a switch: whether it is on.
  bool Given(std::string_view long_name) const;
  // "tune: expected WHAT: 'sluice tune --help' shows examples"
  std::unexpected<Error> Expected(std::string_view what) const;

  // Fails with invalid_argument at the first thing that is wrong.
  Status Read();
  // What is not empty, as in "STUDY=s.yaml --trials=5 --quiet=yes"; for tests.
  std::string Filled() const;
  std::deque<Flag>& declared() { return declared_; }

 private:
  Flag& Declare(std::string names);
  Flag& Declare(std::string names, Reading read);
  void OneOf(std::string names, std::vector<std::string> choices,
             std::function<void(std::size_t)> set);

  std::string verb_;
  std::deque<Flag> declared_;                         // elements stay where they are
  std::vector<std::function<Result<bool>()>> steps_;  // of Read; false: the rest is not read
};

// "'sluice tune --help' shows examples"
std::string SeeHelp(std::string_view verb);

// A whole number of the type std::uint32_t, std::uint64_t or std::int64_t. `what` begins the
// message, as in "--seed: expected a whole number". A `max` that is the largest number of the type
// is not mentioned in the message.
template <typename Integer>
Result<Integer> ReadNumber(std::string_view what, const std::string& text, Integer min,
                           Integer max);

// The place of a text among `names`. `what` begins the message.
Result<std::size_t> ReadOneOf(std::string_view what, const std::string& text,
                              std::span<const std::string> names);

}  // namespace sluice
