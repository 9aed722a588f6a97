#include "cli/view/outlet.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/view/signals_blocked.h"

namespace sluice {
namespace {

sigset_t AllSignals() {
  sigset_t all;
  sigfillset(&all);
  return all;
}

}  // namespace

Outlet::Outlet(int descriptor) : descriptor_(descriptor) {
  // Signals are for the threads that wait for them. With SIGPIPE blocked, a reader that left is
  // an error here and does not end the process.
  const SignalsBlocked blocked(AllSignals());
  thread_ = std::thread([this] { Work(); });
}

Outlet::~Outlet() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Outlet::Write(std::string bytes) {
  constexpr std::size_t kMostWaiting = 4 << 20;
  {
    const std::lock_guard lock(mutex_);
    if (broken_ || waiting_bytes_ > kMostWaiting) return false;
    waiting_bytes_ += bytes.size();
    waiting_.push_back(std::move(bytes));
  }
  changed_.notify_all();
  return true;
}

bool Outlet::idle() {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_ == 0;
}

void Outlet::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_bytes_ == 0; });
}

void Outlet::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return leave_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string bytes = std::move(waiting_.front());
    waiting_.pop_front();
    const bool skip = broken_;
    lock.unlock();
    const bool written = !skip && WriteAll(bytes);
    lock.lock();
    broken_ = broken_ || !written;
    waiting_bytes_ -= bytes.size();
    changed_.notify_all();
  }
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
