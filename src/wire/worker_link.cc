#include "wire/worker_link.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::wire {
namespace {

constexpr std::size_t kMostShown = 8;

bool IsOfVersion2(const FromWorker& message) {
  return std::holds_alternative<Capacity>(message) || std::holds_alternative<Released>(message) ||
         std::holds_alternative<Profile>(message);
}

}  // namespace

Result<WorkerLink::Step> WorkerLink::Hear(const FromWorker& message, Time now) {
  heard_ = now;
  if (std::holds_alternative<Ask>(message)) return Step::kAsk;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    SLUICE_TRY(CheckHello(*hello));
    hello_ = *hello;
    return Step::kGreeted;
  }
  if (!hello_) return InvalidArgument("expected hello first");
  if (std::holds_alternative<Heartbeat>(message)) return Step::kAlive;
  if (std::holds_alternative<Ready>(message)) {
    if (hello_->version >= 2) {
      return InvalidArgument(
          "expected 'ready' from workers of version 1 only: a worker of version 2 is given "
          "launches while it has room for them");
    }
    if (!hello_->reuse)
      return InvalidArgument("expected 'reuse' in the hello of a worker that takes another trial");
    return Step::kReady;
  }
  if (hello_->version < 2 && IsOfVersion2(message))
    return InvalidArgument("expected this message from workers of version 2 only, found version 1");
  if (const auto* told = std::get_if<Capacity>(&message)) {
    hello_->capacity = told->capacity;
    return Step::kCapacity;
  }
  return HearNumbered(NumberOf(message));
}

Status WorkerLink::CheckHello(const Hello& hello) const {
  if (hello_) return InvalidArgument("expected one hello per connection, found another");
  if (hello.version < kOldestVersion || hello.version > kVersion) {
    return InvalidArgument(
        fmt::format("expected version {} to {} of the protocol, found {}: update {}",
                    kOldestVersion, kVersion, hello.version,
                    hello.version > kVersion ? "Sluice, or install the sluice package that came "
                                               "with it"
                                             : "the sluice package"));
  }
  if (hello.version < 2) return {};
  const std::size_t carried = hello.launches.size();
  if (hello.capacity == 0 && carried == 0 && hello.ended.empty())
    return InvalidArgument("expected a capacity of at least 1, found 0");
  if (carried > static_cast<std::size_t>(hello.capacity)) {
    return InvalidArgument(
        fmt::format("expected at most as many launches as the capacity of {}, found {}",
                    hello.capacity, carried));
  }
  return {};
}

Result<WorkerLink::Step> WorkerLink::HearNumbered(const Numbered& numbered) {
  const auto found = next_seq_.find(numbered.at);
  if (found == next_seq_.end()) {
    if (dropped_.contains(numbered.at)) return Step::kDropped;
    return InvalidArgument(fmt::format("expected {}; found one of trial {}, launch {}", Expected(),
                                       Number(numbered.at.trial), Number(numbered.at.launch)));
  }
  std::uint64_t& next_seq = found->second;
  const std::uint64_t conversation = ConversationOf(numbered.seq);
  const std::uint64_t current = ConversationOf(next_seq);
  if (conversation < current) {
    return InvalidArgument(
        "expected a message of the process that reports for this launch now, found one of an "
        "earlier process");
  }
  const bool begins = conversation > current && (numbered.seq - 1) % kConversation == 0;
  if (numbered.seq > next_seq && !begins) {
    return InvalidArgument(
        fmt::format("expected message {}, found {}: some are missing", next_seq, numbered.seq));
  }
  next_seq = std::max(next_seq, numbered.seq + 1);
  return Step::kNumbered;
}

// The messages that the worker may send, in words.
std::string WorkerLink::Expected() const {
  if (hello_->version < 2) return "messages of the launch it was given";
  if (next_seq_.empty()) return "no messages of launches, since this process has no launch";
  std::string text;
  std::size_t shown = 0;
  for (const auto& [at, next] : next_seq_) {
    if (shown++ == kMostShown) {
      text += ", ...";
      break;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", Number(at.trial));
  }
  return fmt::format("messages of the launches in this process (of trial{} {})",
                     next_seq_.size() == 1 ? "" : "s", text);
}

void WorkerLink::Hold(LaunchRef at, std::uint64_t seen) {
  if (hello_ && hello_->version < 2) next_seq_.clear();
  dropped_.erase(at);
  next_seq_[at] = seen + 1;
}

void WorkerLink::Drop(LaunchRef at) {
  next_seq_.erase(at);
  dropped_.insert(at);
}

}  // namespace sluice::wire
