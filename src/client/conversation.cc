// The part of the client that runs in the background thread: it reads, sends heartbeats and
// reconnects.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/check.h"
#include "client/client.h"
#include "client/tell.h"

namespace sluice::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Clock::duration kFirstBackoff = milliseconds(20);
constexpr Clock::duration kLongestBackoff = seconds(1);
constexpr Clock::duration kBetweenNotes = milliseconds(100);
// How long a process that carries no launch waits for a controller.
constexpr Clock::duration kPatienceIdle = seconds(3);
constexpr int kHeartbeatsPerLease = 4;  // the protocol asks for at least three

int MillisecondsUntil(Moment moment) {
  const auto left = std::chrono::ceil<milliseconds>(moment - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void Drain(int event_descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = read(event_descriptor, &count, sizeof count);
}

}  // namespace

void Client::Run() {
  Lock lock(mutex_);
  while (ended_.empty()) {
    const bool wants_to_send = connection_ && connection_->has_unsent();
    const short events = wants_to_send ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 2> watched{{
        {.fd = wake_descriptor_, .events = POLLIN, .revents = 0},
        {.fd = connection_ ? connection_->descriptor() : -1, .events = events, .revents = 0},
    }};
    const int timeout_ms = MillisecondsUntil(NextMoment());
    lock.unlock();
    poll(watched.data(), watched.size(), timeout_ms);
    lock.lock();
    if (watched[0].revents != 0) Drain(wake_descriptor_);
    if (watched[1].revents != 0) Listen();
    const Moment now = Clock::now();
    if (connection_ && connection_->broken()) HangUp(now);
    if (ended_.empty()) DoWhatIsDue(now);
  }
  connection_.reset();
}

Moment Client::NextMoment() const {
  Moment next = connection_ ? last_heartbeat_ + lease_ / kHeartbeatsPerLease : next_attempt_;
  if (has_notes_) next = std::min(next, next_note_);
  if (alone_since_) next = std::min(next, *alone_since_ + Patience());
  return next;
}

void Client::DoWhatIsDue(Moment now) {
  if (alone_since_ && now >= *alone_since_ + Patience()) {
    const double patience_s = std::chrono::duration<double>(Patience()).count();
    End(fmt::format("the controller was not heard for {:g} s", patience_s));
    return;
  }
  if (has_notes_ && now >= next_note_) {
    next_note_ = now + kBetweenNotes;
    NoteAcknowledged();
  }
  if (!connection_ && now >= next_attempt_) Connect(now);
  if (!connection_) return;
  if (now >= last_heartbeat_ + lease_ / kHeartbeatsPerLease) {
    last_heartbeat_ = now;
    if (!connection_->has_unsent())
      connection_->Add(wire::Encode(wire::FromWorker(wire::Heartbeat{})));
  }
  connection_->Flush();
}

Clock::duration Client::Patience() const {
  const bool is_idle = carried_ == 0 && AllAcknowledged();
  return is_idle ? std::min(lease_, kPatienceIdle) : lease_;
}

void Client::Connect(Moment now) {
  connection_ = Connection::Open(settings_.socket_path);
  if (!connection_) return AttemptLater(now);
  last_heartbeat_ = now;
  connection_->Add(Hello());
  for (const auto& [at, launch] : launches_) {
    for (const std::string& line : launch.outbox.lines()) connection_->Add(line);
  }
  connection_->Flush();
  changed_.notify_all();
}

void Client::AttemptLater(Moment now) {
  backoff_ = std::clamp(2 * backoff_, kFirstBackoff, kLongestBackoff);
  next_attempt_ = now + backoff_;
}

void Client::HangUp(Moment now) {
  connection_.reset();
  NoteAcknowledged();
  SpoolAll();
  if (!alone_since_) alone_since_ = now;
  AttemptLater(now);
  changed_.notify_all();
}

std::string Client::Hello() const {
  wire::Hello hello{.version = wire::kVersion,
                    .worker = settings_.worker,
                    .pid = getpid(),
                    .client = settings_.client_name,
                    .secret = settings_.secret,
                    .study = settings_.first.study,
                    .capacity = capacity_,
                    .several_shapes = settings_.several_shapes};
  for (const auto& [at, launch] : launches_) {
    if (launch.carried()) hello.launches.push_back(at);
    if (launch.over) hello.ended.push_back(at);
  }
  return wire::Encode(wire::FromWorker(std::move(hello)));
}

void Client::Listen() {
  connection_->Receive();
  while (const auto line = connection_->NextLine()) {
    auto message = wire::DecodeToWorker(*line);
    if (!message && message.error().code == ErrorCode::kNotFound) continue;  // of an unknown type
    if (!message) {
      Tell("the controller is not understood: " + message.error().message);
      connection_->Break();
      break;
    }
    std::visit([this](auto& known) { Heard(known); }, *message);
    if (!ended_.empty()) break;
  }
  changed_.notify_all();
}

void Client::Heard(const wire::Welcome& message) {
  alone_since_.reset();
  backoff_ = {};
  lease_ = milliseconds(message.lease_ms);
  window_ = message.window;
}

void Client::Heard(wire::Assign& message) { Join(std::move(message)); }

void Client::Join(wire::Assign assign) {
  lease_ = milliseconds(assign.lease_ms);
  window_ = assign.window;
  const LaunchRef at = assign.at;
  const auto [place, is_new] = launches_.try_emplace(at, std::move(assign));
  if (!is_new) return;  // the controller sends `assign` again on a new connection
  Launch& launch = place->second;
  if (carried_ < capacity_) {
    ++carried_;
    has_news_ = true;
  } else {
    launch.over = true;
    const Status status = Add(launch, wire::Released{});
    SLUICE_CHECK(status.has_value(), "a message without content fits into a line");
  }
}

void Client::Heard(const wire::Ack& message) {
  const auto found = launches_.find(message.at);
  if (found == launches_.end()) return;
  Launch& launch = found->second;
  launch.outbox.Acknowledge(message.seq);
  has_notes_ = true;
  if (!launch.over || !launch.outbox.empty()) return;
  launch.outbox.NoteAcknowledged();
  launches_.erase(found);
}

void Client::Heard(const wire::Budget& message) {
  const auto found = launches_.find(message.at);
  if (found == launches_.end()) return;
  found->second.target = message.target;
  found->second.target_told = false;
  has_news_ = true;
}

void Client::Heard(const wire::Pause& message) {
  MakeLeave({.at = message.at, .why = MustLeave::Why::kPause});
}

void Client::Heard(const wire::Stop& message) {
  MakeLeave({.at = message.at, .why = MustLeave::Why::kStop, .reason = message.why});
}

void Client::MakeLeave(MustLeave must_leave) {
  const auto found = launches_.find(must_leave.at);
  if (found == launches_.end() || !found->second.carried()) return;
  Launch& launch = found->second;
  if (launch.must_leave && launch.must_leave->why == MustLeave::Why::kStop) return;
  if (launch.must_leave && launch.must_leave->why == must_leave.why) return;
  launch.must_leave = std::move(must_leave);
  launch.must_leave_told = false;
  has_news_ = true;
}

void Client::Heard(const wire::Exit&) {
  dismissed_ = true;
  has_news_ = true;
}

void Client::Heard(const wire::Refuse& message) {
  if (!message.at) return End("the controller refused this process: " + message.reason);
  RefuseLaunch(*message.at, message.reason);
}

void Client::RefuseLaunch(LaunchRef at, const std::string& reason) {
  const auto found = launches_.find(at);
  if (found == launches_.end() || found->second.refused) return;
  Launch& launch = found->second;
  if (launch.carried()) --carried_;
  if (launch.over || !launch.joined_told) {  // the program need not be told
    launches_.erase(found);
    return;
  }
  launch.refused = true;
  launch.outbox.Drop();
  launch.must_leave = {.at = at, .why = MustLeave::Why::kRefused, .reason = reason};
  launch.must_leave_told = false;
  has_news_ = true;
}

}  // namespace sluice::client
