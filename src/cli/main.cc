#include "cli/main.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <exception>

#include "cli/help.h"
#include "cli/options.h"
#include "cli/places.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verbs.h"
#include "cli/version.h"

namespace sluice {
namespace {

int ExitStatusOf(const Error& error) {
  const bool input =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kNotFound;
  return input ? kExitUsage : kExitFailure;
}

template <typename Verb>
Result<int> Run(const Options& options, const Verb& verb) {
  SLUICE_ASSIGN(StorePaths paths, FindStore(options.store));
  return RunVerb({.paths = std::move(paths), .terminal = LookAtTerminal(), .json = options.json},
                 verb);
}

Result<int> Run(const Options&, const HelpOptions& help) {
  Print(HelpFor(help.verb));
  return kExitOk;
}

Result<int> Run(const Options& options, const VersionOptions&) {
  JsonWriter object;
  PrintLine(options.json ? object.Add("version", kVersion).Take()
                         : fmt::format("sluice {}", kVersion));
  return kExitOk;
}

Result<int> RunArguments(int argc, char** argv) {
  SLUICE_ASSIGN(const Options options, ParseOptions(argc, argv));
  SLUICE_ASSIGN(const int status,
                std::visit([&](const auto& verb) { return Run(options, verb); }, options.verb));
  if (!FinishOutput())
    return Unavailable("standard output: cannot write all of it: is the disk full?");
  return status;
}

}  // namespace

int RunSluice(int argc, char** argv) {
  // Files that this process and its programs make are never writable by others.
  umask(umask(0) | S_IWOTH);
  try {
    const Result<int> status = RunArguments(argc, argv);
    if (status) return *status;
    Remark(status.error().message);
    return ExitStatusOf(status.error());
  } catch (const std::exception& error) {
    // Of the standard library: no memory, or a working folder that is gone.
    Remark(error.what());
    return kExitFailure;
  }
}

}  // namespace sluice
