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

// A stream socket that carries lines, never blocking. Owned by whoever watches the peer; handlers
// may destroy it.
class Connection {
 public:
  struct Handlers {
    std::function<void(std::string_view line)> line;
    std::function<void()>
        closed;  // by the peer, or because it broke the rules of lines; the last call
  };

  // The process at the other end when it connected, as the kernel tells.
  struct Caller {
    bool known = false;
    std::int64_t pid = 0;  // 0: in a part of the machine that we do not see
    uid_t user = 0;
  };

  Connection(EventLoop& loop, int descriptor, Handlers handlers);
  ~Connection();
  Connection(const Connection&) = delete;

  const Caller& caller() const { return caller_; }
  void Send(const wire::ToWorker& message);
  // Reads and handles whatever has arrived, up to the end of the stream.
  void Drain();

 private:
  void Readable();
  void Flush();
  // Whether lines were read: false at the end of the stream.
  bool ReadSome(bool& more);

  EventLoop& loop_;
  int descriptor_;
  Caller caller_;
  std::shared_ptr<const Handlers>
      handlers_;  // shared: a handler may destroy the connection while it runs
  wire::LineBuffer in_;
  std::string out_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// A listening Unix socket at a path of any length, for this user alone; replaces what lies there.
Result<int> ListenAt(const std::string& path);
// A connected one.
Result<int> ConnectTo(const std::string& path);

}  // namespace sluice
