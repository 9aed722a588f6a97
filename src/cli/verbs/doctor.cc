#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "cli/checkup.h"
#include "cli/store_checkup.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/text/table.h"
#include "cli/verbs/verb.h"
#include "exec/machine/machine.h"
#include "exec/version.h"
#include "ledger/database.h"
#include "ledger/lock.h"

namespace sluice {
namespace {

constexpr std::string_view kDoctorHelp =
    R"(usage: sluice doctor [--replay NAME]

Checks what studies need on this machine: cores, GPUs and their driver, libraries, the store, its
folder and disk. Exits with 1 if something would keep studies from running.

  --replay NAME  also replay all events of this study, and compare the result with the state that
                 a restart begins from
  --store FILE   the store to check
  --json         as a JSON object
  -h, --help     print this

examples:
  sluice doctor
  sluice doctor --replay fashion
  sluice doctor --store /data/team.db
  sluice doctor --json | jq '.checks[] | select(.state != "ok")'
)";

struct DoctorOptions {
  std::optional<std::string> replay;  // a study whose ledger is replayed and compared
};

void DoctorFlags(Flags& flags, DoctorOptions& options) { flags.Text("--replay", options.replay); }

namespace fs = std::filesystem;

// The folder of a file. If that folder does not exist: the nearest folder above it that does.
std::string ExistingFolder(const std::string& file) {
  fs::path folder = fs::path(file).parent_path();
  std::error_code error;
  while (!fs::is_directory(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder.string();
}

std::vector<Checkup> CheckMachine() {
  const Machine machine = InspectMachine();
  std::vector<Checkup> checks;
  const double cores = static_cast<double>(machine.node.cpus) / kWhole;
  checks.push_back({"processor", cores > 0 ? Health::kOk : Health::kProblem,
                    fmt::format("{} cores for trials", cores)});
  checks.push_back({"memory", Health::kOk, FormatBytes(machine.memory_bytes)});
  if (machine.node.devices.empty()) {
    checks.push_back(
        {"gpu", Health::kOk, machine.gpu_note.empty() ? "none" : "none: " + machine.gpu_note});
  }
  for (const Device& device : machine.node.devices) {
    checks.push_back({"gpu", Health::kOk,
                      fmt::format("{}, {} ({}, driver {})", device.kind,
                                  FormatBytes(device.memory_bytes), device.uuid, machine.driver)});
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    const bool few = files.rlim_cur < 256;
    checks.push_back({"open files", few ? Health::kWarning : Health::kOk,
                      fmt::format("at most {}{}", files.rlim_cur,
                                  few ? ": raise it with 'ulimit -n 4096'" : "")});
  }
  return checks;
}

Checkup CheckLauncher() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path launcher = self.parent_path() / "sluice-launcher";
  if (access(launcher.c_str(), X_OK) == 0) return {"launcher", Health::kOk, launcher.string()};
  return {"launcher", Health::kWarning,
          fmt::format("no {}: trials need it beside sluice; install both", launcher.string())};
}

// Checks the free space on the disk of a folder, and how long a small write takes until it is safe
// on the disk. Every commit waits for such a write.
Checkup CheckDisk(const std::string& folder) {
  struct statvfs info{};
  if (statvfs(folder.c_str(), &info) != 0) {
    return {"disk", Health::kProblem, fmt::format("{}: {}", folder, std::strerror(errno))};
  }
  const auto free_bytes =
      static_cast<long long>(info.f_bavail) * static_cast<long long>(info.f_frsize);
  std::string name = folder + "/.sluice-doctor-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return {
        "disk", Health::kProblem,
        fmt::format("{}: cannot write ({}): name a store in a folder you can write with --store",
                    folder, std::strerror(errno))};
  }
  unlink(name.c_str());
  const auto begin = std::chrono::steady_clock::now();
  const std::string page(4096, 'x');
  const bool written =
      pwrite(descriptor, page.data(), page.size(), 0) == static_cast<ssize_t>(page.size()) &&
      fdatasync(descriptor) == 0;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  const int error = errno;
  close(descriptor);
  if (!written)
    return {"disk", Health::kProblem,
            fmt::format("{}: cannot write ({})", folder, std::strerror(error))};
  const bool low = free_bytes < 1'000'000'000;
  const bool slow = took.count() > 100;
  return {"disk", low || slow ? Health::kWarning : Health::kOk,
          fmt::format("{} free in {}, a safe write takes {:.2f} ms", FormatBytes(free_bytes),
                      folder, took.count())};
}

Checkup CheckController(const StorePaths& paths) {
  const LockHolder holder = FindLockHolder(paths);
  if (holder.pid == 0) return {"controller", Health::kOk, "none runs"};
  return {"controller", Health::kOk, fmt::format("process {} ({})", holder.pid, holder.purpose)};
}

Result<int> DoctorAction(const Context& context, const DoctorOptions& options) {
  std::vector<Checkup> checks = {{"sluice", Health::kOk, kVersion}};
  checks.push_back({"libraries", Health::kOk,
                    fmt::format("SQLite {}, fmt {}.{}.{}", SqliteVersion(), FMT_VERSION / 10000,
                                FMT_VERSION / 100 % 100, FMT_VERSION % 100)});
  checks.push_back(CheckLauncher());
  for (Checkup& check : CheckMachine()) checks.push_back(std::move(check));
  checks.push_back(CheckDisk(ExistingFolder(context.paths.database)));
  for (Checkup& check : CheckStore(context.paths)) checks.push_back(std::move(check));
  checks.push_back(CheckController(context.paths));
  if (options.replay) {
    SLUICE_ASSIGN(Checkup replay, CheckReplay(context.paths, *options.replay));
    checks.push_back(std::move(replay));
  }
  const bool problem =
      std::ranges::any_of(checks, [](const Checkup& c) { return c.health == Health::kProblem; });

  std::vector<std::string> items;
  Table table({{"check"}, {"state"}, {"found"}});
  for (const Checkup& check : checks) {
    JsonWriter object;
    object.Add("check", check.what).Add("state", Name(check.health));
    items.push_back(object.Add("found", check.found).Take());
    const Ink ink = check.health == Health::kOk        ? Ink::kGreen
                    : check.health == Health::kWarning ? Ink::kYellow
                                                       : Ink::kRed;
    table.Add({{check.what}, {std::string(Name(check.health)), ink}, {check.found}});
  }
  if (context.json) {
    JsonWriter object;
    PrintLine(object.Add("ok", !problem).AddJson("checks", JsonArray(items)).Take());
  } else {
    // Findings are shown in full, even if a line is wider than the terminal.
    Print(table.Render({.columns = 0, .colour = context.terminal.colour}));
  }
  return problem ? kExitFailure : kExitOk;
}

}  // namespace

Verb DoctorVerb() { return MakeVerb(kDoctorHelp, DoctorFlags, DoctorAction); }

}  // namespace sluice
