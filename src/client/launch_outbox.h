#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "base/result.h"
#include "client/launch_files.h"
#include "wire/message.h"
#include "wire/outbox.h"

namespace sluice::client {

// The messages of one launch that are not acknowledged yet, and which of them are in the launch's
// spool. The cost of adding a message does not depend on how many messages wait.
class LaunchOutbox {
 public:
  // Counts this process in the file `conversations` of the folder. The count gives the range of
  // numbers for this process's messages.
  LaunchOutbox(wire::LaunchRef at, std::string folder)
      : folder_(std::move(folder)), outbox_(at, NextConversation(folder_)) {}

  // Numbers the message, keeps it, and returns the line to send. A message that does not fit into
  // a line is not kept.
  template <typename Message>
  Result<const std::string*> Add(Message message) {
    std::string line = outbox_.Line(std::move(message));
    if (line.size() >= wire::kLongestLine) return TooLong(line.size());
    return &outbox_.Keep(std::move(line));
  }

  void Acknowledge(std::uint64_t seq);
  // Notes in the launch's folder which message was acknowledged last, if that has changed.
  void NoteAcknowledged();

  bool empty() const { return lines().empty(); }
  bool Full(int window) const { return outbox_.Full(window); }
  // The unacknowledged messages, in order. All of them are sent again on a new connection.
  const std::deque<std::string>& lines() const { return outbox_.unacknowledged(); }

  // Adds to the spool the messages that it does not have yet. If synced, all unacknowledged
  // messages are on disk when this returns. After a failure, the next call writes the same messages
  // again. A message may then be in the spool twice, but the controller counts it once.
  Status Spool(bool synced);
  // Forgets all messages, as if they were acknowledged.
  void Drop();

 private:
  static std::unexpected<Error> TooLong(std::size_t bytes);

  std::string folder_;
  wire::Outbox outbox_;
  std::uint64_t spooled_ = 0;       // the last message in the spool
  std::uint64_t synced_ = 0;        // the last message in the spool that was synced to disk
  std::uint64_t acknowledged_ = 0;  // the last acknowledged message
  std::uint64_t noted_ = 0;         // the last message that is noted as acknowledged
};

}  // namespace sluice::client
