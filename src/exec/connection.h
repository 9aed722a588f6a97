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

// A stream socket that carries lines and never blocks. The object that watches the peer owns it.
// Handlers may destroy it.
class Connection {
 public:
  struct Handlers {
    std::function<void(std::string_view line)> line;
    // The last call: the peer closed the connection, or sent a line that is too long.
    std::function<void()> closed;
  };

  // The process at the other end when it connected, as the kernel tells.
  struct Caller {
    bool known = false;
    std::int64_t pid = 0;  // 0: in a PID namespace that we do not see
    uid_t user = 0;
  };

  Connection(EventLoop& loop, int descriptor, Handlers handlers);
  ~Connection();
  Connection(const Connection&) = delete;

  const Caller& caller() const { return caller_; }
  void Send(const wire::ToWorker& message);
  // Reads and handles all that has arrived, up to the end of the stream.
  void Drain();

 private:
  void Readable();
  void Flush();
  // Reads once, and handles the whole lines. False at the end of the stream, and after a line that
  // is too long. `more` says whether more may have arrived.
  bool ReadSome(bool& more);

  EventLoop& loop_;
  int descriptor_;
  Caller caller_;
  // Shared: a handler may destroy the connection while it runs.
  std::shared_ptr<const Handlers> handlers_;
  wire::LineBuffer in_;
  std::string out_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// A listening Unix socket at a path of any length, for this user alone; replaces what lies there.
Result<int> ListenAt(const std::string& path);
// A connected one.
Result<int> ConnectTo(const std::string& path);

}  // namespace sluice
