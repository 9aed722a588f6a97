#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exec/event_loop.h"
#include "wire/message.h"

namespace sluice {

// A stream socket that carries lines and never blocks. A handler may destroy the connection that
// calls it.
class Connection {
 public:
  struct Handlers {
    std::function<void(std::string_view line)> line;
    // Called last, when the peer has closed the connection or sent a line that is too long.
    std::function<void()> closed;
  };

  // The process that made the connection, as the kernel reports it.
  struct Caller {
    bool known = false;
    std::int64_t pid = 0;  // 0: it is in a PID namespace that this process cannot see
    uid_t user = 0;
  };

  Connection(EventLoop& loop, int descriptor, Handlers handlers);
  ~Connection();
  Connection(const Connection&) = delete;

  const Caller& caller() const { return caller_; }
  void Send(const wire::ToWorker& message);
  // Reads and handles all that has arrived, up to the end of the stream.
  void Drain();
  // Waits until something has arrived, or the peer has closed the connection. Reads nothing.
  // Returns false if neither happens in time.
  bool WaitFor(Duration patience) const;

 private:
  void Readable();
  void Flush();
  // Reads once, and handles the complete lines. Returns false at the end of the stream, and after a
  // line that is too long. Sets `more` to whether more bytes may have arrived.
  bool ReadSome(bool& more);

  EventLoop& loop_;
  int descriptor_;
  Caller caller_;
  // Shared, because a handler may destroy the connection while the handler runs.
  std::shared_ptr<const Handlers> handlers_;
  wire::LineBuffer in_;
  std::string out_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Makes a Unix socket that listens at a path of any length. Only this user can connect to it. If
// there is a file at the path, it is replaced. Returns a descriptor that the caller owns.
Result<int> ListenAt(const std::string& path);
// Connects to such a socket. Returns a descriptor that the caller owns.
Result<int> ConnectTo(const std::string& path);

}  // namespace sluice
