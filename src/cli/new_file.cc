#include "cli/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/output_file.h"

namespace sluice {
namespace {

std::unexpected<Error> Taken(const std::string& path) {
  return FailedPrecondition(fmt::format(
      "{}: exists already, and what it holds is not replaced: name another file or remove it",
      path));
}

}  // namespace

Result<NewFile> NewFile::Reserve(const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) == 0) return Taken(path);
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return InvalidArgument(
        fmt::format("{}: expected a file in a folder that exists: make the folder first", path));
  }
  if (descriptor < 0) return CannotWrite(path, errno);
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  close(descriptor);
  return NewFile(path, std::move(temporary));
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, "")) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status NewFile::Commit() {
  const int descriptor = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool safe = descriptor >= 0 && fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!safe) return CannotWrite(path_, error);
  // link(), unlike rename(), does not replace a file that was created in the meantime.
  if (link(temporary_.c_str(), path_.c_str()) != 0)
    return errno == EEXIST ? Taken(path_) : CannotWrite(path_, errno);
  return {};
}

}  // namespace sluice
