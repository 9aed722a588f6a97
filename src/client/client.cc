#include "client/client.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "client/tell.h"

namespace sluice::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Work kMostWork = std::int64_t{1} << 62;
constexpr std::size_t kMostMetrics = 10'000;  // an object of the protocol has no more members
constexpr std::size_t kMostShown = 8;
constexpr std::size_t kLongestReason = 4000;
constexpr Clock::duration kLongestFarewell = seconds(30);
// How long Close waits for a broken connection to be made again.
constexpr Clock::duration kPatienceForReturn = milliseconds(500);
// How long Secure waits for acknowledgements if messages cannot be spooled.
constexpr Clock::duration kPatienceToSave = seconds(5);

std::string Words(LaunchRef at) {
  return fmt::format("trial {}, launch {}", Number(at.trial), Number(at.launch));
}

Status CheckWork(LaunchRef at, Work work) {
  if (work >= 0 && work <= kMostWork) return {};
  return InvalidArgument(fmt::format("{}: work: expected a number from 0 to {}, found {}",
                                     Words(at), kMostWork, work));
}

Status CheckCapacity(int capacity) {
  if (capacity >= 1 && capacity <= wire::kMostCapacity) return {};
  return InvalidArgument(fmt::format("capacity: expected a number from 1 to {}, found {}",
                                     wire::kMostCapacity, capacity));
}

std::string JsonOf(std::string_view name, const AttributeValue& value) {
  JsonWriter json;
  std::visit([&](const auto& known) { json.Add(name, known); }, value);
  return json.Take();
}

}  // namespace

Result<std::unique_ptr<Client>> Client::Open(Settings settings) {
  SLUICE_TRY(CheckCapacity(settings.capacity));
  if (!IsSet(settings.first.at.trial) || !IsSet(settings.first.at.launch))
    return InvalidArgument("expected the launch that this process was started for, found none");
  const int wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_descriptor < 0)
    return Unavailable(fmt::format("cannot open an event descriptor: {}", std::strerror(errno)));
  return std::unique_ptr<Client>(new Client(std::move(settings), wake_descriptor));
}

Client::Client(Settings settings, int wake_descriptor)
    : settings_(std::move(settings)),
      wake_descriptor_(wake_descriptor),
      capacity_(settings_.capacity) {
  const Lock lock(mutex_);
  const Moment now = Clock::now();
  alone_since_ = now;
  Join(settings_.first);
  Connect(now);
  thread_ = std::make_unique<WorkerThread>(WorkerThread::AtEnd::kFinish);
  thread_->Post([this] { Run(); });
}

Client::~Client() {
  Close();
  close(wake_descriptor_);
}

News Client::Wait(Moment deadline) {
  Lock lock(mutex_);
  const auto is_ready = [this] { return has_news_ || dismissed_ || !ended_.empty(); };
  if (deadline > Clock::now()) changed_.wait_until(lock, deadline, is_ready);
  return TakeNews();
}

News Client::TakeNews() {
  News news;
  news.finished = dismissed_ || !ended_.empty();
  news.alone = ended_;
  if (!std::exchange(has_news_, false)) return news;
  for (auto& [at, launch] : launches_) {
    if (launch.over) continue;
    if (!launch.joined_told) {
      news.joined.push_back(launch.assign);
      news.joined.back().target = launch.target;
      launch.joined_told = launch.target_told = true;
    }
    if (!std::exchange(launch.target_told, true)) news.targets.push_back({at, launch.target});
    if (launch.must_leave && !launch.must_leave_told) {
      news.must_leave.push_back(*launch.must_leave);
      launch.must_leave_told = true;
    }
  }
  return news;
}

std::vector<LaunchRef> Client::Carried() const {
  const Lock lock(mutex_);
  std::vector<LaunchRef> carried;
  for (const auto& [at, launch] : launches_) {
    if (launch.carried()) carried.push_back(at);
  }
  return carried;
}

bool Client::AwaitsVerdict(LaunchRef at) const {
  const Lock lock(mutex_);
  const auto found = launches_.find(at);
  if (found == launches_.end()) return false;
  const Launch& launch = found->second;
  return launch.carried() && !launch.must_leave && launch.target &&
         launch.reported >= *launch.target;
}

Result<Client::Launch*> Client::Find(LaunchRef at) {
  const auto found = launches_.find(at);
  if (found != launches_.end() && !found->second.over) return &found->second;
  return NotFound(fmt::format("expected a launch that this process carries ({}), found {}",
                              CarriedInWords(), Words(at)));
}

Result<Client::Launch*> Client::FindWithRoom(Lock& lock, LaunchRef at) {
  SLUICE_ASSIGN(Launch * launch, Find(at));
  if (!launch->outbox.Full(window_) || !ended_.empty()) return launch;
  Deliver();  // acknowledgements, which make room, come only for messages that were sent
  Result<Launch*> found = launch;
  changed_.wait(lock, [&] {
    found = Find(at);
    return !found || !(*found)->outbox.Full(window_) || !ended_.empty();
  });
  return found;
}

std::string Client::CarriedInWords() const {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [at, launch] : launches_) {
    if (launch.over) continue;
    if (shown++ == kMostShown) return text + ", ...";
    text += fmt::format("{}trial {}", text.empty() ? "" : ", ", Number(at.trial));
  }
  return text.empty() ? "none" : text;
}

Status Client::Report(std::span<LaunchReport> reports) {
  Lock lock(mutex_);
  Status first;
  for (LaunchReport& report : reports) {
    Status status = ReportOne(lock, report);
    if (first && !status) first = std::move(status);
  }
  Deliver();
  return first;
}

Status Client::ReportOne(Lock& lock, LaunchReport& report) {
  SLUICE_ASSIGN(Launch * launch, FindWithRoom(lock, report.at));
  SLUICE_TRY(CheckWork(report.at, report.work));
  if (report.work <= launch->reported) {
    return InvalidArgument(
        fmt::format("{}: work: expected more than the {} reported last, found {}", Words(report.at),
                    launch->reported, report.work));
  }
  if (report.values.size() > kMostMetrics) {
    return InvalidArgument(fmt::format("{}: expected at most {} metrics, found {}",
                                       Words(report.at), kMostMetrics, report.values.size()));
  }
  launch->best.Reported(report.work, report.values);
  wire::Report message{.at = report.at, .work = report.work, .values = std::move(report.values)};
  SLUICE_TRY(Add(*launch, std::move(message)));
  launch->reported = report.work;
  return {};
}

Status Client::SetAttribute(LaunchRef at, std::string_view name, const AttributeValue& value) {
  Lock lock(mutex_);
  if (name.empty()) return InvalidArgument(Words(at) + ": expected an attribute with a name");
  SLUICE_ASSIGN(Launch * launch, FindWithRoom(lock, at));
  Status status = Add(*launch, wire::Attributes{.at = at, .attributes = JsonOf(name, value)});
  Deliver();
  return status;
}

Status Client::Profile(LaunchRef at, const Measured& measured) {
  Lock lock(mutex_);
  const auto [trials, bytes, work_per_second] = measured;
  if (trials < 1 || trials > wire::kMostCapacity) {
    return InvalidArgument(fmt::format("{}: expected a profile of 1 to {} trials, found {}",
                                       Words(at), wire::kMostCapacity, trials));
  }
  if (bytes < 0 || !(work_per_second >= 0) || std::isinf(work_per_second)) {
    return InvalidArgument(
        fmt::format("{}: expected a profile of finite numbers of at least 0, found {} bytes, work "
                    "per second {}",
                    Words(at), bytes, work_per_second));
  }
  SLUICE_ASSIGN(Launch * launch, FindWithRoom(lock, at));
  wire::Profile message{
      .at = at, .trials = trials, .bytes = bytes, .work_per_second = work_per_second};
  Status status = Add(*launch, message);
  Deliver();
  return status;
}

Status Client::Secure(LaunchRef at) {
  Lock lock(mutex_);
  return SecureLaunch(lock, at);
}

Status Client::SecureLaunch(Lock& lock, LaunchRef at) {
  SLUICE_ASSIGN(Launch * launch, Find(at));
  Status status = launch->outbox.Spool(/*synced=*/true);
  if (status) return status;
  changed_.wait_until(lock, Clock::now() + kPatienceToSave, [&] {
    const auto found = Find(at);
    return !found || (*found)->outbox.empty() || !ended_.empty();
  });
  const auto found = Find(at);
  if (found && (*found)->outbox.empty()) return {};
  return status;
}

