#include "base/files/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

Status PastTheEnd(std::uint64_t offset, std::size_t length, std::uint64_t size) {
  return Corruption(fmt::format("expected {} bytes at {}, found the end at {}: is it truncated?",
                                length, offset, size));
}

class FileSource final : public ByteSource {
 public:
  FileSource(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  ~FileSource() override { close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::uint64_t size() const override { return size_; }
  Status Read(std::uint64_t offset, std::span<char> into) const override {
    if (offset > size_ || into.size() > size_ - offset)
      return PastTheEnd(offset, into.size(), size_);
    for (std::size_t done = 0; done < into.size();) {
      const ssize_t read = pread(descriptor_, into.data() + done, into.size() - done,
                                 static_cast<off_t>(offset + done));
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) return Unavailable(fmt::format("cannot be read: {}", std::strerror(errno)));
      if (read == 0) return PastTheEnd(offset, into.size(), offset + done);  // the file shrank
      done += static_cast<std::size_t>(read);
    }
    return {};
  }

 private:
  int descriptor_;
  std::uint64_t size_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status Read(std::uint64_t offset, std::span<char> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
      return PastTheEnd(offset, into.size(), bytes_.size());
    std::copy_n(bytes_.data() + offset, into.size(), into.data());
    return {};
  }

 private:
  std::string bytes_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound(fmt::format("{}: no such file", path));
    return InvalidArgument(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  struct stat about{};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(descriptor);
    return InvalidArgument(fmt::format("{}: expected a file, found {}", path,
                                       S_ISDIR(about.st_mode) ? "a folder" : "something else"));
  }
  return std::make_unique<FileSource>(descriptor, static_cast<std::uint64_t>(about.st_size));
}

std::unique_ptr<ByteSource> FromMemory(std::string bytes) {
  return std::make_unique<MemorySource>(std::move(bytes));
}

}  // namespace sluice
