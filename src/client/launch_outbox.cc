#include "client/launch_outbox.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::client {

void LaunchOutbox::Acknowledge(std::uint64_t seq) {
  if (seq < outbox_.first()) return;
  outbox_.Acknowledge(seq);
  acknowledged_ = outbox_.first() - 1;
}

void LaunchOutbox::NoteAcknowledged() {
  if (noted_ == acknowledged_) return;
  client::NoteAcknowledged(folder_, acknowledged_);
  noted_ = acknowledged_;
}

Status LaunchOutbox::Spool(bool synced) {
  const std::uint64_t last = outbox_.last();
  if (empty() || (spooled_ == last && (!synced || synced_ == last))) return {};
  const std::uint64_t begin = std::max(spooled_ + 1, outbox_.first());
  std::string text;
  for (std::uint64_t seq = begin; seq <= last; ++seq) {
    text += lines()[seq - outbox_.first()];
    text += '\n';
  }
  SLUICE_TRY(AppendToSpool(folder_, text, synced));
  spooled_ = last;
  if (synced) synced_ = last;
  return {};
}

void LaunchOutbox::Drop() { outbox_.Acknowledge(outbox_.last()); }

std::unexpected<Error> LaunchOutbox::TooLong(std::size_t bytes) {
  return InvalidArgument(
      fmt::format("expected a message of less than {} bytes, found {}", wire::kLongestLine, bytes));
}

}  // namespace sluice::client
