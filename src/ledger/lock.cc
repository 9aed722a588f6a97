#include "ledger/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sluice {
namespace {

LockHolder ReadHolder(int descriptor) {
  std::array<char, 512> buffer{};
  const ssize_t size = pread(descriptor, buffer.data(), buffer.size() - 1, 0);
  if (size <= 0) return {};
  char* rest = nullptr;
  LockHolder holder;
  holder.pid = static_cast<int>(std::strtol(buffer.data(), &rest, 10));
  while (*rest == ' ') ++rest;
  holder.purpose = rest;
  while (!holder.purpose.empty() && holder.purpose.back() == '\n') holder.purpose.pop_back();
  return holder;
}

constexpr int kTries = 200;
constexpr unsigned kTryEveryUs = 10'000;

bool IsAlive(int pid) { return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM); }

// An open-file-description lock on the whole file: it lives and dies with the descriptor, and
// asking for it takes nothing.
struct flock WholeFile(short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

// SQLite's write-ahead log needs memory shared between processes, which network file systems do not
// give.
bool IsNetworkFolder(const std::string& folder) {
  constexpr std::array<std::uint32_t, 6> kNetwork = {0x6969 /*nfs*/,        0xff534d42 /*cifs*/,
                                                     0xfe534d42 /*smb2*/,   0x517b /*smb*/,
                                                     0x0bd00bd0 /*lustre*/, 0x5346414f /*afs*/};
  struct statfs info{};
  if (statfs(folder.c_str(), &info) != 0) return false;
  for (std::uint32_t kind : kNetwork) {
    if (static_cast<std::uint32_t>(info.f_type) == kind) return true;
  }
  return false;
}

std::unexpected<Error> NoLocks(const std::string& folder) {
  return FailedPrecondition(
      fmt::format("{}: this folder is on a file system without the locks a store needs (a network "
                  "folder?): name a store on a local "
                  "disk with --store",
                  folder));
}

}  // namespace

Result<StoreLock> StoreLock::Acquire(const StorePaths& paths, const std::string& purpose) {
  std::error_code error;
  std::filesystem::create_directories(paths.run, error);
  if (error) {
    return FailedPrecondition(fmt::format(
        "{}: cannot make this folder ({}): name a store in a folder you can write with --store",
        paths.run, error.message()));
  }
  if (IsNetworkFolder(paths.run)) return NoLocks(paths.files);
  const int descriptor = open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return FailedPrecondition(
        fmt::format("{}: cannot write ({}): name a store in a folder you can write with --store",
                    paths.lock, std::strerror(errno)));
  }
  StoreLock lock(descriptor);
  struct flock whole = WholeFile(F_WRLCK);
  for (int tries = 0; fcntl(descriptor, F_OFD_SETLK, &whole) != 0; ++tries) {
    if (errno != EAGAIN && errno != EACCES) return NoLocks(paths.files);
    const LockHolder holder = ReadHolder(descriptor);
    // A process that was killed while it started another leaves the lock to that one until it has
    // become itself.
    if (!IsAlive(holder.pid) && tries < kTries) {
      usleep(kTryEveryUs);
      continue;
    }
    return FailedPrecondition(fmt::format(
        "{}: in use by process {} ({}): wait for it, stop it with 'sluice stop', or name another "
        "store with --store",
        paths.database, holder.pid, holder.purpose));
  }
  const std::string text = fmt::format("{} {}\n", getpid(), purpose);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text.data(), text.size(), 0) < 0) {
    return Unavailable(fmt::format("{}: cannot write ({})", paths.lock, std::strerror(errno)));
  }
  return lock;
}

StoreLock::StoreLock(StoreLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

StoreLock::~StoreLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

LockHolder FindLockHolder(const StorePaths& paths) {
  const int descriptor = open(paths.lock.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  LockHolder holder;
  struct flock whole = WholeFile(F_RDLCK);
  const bool known = fcntl(descriptor, F_OFD_GETLK, &whole) == 0;
  if (known && whole.l_type != F_UNLCK) holder = ReadHolder(descriptor);
  if (!IsAlive(holder.pid)) holder = {};
  close(descriptor);
  return holder;
}

}  // namespace sluice
