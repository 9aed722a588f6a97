#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/verbs/verb.h"

namespace sluice {

// What the command line asks for.
struct CommandLine {
  // Print the help of `verb`, or the help of the whole command if `verb` is empty. Do nothing else.
  struct Help {
    std::string verb;
  };
  struct Version {};
  struct Request {
    std::string verb;
    std::string filled;  // Flags::Filled
    Action action;
  };

  std::optional<std::string> store;
  bool json = false;
  std::variant<Help, Version, Request> asks_for;
};

// The first argument is the program's name. Fails with invalid_argument. The message suggests the
// nearest verb or flag if one was mistyped.
Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// The flags a verb takes, such as "--store", for the test that the help names them all.
std::vector<std::string> FlagsOf(std::string_view verb);

}  // namespace sluice
