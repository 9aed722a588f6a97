#include "cli/view/outlet.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice {

bool Outlet::Write(std::string bytes) {
  constexpr std::size_t kMostWaiting = 4 << 20;
  if (broken_ || waiting_bytes_ > kMostWaiting) return false;
  waiting_bytes_ += bytes.size();
  worker_.Post([this, bytes = std::move(bytes)] {
    if (!broken_ && !WriteAll(bytes)) broken_ = true;
    waiting_bytes_ -= bytes.size();
  });
  return true;
}

bool Outlet::WriteAll(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      struct pollfd wait{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice
