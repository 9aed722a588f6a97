#include "base/unix_address.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace sluice {

UnixAddress::UnixAddress(const std::string& path) {
  address_.sun_family = AF_UNIX;
  std::string usable = path;
  if (path.size() >= sizeof address_.sun_path) {
    const std::filesystem::path whole(path);
    folder_ = open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    usable = fmt::format("/proc/self/fd/{}/{}", folder_, whole.filename().string());
  }
  std::strncpy(address_.sun_path, usable.c_str(), sizeof address_.sun_path - 1);
}

UnixAddress::~UnixAddress() {
  if (folder_ >= 0) close(folder_);
}

}  // namespace sluice
