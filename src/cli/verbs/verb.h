#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/flags.h"
#include "cli/view/terminal.h"
#include "ledger/store.h"

namespace sluice {

// What every verb needs to know.
struct Context {
  StorePaths paths;
  Terminal terminal;
  bool json = false;
};

constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

// What a verb does: prints to standard output and returns the exit status.
using Action = std::move_only_function<Result<int>(const Context&)>;

// A verb of the command line. Its file in this folder holds all of it: the options, the flags that
// fill them, the help and the action. Its row is in table.cc.
struct Verb {
  std::string_view help;  // ends with examples
  // Declares the verb's flags, and returns the action to run once the flags have been read.
  std::function<Action(Flags&)> declare;
};

// Makes a verb of three parts: its help, a function that declares its flags with the options that
// they fill, and a function that carries the verb out with these options.
template <typename Options>
Verb MakeVerb(std::string_view help, void (*declare)(Flags&, Options&),
              Result<int> (*run)(const Context&, const Options&)) {
  return {help, [declare, run](Flags& flags) -> Action {
            auto options = std::make_unique<Options>();
            declare(flags, *options);
            return [options = std::move(options), run](const Context& context) {
              return run(context, *options);
            };
          }};
}

}  // namespace sluice
