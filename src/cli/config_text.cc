#include "cli/config_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "config/config.h"

namespace sluice {
namespace {

std::unexpected<Error> CannotRead(const std::string& path, std::string_view what, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    return NotFound(fmt::format("{}: expected {}, found nothing: check its path", path, what));
  }
  return InvalidArgument(
      fmt::format("{}: cannot read {} here ({})", path, what, std::strerror(error)));
}

}  // namespace

Result<std::string> ReadConfigText(const std::string& path, std::string_view what) {
  // Without O_NONBLOCK, open() would wait at a named pipe that has no writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return CannotRead(path, what, errno);
  const auto close_it = [](const int* held) { close(*held); };
  const std::unique_ptr<const int, decltype(close_it)> closer(&descriptor, close_it);
  struct stat info{};
  if (fstat(descriptor, &info) != 0) return CannotRead(path, what, errno);
  if (S_ISDIR(info.st_mode)) {
    return InvalidArgument(
        fmt::format("{}: expected {}, found a folder: name a file in it", path, what));
  }
  // From here on, reading waits for data: the shell's <(...) is a pipe that may be filled slowly.
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (text.size() <= kMaxConfigBytes) {
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return CannotRead(path, what, errno);
    if (size == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  if (text.size() > kMaxConfigBytes) {
    return InvalidArgument(fmt::format("{}: expected {} of at most {} MiB, found more", path, what,
                                       kMaxConfigBytes >> 20));
  }
  return text;
}

}  // namespace sluice
