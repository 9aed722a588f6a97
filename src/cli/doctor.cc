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

#include "cli/print.h"
#include "cli/print_json.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/version.h"
#include "exec/machine.h"
#include "ledger/database.h"
#include "ledger/lock.h"
#include "ledger/recovery.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

enum class Health { kOk, kWarning, kProblem };

struct Checkup {
  std::string what;
  Health health = Health::kOk;
  std::string found;
};

std::string_view Name(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kWarning: return "warning";
    case Health::kProblem: return "problem";
  }
  return "";
}

// The folder the store is or would be in, as far as it exists.
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

// How long a small write takes to be safe on the disk of a folder: what every group of results
// waits for.
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

// Every page of the store is read with `whole`; otherwise the tables that say where things stand.
Checkup CheckStore(const StorePaths& paths, bool whole) {
  const auto reader = Reader::Open(paths.database);
  if (!reader && reader.error().code == ErrorCode::kNotFound) {
    return {"store", Health::kOk,
            fmt::format("{}: none yet, the first study makes it", paths.database)};
  }
  if (!reader) return {"store", Health::kProblem, reader.error().message};
  auto check = (*reader)->database().Prepare(whole ? "PRAGMA quick_check(1)"
                                                   : "PRAGMA quick_check(studies)");
  if (!check) return {"store", Health::kProblem, check.error().message};
  const auto row = check->Step();
  if (!row) return {"store", Health::kProblem, row.error().message};
  if (*row && check->Text(0) != "ok") {
    return {"store", Health::kProblem,
            fmt::format("{}: damaged: {}", paths.database, check->Text(0))};
  }
  const auto studies = (*reader)->Studies();
  if (!studies) return {"store", Health::kProblem, studies.error().message};
  std::error_code error;
  const auto size = fs::file_size(paths.database, error);
  return {"store", Health::kOk,
          fmt::format("{}: sound, {}, {}", paths.database,
                      studies->size() == 1 ? "1 study" : fmt::format("{} studies", studies->size()),
                      FormatBytes(static_cast<long long>(size)))};
}

// Two ways to the same state: from the snapshot and what came after it, and from the very
// beginning.
Result<Checkup> CheckReplay(const StorePaths& paths, const std::string& name) {
  SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo study, reader->FindStudy(name));
  // A reader's view of one moment, while a controller may go on writing.
  SLUICE_TRY(reader->database().Execute("BEGIN"));
  SLUICE_ASSIGN(const auto quick, RecoverEngine(reader->database(), study.id));
  SLUICE_ASSIGN(const auto slow, RecoverEngine(reader->database(), study.id, Recover::kFromEvents));
  if (quick->Digest() == slow->Digest()) {
    return Checkup{"replay", Health::kOk,
                   fmt::format("study '{}' replays to the same state, digest {}", name,
                               ToHex(slow->Digest()))};
  }
  return Checkup{"replay", Health::kProblem,
                 fmt::format("study '{}' replays to another state: digest {} from its events, {} "
                             "from its snapshot",
                             name, ToHex(slow->Digest()), ToHex(quick->Digest()))};
}

Checkup CheckController(const StorePaths& paths) {
  const LockHolder holder = FindLockHolder(paths);
  if (holder.pid == 0) return {"controller", Health::kOk, "none runs"};
  return {"controller", Health::kOk, fmt::format("process {} ({})", holder.pid, holder.purpose)};
}

}  // namespace

Result<int> RunVerb(const Context& context, const DoctorOptions& options) {
  std::vector<Checkup> checks = {{"sluice", Health::kOk, kVersion}};
  checks.push_back({"libraries", Health::kOk,
                    fmt::format("SQLite {}, fmt {}.{}.{}", SqliteVersion(), FMT_VERSION / 10000,
                                FMT_VERSION / 100 % 100, FMT_VERSION % 100)});
  checks.push_back(CheckLauncher());
  for (Checkup& check : CheckMachine()) checks.push_back(std::move(check));
  checks.push_back(CheckDisk(ExistingFolder(context.paths.database)));
  checks.push_back(CheckStore(context.paths, options.replay.has_value()));
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
    // What is wrong is to be read to its end.
    Print(table.Render({.columns = 0, .colour = context.terminal.colour}));
  }
  return problem ? kExitFailure : kExitOk;
}

}  // namespace sluice
