// The part of the client that sends messages and spools them.

#include <fmt/format.h>

#include <utility>

#include "client/client.h"
#include "client/tell.h"

namespace sluice::client {

void Client::Deliver() {
  if (CanSend()) connection_->Flush();
  if (!ended_.empty()) {
    SpoolAtEnd();
  } else if (!CanSend()) {
    SpoolAll();
  } else if (connection_->has_unsent()) {
    Signal(wake_descriptor_);  // the background thread sends the rest
  }
}

// Called while no controller listens. Messages that could not be written now are written together
// with the next message.
void Client::SpoolAll() {
  for (auto& [at, launch] : launches_) std::ignore = launch.outbox.Spool(/*synced=*/false);
}

void Client::SpoolAtEnd() {
  for (auto each = launches_.begin(); each != launches_.end();) {
    LaunchOutbox& outbox = each->second.outbox;
    if (const Status status = outbox.Spool(/*synced=*/true)) {
      outbox.Drop();
    } else {
      Tell("the last messages of a launch are lost: " + status.error().message);
    }
    const bool is_forgotten = each->second.over && outbox.empty();
    if (is_forgotten) outbox.NoteAcknowledged();
    each = is_forgotten ? launches_.erase(each) : std::next(each);
  }
}

void Client::NoteAcknowledged() {
  for (auto& [at, launch] : launches_) launch.outbox.NoteAcknowledged();
  has_notes_ = false;
}

void Client::End(const std::string& why) {
  if (!ended_.empty()) return;
  ended_ = why;
  if (!AllAcknowledged()) Tell(why + "; results are kept in spool.jsonl");
  for (auto& [at, launch] : launches_) {
    if (!launch.carried() || launch.must_leave) continue;
    launch.must_leave = {.at = at, .why = MustLeave::Why::kAlone, .reason = why};
    launch.must_leave_told = false;
  }
  SpoolAtEnd();
  has_news_ = true;
  Signal(wake_descriptor_);
  changed_.notify_all();
}

bool Client::AllAcknowledged() const {
  for (const auto& [at, launch] : launches_) {
    if (!launch.outbox.empty()) return false;
  }
  return true;
}

}  // namespace sluice::client
