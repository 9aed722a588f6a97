#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "wire/message.h"

namespace sluice::wire {

// A worker's messages of one launch that are not acknowledged yet. The outbox sends nothing itself:
// the worker sends the lines that the outbox returns.
class Outbox {
 public:
  // `conversation`: the number of processes that spoke for the launch before this one.
  explicit Outbox(LaunchRef at, std::uint64_t conversation = 0)
      : at_(at), last_(conversation * kConversation) {}

  // Numbers the message, keeps it, and returns the line to send.
  template <typename Message>
  const std::string& Add(Message message) {
    return Keep(Line(std::move(message)));
  }
  // Add in two steps, for messages whose line may be too long. Line returns the line of the next
  // message. Keep adds that line to the outbox, and only then may it be sent.
  template <typename Message>
  std::string Line(Message message) const {
    message.at = at_;
    message.seq = last_ + 1;
    return Encode(FromWorker(std::move(message)));
  }
  const std::string& Keep(std::string line) {
    ++last_;
    lines_.push_back(std::move(line));
    return lines_.back();
  }
  void Acknowledge(std::uint64_t seq) {
    while (!lines_.empty() && first() <= seq) lines_.pop_front();
  }
  // The lines to send again, in order, on a new connection.
  const std::deque<std::string>& unacknowledged() const { return lines_; }
  bool Full(int window) const { return lines_.size() >= static_cast<std::size_t>(window); }
  std::uint64_t last() const { return last_; }
  // The number of the oldest message that is not acknowledged; last() + 1 if all are.
  std::uint64_t first() const { return last_ - lines_.size() + 1; }

 private:
  LaunchRef at_;
  std::uint64_t last_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace sluice::wire
