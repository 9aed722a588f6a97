#include "launcher/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sluice {

int OpenRegular(const std::string& path) {
  // Without O_NONBLOCK, open() would wait at a pipe that has no writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return -1;
  struct stat status{};
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  close(descriptor);
  errno = EINVAL;
  return -1;
}

std::string ReadSmallFile(const std::string& path) {
  const int descriptor = OpenRegular(path);
  if (descriptor < 0) return {};
  char buffer[8192];
  const ssize_t size = read(descriptor, buffer, sizeof buffer);
  close(descriptor);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
}

bool WriteSmallFile(const std::string& path, const std::string& text) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor < 0) return false;
  const ssize_t written = write(descriptor, text.data(), text.size());
  const int error = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  close(descriptor);
  errno = error;
  return error == 0;
}

}  // namespace sluice
