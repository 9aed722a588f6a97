#include "exec/socket/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/unix_address.h"

namespace sluice {
namespace {

// A peer is cut off once more bytes than this wait for it. So messages that a peer does not read
// cannot fill the memory.
constexpr std::size_t kMostUnsent = 64 << 20;
constexpr int kReadsInTurn = 16;

Connection::Caller CallerOf(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return {.known = true, .pid = credentials.pid, .user = credentials.uid};
}

}  // namespace

Connection::Connection(EventLoop& loop, int descriptor, Handlers handlers)
    : loop_(loop),
      descriptor_(descriptor),
      caller_(CallerOf(descriptor)),
      handlers_(std::make_shared<Handlers>(std::move(handlers))) {
  loop_.Watch(descriptor_, [this] { Readable(); });
}

Connection::~Connection() {
  *alive_ = false;
  loop_.Forget(descriptor_);
  close(descriptor_);
}

void Connection::Send(const wire::ToWorker& message) {
  out_ += wire::Encode(message);
  out_ += '\n';
  Flush();
}

void Connection::Flush() {
  while (!out_.empty()) {
    const ssize_t sent = send(descriptor_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      // The peer is gone, so the bytes are dropped. A loop that waited for the socket to become
      // writable would spin.
      if (errno != EAGAIN && errno != EWOULDBLOCK) out_.clear();
      break;
    }
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  if (out_.size() > kMostUnsent) out_.clear(), shutdown(descriptor_, SHUT_RDWR);
  loop_.WatchWritable(descriptor_, !out_.empty());
}

bool Connection::ReadSome(bool& more) {
  std::array<char, 65536> buffer;
  const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0) {
    more = false;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  }
  if (size == 0) return false;
  more = static_cast<std::size_t>(size) == buffer.size();
  in_.Append({buffer.data(), static_cast<std::size_t>(size)});
  const std::shared_ptr<bool> alive = alive_;
  const std::shared_ptr<const Handlers> handlers = handlers_;
  while (const auto line = in_.Next()) {
    handlers->line(*line);
    if (!*alive) return true;
  }
  return !in_.overflown();
}

void Connection::Readable() {
  const std::shared_ptr<bool> alive = alive_;
  if (!out_.empty()) Flush();
  bool more = true;
  // The number of reads is bounded, so that a peer that never stops sending does not block others.
  for (int reads = 0; more && reads < kReadsInTurn; ++reads) {
    const bool open = ReadSome(more);
    if (!*alive) return;
    if (!open) {
      const std::shared_ptr<const Handlers> handlers = handlers_;
      handlers->closed();
      return;
    }
  }
}

void Connection::Drain() {
  const std::shared_ptr<bool> alive = alive_;
  bool more = true;
  while (*alive && more && ReadSome(more)) {
  }
}

bool Connection::WaitFor(Duration patience) const {
  pollfd arrived{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  while (true) {
    const int ready = poll(&arrived, 1, static_cast<int>(ms));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

Result<int> ListenAt(const std::string& path) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlink(path.c_str());
  const UnixAddress address(path);
  // bind() gives the file the mode of the socket. So other users can never connect, whatever the
  // umask is.
  if (descriptor < 0 || fchmod(descriptor, 0600) != 0 ||
      bind(descriptor, address.get(), address.size()) != 0 || chmod(path.c_str(), 0600) != 0 ||
      listen(descriptor, 1024) != 0) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    return Unavailable(fmt::format("{}: cannot listen here: {}", path, std::strerror(error)));
  }
  return descriptor;
}

Result<int> ConnectTo(const std::string& path) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const UnixAddress address(path);
  if (descriptor < 0 || connect(descriptor, address.get(), address.size()) != 0) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    return Unavailable(
        fmt::format("{}: no controller answers here: {}", path, std::strerror(error)));
  }
  return descriptor;
}

}  // namespace sluice