Status Client::Saved(LaunchRef at, Work work, std::int64_t bytes) {
  Lock lock(mutex_);
  SLUICE_TRY(CheckWork(at, work));
  if (bytes < 0) {
    return InvalidArgument(
        fmt::format("{}: bytes: expected at least 0, found {}", Words(at), bytes));
  }
  SLUICE_TRY(SecureLaunch(lock, at));
  SLUICE_ASSIGN(Launch * launch, FindWithRoom(lock, at));
  Status status = Add(*launch, wire::Saved{.at = at, .work = work, .bytes = bytes});
  Deliver();
  return status;
}

Result<std::optional<Work>> Client::BestWork(LaunchRef at) {
  const Lock lock(mutex_);
  SLUICE_ASSIGN(const Launch* launch, Find(at));
  return launch->best.work();
}

Result<bool> Client::IsRefused(LaunchRef at) {
  const Lock lock(mutex_);
  SLUICE_ASSIGN(const Launch* launch, Find(at));
  return launch->refused;
}

void Client::GiveUp(LaunchRef at, std::uint64_t owner) {
  const std::string why =
      fmt::format("launch {} of trial {} was given up", Number(at.launch), Number(at.trial));
  Tell(fmt::format("{}, and launch {} goes on with the trial: a checkpoint was dropped", why,
                   owner));
  const Lock lock(mutex_);
  RefuseLaunch(at, why);
  changed_.notify_all();
}

Status Client::Leave(LaunchRef at, As as) {
  switch (as) {
    case As::kDone: return LeaveWith(at, wire::Done{});
    case As::kPaused: return LeaveWith(at, wire::Paused{});
    case As::kReleased: return LeaveWith(at, wire::Released{});
  }
  return {};
}

Status Client::LeaveAsFailed(LaunchRef at, std::string_view reason) {
  return LeaveWith(
      at, wire::Failed{.at = at, .reason = std::string(FirstBytes(reason, kLongestReason))});
}

template <typename Message>
Status Client::LeaveWith(LaunchRef at, Message message) {
  Lock lock(mutex_);
  SLUICE_ASSIGN(Launch * launch, FindWithRoom(lock, at));
  if (launch->refused) {
    launches_.erase(at);
    return {};
  }
  SLUICE_TRY(Add(*launch, std::move(message)));
  launch->over = true;
  --carried_;
  Deliver();
  return {};
}

Status Client::SetCapacity(int capacity) {
  const Lock lock(mutex_);
  SLUICE_TRY(CheckCapacity(capacity));
  std::vector<Launch*> unknown;  // launches that the program does not know of yet
  for (auto& [at, launch] : launches_) {
    if (launch.carried() && !launch.joined_told) unknown.push_back(&launch);
  }
  const int known = carried_ - static_cast<int>(unknown.size());
  if (capacity < known) {
    return FailedPrecondition(
        fmt::format("expected a capacity of at least the {} launches that are carried, found {}: "
                    "release {} of them first",
                    known, capacity, known - capacity));
  }
  for (; carried_ > capacity; --carried_, unknown.pop_back()) {
    SLUICE_TRY(Add(*unknown.back(), wire::Released{}));
    unknown.back()->over = true;
  }
  if (std::exchange(capacity_, capacity) != capacity && CanSend())
    connection_->Add(wire::Encode(wire::FromWorker(wire::Capacity{capacity})));
  Deliver();
  return {};
}

void Client::Close() {
  if (thread_ == nullptr) return;
  {
    Lock lock(mutex_);
    AwaitDelivery(lock);
    End("the process is at its end");
    NoteAcknowledged();
    MarkPausedLaunches();
  }
  thread_.reset();
}

// Waits until all messages are acknowledged, or until no controller is likely to do so.
void Client::AwaitDelivery(Lock& lock) {
  const Moment deadline = Clock::now() + std::min(kLongestFarewell, lease_);
  while (ended_.empty() && !AllAcknowledged()) {
    const bool may_return = connection_ == nullptr && alone_since_;
    const Moment until =
        may_return ? std::min(deadline, *alone_since_ + kPatienceForReturn) : deadline;
    if (Clock::now() >= until) return;
    changed_.wait_until(lock, until);
  }
}

void Client::MarkPausedLaunches() {
  for (const auto& [at, launch] : launches_) {
    if (!launch.carried() || !launch.must_leave_told) continue;
    const MustLeave::Why why = launch.must_leave->why;
    if (why != MustLeave::Why::kPause && why != MustLeave::Why::kAlone) continue;
    if (const Status status = MarkPaused(launch.assign.folder); !status)
      Tell(Words(at) + ": it is not marked as paused: " + status.error().message);
  }
}

}  // namespace sluice::client
