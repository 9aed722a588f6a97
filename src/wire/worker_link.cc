#include "wire/worker_link.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::wire {

Result<WorkerLink::Step> WorkerLink::Hear(const FromWorker& message, Time now) {
  heard_ = now;
  if (std::holds_alternative<Ask>(message)) return Step::kAsk;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    if (hello_) return InvalidArgument("expected one hello a connection, found another");
    if (hello->version != kVersion) {
      return InvalidArgument(
          fmt::format("expected version {} of the protocol, found {}: update the sluice package",
                      kVersion, hello->version));
    }
    hello_ = *hello;
    return Step::kGreeted;
  }
  if (!hello_) return InvalidArgument("expected hello first");
  if (std::holds_alternative<Heartbeat>(message)) return Step::kAlive;
  if (std::holds_alternative<Ready>(message)) {
    if (!hello_->reuse)
      return InvalidArgument("expected 'reuse' in the hello of a worker that takes another trial");
    return Step::kReady;
  }
  const Numbered numbered = NumberOf(message);
  if (at_ != numbered.at) {
    return InvalidArgument(
        fmt::format("expected messages of the launch it was given, found trial {}, launch {}",
                    Number(numbered.at.trial), Number(numbered.at.launch)));
  }
  const std::uint64_t conversation = ConversationOf(numbered.seq);
  const std::uint64_t current = ConversationOf(next_seq_);
  if (conversation < current) {
    return InvalidArgument(
        "expected the process that reports for this launch by now, found one "
        "that did before");
  }
  const bool begins = conversation > current && (numbered.seq - 1) % kConversation == 0;
  if (numbered.seq > next_seq_ && !begins) {
    return InvalidArgument(
        fmt::format("expected message {}, found {}: some are missing", next_seq_, numbered.seq));
  }
  next_seq_ = std::max(next_seq_, numbered.seq + 1);
  return Step::kNumbered;
}

void WorkerLink::Hold(LaunchRef at, std::uint64_t seen) {
  at_ = at;
  next_seq_ = seen + 1;
}

}  // namespace sluice::wire
