#include "cli/main.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <exception>

#include "cli/command_line.h"
#include "cli/places.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/table.h"
#include "exec/version.h"

namespace sluice {
namespace {

int ExitStatusOf(const Error& error) {
  const bool input =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kNotFound;
  return input ? kExitUsage : kExitFailure;
}

Result<int> Run(const CommandLine& line, CommandLine::Request& request) {
  SLUICE_ASSIGN(StorePaths paths, FindStore(line.store));
  return request.action(
      {.paths = std::move(paths), .terminal = LookAtTerminal(), .json = line.json});
}

Result<int> Run(const CommandLine&, const CommandLine::Help& help) {
  Print(HelpFor(help.verb));
  return kExitOk;
}

Result<int> Run(const CommandLine& line, const CommandLine::Version&) {
  JsonWriter object;
  PrintLine(line.json ? object.Add("version", kVersion).Take()
                      : fmt::format("sluice {}", kVersion));
  return kExitOk;
}

Result<int> RunArguments(int argc, char** argv) {
  SLUICE_ASSIGN(CommandLine line, ParseCommandLine(argc, argv));
  SLUICE_ASSIGN(const int status,
                std::visit([&](auto& asked) { return Run(line, asked); }, line.asks_for));
  if (!FinishOutput())
    return Unavailable("standard output: cannot write all of it: is the disk full?");
  return status;
}

}  // namespace

int RunSluice(int argc, char** argv) {
  // Other users can never write to the files that this process and its programs make.
  umask(umask(0) | S_IWOTH);
  try {
    const Result<int> status = RunArguments(argc, argv);
    if (status) return *status;
    Remark(status.error().message);
    return ExitStatusOf(status.error());
  } catch (const std::exception& error) {
    // Thrown by the standard library: out of memory, or the working folder is gone.
    Remark(error.what());
    return kExitFailure;
  }
}

}  // namespace sluice
