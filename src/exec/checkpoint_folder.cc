#include "exec/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>

#include "base/time.h"
#include "launcher/small_file.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 20;
// Bytes that are copied and synced at a time. A copy that is asked to stop finishes its piece.
constexpr std::size_t kPieceBytes = 64 << 20;
// A launch waits for at most a second (200 times 5 ms) while another process has the owner file of
// its checkpoint locked.
constexpr int kOwnerLockTries = 200;
constexpr Duration kOwnerLockPause = std::chrono::milliseconds(5);
// Names in a checkpoint folder, as in python/sluice/_checkpoint.py.
constexpr const char* kLatest = "latest";
constexpr const char* kPrevious = ".previous";  // the latest checkpoint if there is no `latest`
constexpr const char* kWriting = ".writing";    // a checkpoint that is not complete yet
constexpr const char* kBest = "best";  // the checkpoint of the best report, if it is not the latest
constexpr const char* kWork = ".sluice-work";
constexpr const char* kPast = ".sluice-past";  // beside it: the state is past that work

// What lstat says about a file. It changes when the file is replaced or written to. Looks has it by
// path.
using Look = std::tuple<ino_t, off_t, time_t, long, mode_t>;
using Looks = std::map<std::string, Look>;

// The work of a checkpoint that sluice.checkpoint wrote.
std::optional<Work> WorkOf(const std::string& checkpoint) {
  const std::string text = ReadSmallFile(fmt::format("{}/{}", checkpoint, kWork));
  Work work = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), work);
  if (read.ec != std::errc() || work < 0) return std::nullopt;
  return work;
}

Result<Looks> LookAt(const std::string& folder) {
  Looks looks;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    const bool best = entry.depth() == 0 && entry->path().filename() == kBest &&
                      WorkOf(entry->path().string()).has_value();
    if (best || entry->path().filename() == kWriting) {
      entry.disable_recursion_pending();
      continue;
    }
    struct stat status{};
    if (lstat(entry->path().c_str(), &status) != 0) continue;  // removed: the next look differs
    looks[entry->path().lexically_relative(folder).string()] = {
        status.st_ino, S_ISDIR(status.st_mode) ? 0 : status.st_size, status.st_mtim.tv_sec,
        status.st_mtim.tv_nsec, status.st_mode};
  }
  if (error) return Unavailable(fmt::format("{}: cannot read: {}", folder, error.message()));
  return looks;
}

Status Sync(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fsync(descriptor) != 0) {
    const int reason = errno;
    if (descriptor >= 0) close(descriptor);
    return Unavailable(fmt::format("{}: cannot write: {}", path, std::strerror(reason)));
  }
  close(descriptor);
  return {};
}

// Returns 0, or the errno of what failed, or ECANCELED if the copy was asked to stop.
int CopyPieces(int from, int to, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) return ECANCELED;
    const ssize_t copied = sendfile(to, from, nullptr, kPieceBytes);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return errno;
    if (copied == 0) return 0;
    if (static_cast<std::size_t>(copied) == kPieceBytes && fdatasync(to) != 0) return errno;
  }
}

// Copies a regular file. The copy is on disk when this returns. Returns as CopyPieces does.
int CopyFile(const std::string& from, const std::string& to, mode_t mode,
             const std::stop_token& stop) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (source < 0) return errno;
  const int target = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int error = target < 0 ? errno : CopyPieces(source, target, stop);
  if (error == 0 && (fchmod(target, mode & 07777) != 0 || fsync(target) != 0)) error = errno;
  if (target >= 0 && close(target) != 0 && error == 0) error = errno;
  close(source);
  return error;
}

