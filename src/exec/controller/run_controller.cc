#include "exec/controller/run_controller.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "exec/controller/local_controller.h"
#include "exec/machine/machine.h"
#include "launcher/claim.h"
#include "ledger/recovery.h"

namespace sluice {
namespace {

constexpr off_t kLargestLog = 1 << 20;

// Tells who started this process that connections are accepted. It may be gone by now.
void SayReady(const std::string& log) {
  signal(SIGPIPE, SIG_IGN);
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  signal(SIGPIPE, SIG_DFL);  // what is started inherits this
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int file =
      log.empty() ? -1
                  : open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat status{};
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > kLargestLog)
    (void)!ftruncate(file, 0);
  if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
  if (!log.empty()) dup2(file >= 0 ? file : nothing, STDERR_FILENO);
  for (const int descriptor : {nothing, file}) {
    if (descriptor > STDERR_FILENO) close(descriptor);
  }
}

}  // namespace

Result<std::string> FindLauncher() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto launcher = self.parent_path() / "sluice-launcher";
  if (error || !std::filesystem::exists(launcher, error)) {
    return FailedPrecondition(fmt::format(
        "{}: missing; it belongs beside the program sluice: install both", launcher.string()));
  }
  return launcher.string();
}

Status RunController(const StorePaths& paths, const std::string& version, const std::string& log) {
  LocalController::Parts parts;
  SLUICE_ASSIGN(parts.launcher, FindLauncher());
  SLUICE_ASSIGN(StoreLock lock, StoreLock::Acquire(paths, kControllerPurpose));
  parts.lock = std::make_unique<StoreLock>(std::move(lock));
  parts.paths = paths;
  parts.version = version;
  // All GPUs: each study says by itself which of them it may use.
  parts.node = InspectMachine(StudyWorld{}).node;
  // Launchers that were killed while no controller lived may have left processes.
  KillOrphans(paths.files + "/studies");
  SLUICE_ASSIGN(parts.ledger, OpenLocked(paths, *parts.lock));
  SLUICE_ASSIGN(parts.engine, RecoverShared(parts.ledger->database(), Recover::kFromSnapshot,
                                            &parts.events_since_snapshot));
  SLUICE_ASSIGN(parts.loop, EventLoop::Open());
  parts.find_lodging = [&paths](Database& database, const Study& study) {
    return FindLodging(database, study, paths.StudyFolder(study.spec.name));
  };
  parts.ready = [&log] { SayReady(log); };
  return LocalController(std::move(parts)).Run();
}

}  // namespace sluice
