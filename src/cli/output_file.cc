#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

// The mode that a file written at `path` gets: the mode of the file that it replaces, or else the
// mode of a new file.
mode_t ModeFor(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0) return info.st_mode & 0777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

std::unexpected<Error> CannotWrite(const std::string& path, int error) {
  return Unavailable(fmt::format("{}: cannot write ({})", path, std::strerror(error)));
}

Result<OutputSink> OutputSink::Open(const std::optional<std::string>& path) {
  if (!path || *path == "-") return OutputSink(stdout, "", "");
  struct stat info{};
  if (stat(path->c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return InvalidArgument(
          fmt::format("{}: expected a file to write, found a folder: name a file in it", *path));
    }
    if (!S_ISREG(info.st_mode)) {
      std::FILE* direct = std::fopen(path->c_str(), "we");
      if (direct == nullptr) return CannotWrite(*path, errno);
      return OutputSink(direct, *path, "");
    }
  }
  // If the path is a symbolic link, the file that it points to is replaced, not the link.
  std::string target = *path;
  if (char* real = realpath(path->c_str(), nullptr)) {
    target = real;
    std::free(real);
  }
  std::string temporary = target + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return InvalidArgument(
        fmt::format("{}: expected a file in a folder that exists: make the folder first", *path));
  }
  if (descriptor < 0) return CannotWrite(*path, errno);
  fchmod(descriptor, ModeFor(target));
  return OutputSink(fdopen(descriptor, "w"), std::move(target), std::move(temporary));
}

OutputSink::OutputSink(OutputSink&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")) {}

OutputSink::~OutputSink() {
  if (file_ == nullptr || file_ == stdout) return;
  std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputSink::Commit() {
  if (std::fflush(file_) != 0 || std::ferror(file_) != 0) {
    return CannotWrite(path_.empty() ? "standard output" : path_, errno != 0 ? errno : EIO);
  }
  if (temporary_.empty()) return {};
  if (fsync(fileno(file_)) != 0) return CannotWrite(path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return CannotWrite(path_, errno);
  temporary_.clear();
  return {};
}

}  // namespace sluice
