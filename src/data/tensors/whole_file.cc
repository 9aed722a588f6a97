#include "data/tensors/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sluice::data {
namespace {

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A rename is on the disk once the folder is. File systems that cannot sync a folder say EINVAL.
int SyncFolder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return error;
}

}  // namespace

WholeFile::WholeFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)),
      end_(other.end_) {}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

std::unexpected<Error> WholeFile::Failed(int error) const {
  return Unavailable(fmt::format("{}: cannot be written: {}", path_, std::strerror(error)));
}

Result<WholeFile> WholeFile::Create(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
    return InvalidArgument(
        fmt::format("{}: expected a file to write, found a folder: name a file in it", path));
  }
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      return InvalidArgument(
          fmt::format("{}: expected a file in a folder that exists: make the folder first", path));
    }
    return Unavailable(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
  }
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return WholeFile(path, std::move(temporary), descriptor);
}

Status WholeFile::WriteAt(std::uint64_t offset, std::span<const char> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed(written < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(written);
  }
  return {};
}

Status WholeFile::Append(std::span<const char> bytes) {
  SLUICE_TRY(WriteAt(end_, bytes));
  end_ += bytes.size();
  return {};
}

Status WholeFile::Resize(std::uint64_t bytes) {
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) return Failed(errno);
  return {};
}

Status WholeFile::Commit() {
  if (fsync(descriptor_) != 0) return Failed(errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return Failed(errno);
  temporary_.clear();
  if (const int error = SyncFolder(FolderOf(path_)); error != 0) return Failed(error);
  return {};
}

}  // namespace sluice::data
