#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wire/message.h"

namespace sluice::client {

// A connection to the controller: a socket that never blocks, and what it has not taken yet. Sends
// lines in order. One thread calls at a time.
class Connection {
 public:
  // Nothing if no controller listens, or if its queue of new connections is full.
  static std::unique_ptr<Connection> Open(const std::string& path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return descriptor_; }
  // False once the other side takes nothing more. What it has sent before can still be read.
  bool can_send() const { return can_send_; }
  // All that came has been read, and nothing more will come.
  bool broken() const { return broken_; }
  void Break() { broken_ = true; }
  bool has_unsent() const { return sent_ < out_.size(); }

  // To be sent by Flush. The line comes without its newline.
  void Add(std::string_view line);
  // Gives the kernel what it takes now.
  void Flush();
  // Reads what has come. Lines are then taken with NextLine.
  void Receive();
  // The next whole line, valid until the next call. A line that is too long breaks the connection.
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
