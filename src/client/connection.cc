#include "client/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unix_address.h"

namespace sluice::client {
namespace {

// When more bytes than this have been sent, they are erased from the buffer, which moves the unsent
// bytes to the front.
constexpr std::size_t kMostSentKept = 1 << 20;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

std::unique_ptr<Connection> Connection::Open(const std::string& path) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<Connection> connection(new Connection(descriptor));
  const UnixAddress address(path);
  if (connect(descriptor, address.get(), address.size()) != 0) return nullptr;
  return connection;
}

Connection::~Connection() { close(descriptor_); }

void Connection::Add(std::string_view line) {
  if (!can_send_) return;
  out_ += line;
  out_ += '\n';
}

void Connection::Flush() {
  while (has_unsent()) {
    const ssize_t taken =
        send(descriptor_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0 && WouldBlock(errno)) break;
    if (taken < 0) {
      can_send_ = false;
      sent_ = out_.size();
      break;
    }
    sent_ += static_cast<std::size_t>(taken);
  }
  if (!has_unsent() || sent_ > kMostSentKept) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
}

void Connection::Receive() {
  std::array<char, 65536> buffer;
  const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size > 0) in_.Append({buffer.data(), static_cast<std::size_t>(size)});
  if (size == 0 || (size < 0 && !WouldBlock(errno))) broken_ = true;
}

std::optional<std::string_view> Connection::NextLine() {
  const auto line = in_.Next();
  if (!line && in_.overflown()) broken_ = true;
  return line;
}

}  // namespace sluice::client
