#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "base/text.h"
#include "cli/verbs/table.h"

namespace sluice {
namespace {

// The options that every verb takes, before the verb or after it.
struct GlobalOptions {
  std::optional<std::string> store;
  bool json = false;
  bool version = false;  // only before the verb
};

// Makes CLI11 store what is typed for `app` (a verb, or the whole command) in `flags`.
void AddTo(CLI::App& app, Flags& flags) {
  app.set_help_flag("-h,--help");
  for (Flags::Flag& flag : flags.declared()) {
    if (flag.on != nullptr) {
      app.add_flag(flag.names, *flag.on);
    } else if (flag.list != nullptr) {
      app.add_option_function<std::vector<std::string>>(
          flag.names, [&flag](const std::vector<std::string>& words) { *flag.list = words; });
    } else {
      // CLI11 2.1 can fill a plain string, and the word is an optional one.
      app.add_option_function<std::string>(flag.names,
                                           [&flag](const std::string& word) { flag.word = word; })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
}

std::vector<std::string> LongFlags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// The command with all its verbs, as it was typed.
class TypedCommand {
 public:
  TypedCommand() {
    // If --store is given before and after the verb, the value after the verb counts. The verb's
    // own flags check that the value that counts is not empty (DeclareGlobal).
    whole_.Text("--store", globals_.store);
    whole_.Switch("--json", globals_.json);
    whole_.Switch("--version", globals_.version);
    AddTo(app_, whole_);
    // At most one verb is parsed, so that a study may have the name of a verb.
    app_.require_subcommand(0, 1);
    for (const VerbRow& row : VerbTable()) {
      Declared& verb = verbs_.emplace_back(std::string(row.name));
      DeclareGlobal(verb.flags);
      verb.action = row.make().declare(verb.flags);
      AddTo(*app_.add_subcommand(verb.name), verb.flags);
    }
    DeclareGlobal(help_);
    help_.Text("VERB", topic_);
    AddTo(*app_.add_subcommand("help"), help_);
  }
  TypedCommand(const TypedCommand&) = delete;
  TypedCommand& operator=(const TypedCommand&) = delete;

  Result<CommandLine> Parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return AskedForHelp();
    } catch (const CLI::ParseError& error) {
      return Explain(error);
    }
    return Read();
  }

  std::vector<std::string> FlagsOf(std::string_view verb) const {
    return LongFlags(*app_.get_subcommand(std::string(verb)));
  }

 private:
  struct Declared {
    explicit Declared(std::string its_name) : name(std::move(its_name)), flags(name) {}
    std::string name;
    Flags flags;
    Action action;
  };

  void DeclareGlobal(Flags& flags) {
    flags.NotEmpty("--store", globals_.store, "a file");
    flags.Switch("--json", globals_.json);
  }

  // The verb that was typed; empty: none.
  std::string TypedVerb() const {
    const auto typed = app_.get_subcommands();
    return typed.empty() ? "" : typed.front()->get_name();
  }

  static std::unexpected<Error> UnknownVerb(const std::string& typed) {
    return InvalidArgument(fmt::format("no verb '{}'{}: 'sluice --help' lists them", typed,
                                       DidYouMean(typed, VerbNames())));
  }

  Result<CommandLine> AskedForHelp() const {
    const std::string verb = TypedVerb();
    const std::vector<std::string> left = app_.remaining();
    const auto word = std::ranges::find_if(left, [](const auto& w) { return !w.starts_with('-'); });
    if (verb.empty() && word != left.end()) return UnknownVerb(*word);
    return CommandLine{
        .store = {}, .json = false, .asks_for = CommandLine::Help{verb == "help" ? "" : verb}};
  }

  // Says in our own words what CLI11 could not parse. An unknown flag is named first, because it
  // causes the other errors.
  std::unexpected<Error> Explain(const CLI::ParseError& error) const {
    const std::string verb = TypedVerb();
    const CLI::App& active = verb.empty() ? app_ : *app_.get_subcommand(verb);
    const std::string prefix = verb.empty() ? "" : verb + ": ";
    const std::vector<std::string> left = app_.remaining(/*recurse=*/true);
    for (const std::string& word : left) {
      if (!word.starts_with('-')) continue;
      const std::string flag = word.substr(0, word.find('='));
      return InvalidArgument(fmt::format("{}no flag '{}'{}: {}", prefix, flag,
                                         DidYouMean(flag, LongFlags(active)), SeeHelp(verb)));
    }
    if (!left.empty() && verb.empty()) return UnknownVerb(left.front());
    if (!left.empty()) {
      return InvalidArgument(fmt::format("{}expected no further argument, found '{}': {}", prefix,
                                         left.front(), SeeHelp(verb)));
    }
    return InvalidArgument(fmt::format("{}{}: {}", prefix, error.what(), SeeHelp(verb)));
  }

  Result<CommandLine> Read() {
    SLUICE_TRY(whole_.Read());
    if (globals_.version) {
      return CommandLine{.store = {}, .json = globals_.json, .asks_for = CommandLine::Version{}};
    }
    const std::string typed = TypedVerb();
    if (typed.empty()) {
      return InvalidArgument(
          "expected a verb, as in 'sluice tune study.yaml': 'sluice --help' lists them");
    }
    if (typed == "help") return ReadHelp();
    Declared& verb = *std::ranges::find(verbs_, typed, &Declared::name);
    SLUICE_TRY(verb.flags.Read());
    return CommandLine{
        .store = globals_.store,
        .json = globals_.json,
        .asks_for = CommandLine::Request{typed, verb.flags.Filled(), std::move(verb.action)}};
  }

  Result<CommandLine> ReadHelp() {
    SLUICE_TRY(help_.Read());
    if (!topic_.empty() && HelpFor(topic_).empty()) return UnknownVerb(topic_);
    return CommandLine{.store = {}, .json = false, .asks_for = CommandLine::Help{topic_}};
  }

  CLI::App app_{"", "sluice"};
  GlobalOptions globals_;
  Flags whole_{""};
  std::deque<Declared> verbs_;  // a deque does not move its elements
  Flags help_{"help"};
  std::string topic_;
};

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  return TypedCommand().Parse(argc, argv);
}

std::vector<std::string> FlagsOf(std::string_view verb) { return TypedCommand().FlagsOf(verb); }

}  // namespace sluice