// Copies the files of `looks`. The caller then checks whether the files have changed meanwhile.
Status CopyAll(const std::string& from, const Looks& looks, const std::string& to,
               const std::stop_token& stop) {
  std::error_code error;
  fs::create_directories(to, error);
  const auto failed = [&](const std::string& path) {
    return Unavailable(fmt::format("cannot copy {}/{}: {}", from, path, error.message()));
  };
  if (error) return failed("");
  for (const auto& [path, look] : looks) {  // a folder comes before its contents
    const mode_t mode = std::get<mode_t>(look);
    const std::string source = fmt::format("{}/{}", from, path);
    const std::string target = fmt::format("{}/{}", to, path);
    if (S_ISDIR(mode)) {
      fs::create_directory(target, error);
    } else if (S_ISLNK(mode)) {
      fs::copy_symlink(source, target, error);
    } else if (S_ISREG(mode)) {
      error.assign(CopyFile(source, target, mode, stop), std::system_category());
    }
    if (error) return failed(path);
  }
  return Sync(to);
}

Status CopyWhole(const std::string& from, const std::string& to, const std::stop_token& stop) {
  for (int tries = 0; tries < kTries; ++tries) {
    if (stop.stop_requested()) return Unavailable("the copy was asked to stop");
    std::error_code ignored;
    fs::remove_all(to, ignored);
    SLUICE_ASSIGN(const Looks before, LookAt(from));
    const Status copied = CopyAll(from, before, to, stop);
    const Result<Looks> after = LookAt(from);
    if (after && *after == before) return copied;
  }
  return Unavailable(fmt::format(
      "{}: it changed whenever it was copied: save it less often, or by renaming", from));
}

// Locks a file as the package does (lockf). If another process has the file locked, waits for that
// process for at most a second. The lock ends when the file is closed. On a file system that has no
// locks, succeeds without a lock.
Status LockOwnerFile(int file, const std::string& path) {
  for (int tries = 0; lockf(file, F_TLOCK, 0) != 0; ++tries) {
    if (errno != EACCES && errno != EAGAIN) return {};
    if (tries == kOwnerLockTries)
      return Unavailable(fmt::format("{}: a process of an earlier launch has it locked", path));
    usleep(kOwnerLockPause.count());
  }
  return {};
}

}  // namespace

Status SetCheckpointOwner(const std::string& folder, LaunchId launch) {
  const std::string path = folder + ".owner";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (file < 0) return Unavailable(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  Status written = LockOwnerFile(file, path);
  // The text always has the same length, so that no digits of an earlier number are left behind it.
  const std::string text = fmt::format("{:010}\n", Number(launch));
  if (written && pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    written = Unavailable(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  close(file);
  return written;
}

Status CopyCheckpointFolder(const std::string& from, const std::string& to,
                            const std::stop_token& stop) {
  std::error_code error;
  if (fs::exists(to, error)) return {};
  if (!fs::is_directory(from, error))
    return Unavailable(fmt::format("{}: there is no checkpoint to copy", from));
  const std::string copying = to + ".copying";
  Status copied = CopyWhole(from, copying, stop);
  if (copied) {
    fs::rename(copying, to, error);
    if (error) copied = Unavailable(fmt::format("{}: cannot move: {}", copying, error.message()));
  }
  if (copied) copied = Sync(fs::path(to).parent_path());
  if (!copied) fs::remove_all(copying, error);
  return copied;
}

namespace {

std::string LatestIn(const std::string& folder) {
  std::error_code error;
  const bool latest = fs::is_directory(fmt::format("{}/{}", folder, kLatest), error);
  return fmt::format("{}/{}", folder, latest ? kLatest : kPrevious);
}

// Whether a checkpoint was saved at this work, and not after more.
bool IsAt(const std::string& checkpoint, Work work) {
  std::error_code error;
  return WorkOf(checkpoint) == work && !fs::exists(fmt::format("{}/{}", checkpoint, kPast), error);
}

}  // namespace

std::optional<Work> CheckpointWork(const std::string& folder) { return WorkOf(LatestIn(folder)); }

std::optional<std::string> KeptCheckpoint(const std::string& folder, Work work) {
  if (IsAt(LatestIn(folder), work)) return std::nullopt;
  // If a launch died before it renamed the folder, the best checkpoint still has the name
  // kPrevious.
  for (const char* name : {kBest, kPrevious}) {
    std::string kept = fmt::format("{}/{}", folder, name);
    if (IsAt(kept, work)) return kept;
  }
  return std::nullopt;
}

}  // namespace sluice
