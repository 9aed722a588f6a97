#include "ledger/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "ledger/files_owner.h"

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

// An open-file-description lock on the whole file. It ends when its descriptor is closed, and can
// be queried without being taken.
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

std::unexpected<Error> CannotWrite(const std::string& path, int error) {
  return FailedPrecondition(
      fmt::format("{}: cannot write ({}): name a store in a folder you can write with --store",
                  path, std::strerror(error)));
}

std::optional<StoreIdentity> IdentityOf(const std::string& database) {
  struct stat status{};
  if (stat(database.c_str(), &status) != 0) return std::nullopt;
  return StoreIdentity{status.st_dev, status.st_ino};
}

std::string LockPath(const StorePaths& paths, StoreIdentity store) {
  return fmt::format("{}/lock-{:x}-{}", paths.run, store.device, store.inode);
}

// The lock file of older versions, which did not name locks after stores.
std::string FormerLockPath(const StorePaths& paths) { return paths.run + "/lock"; }

// Returns the identity of the database's file. If there is no file, makes an empty one, because the
// lock is named after the file's identity.
Result<StoreIdentity> FindOrMake(const std::string& database) {
  const int made = open(database.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (made >= 0) close(made);
  if (made < 0 && errno != EEXIST) return CannotWrite(database, errno);
  struct stat status{};
  if (stat(database.c_str(), &status) != 0) return CannotWrite(database, errno);
  if (!S_ISREG(status.st_mode))
    return FailedPrecondition(
        fmt::format("{}: expected a file as the store: name another with "
                    "--store",
                    database));
  SLUICE_TRY(CheckOneName(database));
  return StoreIdentity{status.st_dev, status.st_ino};
}

// The process that holds the lock of an open file; pid 0: none.
LockHolder HolderOf(int descriptor) {
  struct flock whole = WholeFile(F_RDLCK);
  const bool known = fcntl(descriptor, F_OFD_GETLK, &whole) == 0;
  const LockHolder holder =
      known && whole.l_type != F_UNLCK ? ReadHolder(descriptor) : LockHolder{};
  return IsAlive(holder.pid) ? holder : LockHolder{};
}

LockHolder HolderOf(const std::string& lock) {
  const int descriptor = open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return {};
  const LockHolder holder = HolderOf(descriptor);
  close(descriptor);
  return holder;
}

bool IsSameFile(int descriptor, const std::string& path) {
  struct stat open{};
  struct stat named{};
  return fstat(descriptor, &open) == 0 && lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// Opens and locks the file of this path.
Result<int> TakeLock(const StorePaths& paths, const std::string& path) {
  for (int tries = 0;;) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return CannotWrite(path, errno);
    struct flock whole = WholeFile(F_WRLCK);
    if (fcntl(descriptor, F_OFD_SETLK, &whole) == 0) {
      // If the file was removed meanwhile, another process may have locked a new file at this path.
      if (IsSameFile(descriptor, path)) return descriptor;
      close(descriptor);
      continue;
    }
    const int error = errno;
    const LockHolder holder = ReadHolder(descriptor);
    close(descriptor);
    if (error != EAGAIN && error != EACCES) return NoLocks(paths.files);
    // A process that is killed between fork and exec of a child leaves the lock to the child until
    // the child's exec.
    if (IsAlive(holder.pid) || ++tries > kTries) return InUse(paths, holder);
    usleep(kTryEveryUs);
  }
}

}  // namespace

std::unexpected<Error> InUse(const StorePaths& paths, const LockHolder& holder) {
  return FailedPrecondition(
      fmt::format("{}: in use by process {} ({}): wait for it, or name another "
                  "store with --store",
                  paths.database, holder.pid, holder.purpose));
}

Result<StoreLock> StoreLock::Acquire(const StorePaths& paths, const std::string& purpose) {
  SLUICE_TRY(CheckFilesOwner(paths));
  SLUICE_TRY(MakeOwnFolders(paths));
  if (IsNetworkFolder(paths.run)) return NoLocks(paths.files);
  SLUICE_ASSIGN(const StoreIdentity store, FindOrMake(paths.database));
  const std::string path = LockPath(paths, store);
  SLUICE_ASSIGN(const int descriptor, TakeLock(paths, path));
  StoreLock lock(descriptor, path, paths.database, store);
  if (const LockHolder former = HolderOf(FormerLockPath(paths)); former.pid != 0)
    return InUse(paths, former);
  SLUICE_TRY(lock.Check());
  const std::string text = fmt::format("{} {}\n", getpid(), purpose);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text.data(), text.size(), 0) < 0) {
    return Unavailable(fmt::format("{}: cannot write ({})", path, std::strerror(errno)));
  }
  return lock;
}

StoreLock::StoreLock(StoreLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      database_(std::move(other.database_)),
      store_(other.store_) {}

StoreLock::~StoreLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status StoreLock::Check() const {
  const bool ours = IsSameFile(descriptor_, path_);
  if (ours && IdentityOf(database_) == store_) return {};
  return FailedPrecondition(
      fmt::format("{}: it was removed or replaced while this process used it, and another may use "
                  "the store by now: nothing more is written; 'sluice resume' continues",
                  ours ? database_ : path_));
}

Result<std::unique_ptr<Ledger>> OpenLocked(const StorePaths& paths, const StoreLock& lock) {
  SLUICE_ASSIGN(auto ledger, Ledger::Open(paths.database));
  SLUICE_TRY(OwnFiles(paths, ledger->database()));
  ledger->SetGuard([&lock] { return lock.Check(); });
  return ledger;
}

LockHolder FindLockHolder(const StorePaths& paths) {
  const std::optional<StoreIdentity> store = IdentityOf(paths.database);
  if (!store) return {};
  const LockHolder holder = HolderOf(LockPath(paths, *store));
  return holder.pid != 0 ? holder : HolderOf(FormerLockPath(paths));
}

}  // namespace sluice
