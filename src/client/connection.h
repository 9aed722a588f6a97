#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wire/message.h"

namespace sluice::client {

// A connection to the controller: a socket that never blocks, and the bytes that are still to be
// sent. Sends lines in order. Only one thread at a time may call.
class Connection {
 public:
  // Returns nullptr if no controller listens, or if its queue of new connections is full.
  static std::unique_ptr<Connection> Open(const std::string& path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return descriptor_; }
  // False once sending has failed. What the controller sent before that can still be read.
  bool can_send() const { return can_send_; }
  // True once the connection has ended or failed: nothing more can be read.
  bool broken() const { return broken_; }
  void Break() { broken_ = true; }
  bool has_unsent() const { return sent_ < out_.size(); }

  // Adds a line that the next Flush sends. `line` has no newline at its end.
  void Add(std::string_view line);
  // Sends as much as the kernel takes without blocking.
  void Flush();
  // Reads bytes that have arrived. NextLine then returns their lines.
  void Receive();
  // Returns the next complete line, which stays valid until the next call. A line that is too long
  // breaks the connection.
  std::optional<std::string_view> NextLine();

 private:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
  bool can_send_ = true;
  bool broken_ = false;
  std::string out_;
  std::size_t sent_ = 0;  // how much of `out_` the kernel has taken
  wire::LineBuffer in_;
};

}  // namespace sluice::client
