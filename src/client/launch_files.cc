#include "client/launch_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace sluice::client {
namespace {

// A file in the launch's folder. The destructor closes it.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool WriteAll(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  // The error of the system call that has just failed.
  std::unexpected<Error> Failed() const {
    return Unavailable(fmt::format("{}: {}", path_, std::strerror(errno)));
  }

 private:
  std::string path_;
  int descriptor_;
};

constexpr int kAppend = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW;

// Whether the file ends in the middle of a line. That happens if the disk was full or a process was
// killed.
bool IsTorn(const OpenFile& file) {
  struct stat facts{};
  char last = '\n';
  if (fstat(file.descriptor(), &facts) != 0 || facts.st_size == 0) return false;
  return pread(file.descriptor(), &last, 1, facts.st_size - 1) == 1 && last != '\n';
}

Status Append(const std::string& folder, std::string_view name, std::string_view bytes,
              bool synced) {
  std::error_code ignored;  // if this fails, opening the file fails too
  std::filesystem::create_directories(folder, ignored);
  const OpenFile file(fmt::format("{}/{}", folder, name), kAppend);
  if (!file.ok() || (IsTorn(file) && !file.WriteAll("\n")) || !file.WriteAll(bytes))
    return file.Failed();
  if (!synced) return {};
  if (fsync(file.descriptor()) != 0) return file.Failed();
  const OpenFile place(folder, O_RDONLY | O_DIRECTORY);
  if (!place.ok() || fsync(place.descriptor()) != 0) return place.Failed();
  return {};
}

}  // namespace

Status AppendToSpool(const std::string& folder, std::string_view lines, bool synced) {
  return Append(folder, "spool.jsonl", lines, synced);
}

Status MarkPaused(const std::string& folder) { return Append(folder, "paused", "", true); }

std::uint64_t NextConversation(const std::string& folder) {
  const std::string path = folder + "/conversations";
  struct stat facts{};
  const OpenFile file(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW);
  if (!file.ok()) {  // not writable, or this process may open no more files
    const bool known = lstat(path.c_str(), &facts) == 0;
    return known ? static_cast<std::uint64_t>(facts.st_size) : 0;
  }
  // Where the file system has no locks: only one process at a time reports anyway.
  while (lockf(file.descriptor(), F_LOCK, 0) != 0 && errno == EINTR) {
  }
  if (fstat(file.descriptor(), &facts) != 0) return 0;
  // On a full disk a file can still be made longer. If that fails too, this process still differs
  // from the earlier ones.
  if (!file.WriteAll(".")) (void)!ftruncate(file.descriptor(), facts.st_size + 1);
  return static_cast<std::uint64_t>(facts.st_size);
}

void NoteAcknowledged(const std::string& folder, std::uint64_t seq) {
  const OpenFile file(folder + "/acknowledged", O_WRONLY | O_CREAT | O_NOFOLLOW);
  if (!file.ok()) return;
  const std::string text = fmt::format("{:020}\n", seq);
  [[maybe_unused]] const ssize_t written = pwrite(file.descriptor(), text.data(), text.size(), 0);
}

}  // namespace sluice::client
