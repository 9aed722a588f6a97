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

// Prints to standard output and returns the exit status.
using Action = std::move_only_function<Result<int>(const Context&)>;

// A verb of the command line. Its file in this folder holds all of it: the options, the flags that
// fill them, the help and the action. Its row is in table.cc.
struct Verb {
  std::string_view help;  // ends with examples
  // Declares the flags, and returns what is done once they are read.
  std::function<Action(Flags&)> declare;
};

// A verb of three parts: its help, the function that declares its flags with the options that they
// fill, and the function that does what the options ask for.
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
