#include "client/owner_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "client/number_text.h"

namespace sluice::client {

Result<OwnerLock> OwnerLock::Take(const std::string& checkpoint_dir, wire::LaunchRef at) {
  const std::string path = checkpoint_dir + ".owner";
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT) return OwnerLock(-1, std::nullopt);
    return Unavailable(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  while (lockf(descriptor, F_LOCK, 0) != 0 && errno == EINTR) continue;  // some disks have no locks
  std::array<char, 20> buffer{};
  const ssize_t size = read(descriptor, buffer.data(), buffer.size());
  const auto owner = NumberIn<std::uint64_t>(
      {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  if (!owner || *owner == Number(at.launch)) return OwnerLock(descriptor, std::nullopt);
  return OwnerLock(descriptor, owner);
}

OwnerLock::OwnerLock(OwnerLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), other_(other.other_) {}

OwnerLock::~OwnerLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace sluice::client
