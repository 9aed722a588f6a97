#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/worker_thread.h"
#include "client/connection.h"
#include "client/launch_outbox.h"
#include "client/settings.h"
#include "wire/message.h"

namespace sluice::client {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;
using wire::LaunchRef;

// A launch that must leave: the program saves it where that makes sense, and calls Leave.
struct MustLeave {
  enum class Why {
    kPause,    // save it: it may be resumed later
    kStop,     // `reason` says why: "complete", "stopped" (for good, nothing to save) or "study"
    kRefused,  // the controller refused this launch: save nothing for it
    kAlone,    // no controller: save it, and end the process
  };
  LaunchRef at;
  Why why = Why::kPause;
  std::string reason = {};
};

struct NewTarget {
  LaunchRef at;
  std::optional<Work> target;  // nothing: without limit
};

// What has happened since the last news.
struct News {
  std::vector<wire::Assign> joined;
  std::vector<MustLeave> must_leave;
  std::vector<NewTarget> targets;
  // The process is to end, once it has left its launches: it is not needed any more, or it is
  // alone. Stays true.
  bool finished = false;
  // Why it is alone: the controller refused it, or did not answer within the lease. Empty: it is
  // not alone.
  std::string alone;
};

struct LaunchReport {
  LaunchRef at;
  Work work = 0;
  wire::Values values = {};
};

// What was measured while so many trials of the launch's shape were trained at once.
struct Measured {
  int trials = 1;
  std::int64_t bytes = 0;      // of device memory that the process takes; 0: not measured
  double work_per_second = 0;  // of each trial; 0: not measured
};

using AttributeValue = std::variant<bool, std::int64_t, double, std::string>;

// The worker's end of the protocol (docs/protocol.md, version 2), for a program that trains several
// trials at once. It delivers the messages of each launch, in order and until they are
// acknowledged, and gives the program the news.
//
// Any thread may call. The calling thread sends, so a report has been handed to the kernel when
// Report returns. A background thread reads, sends heartbeats and reconnects. While no controller
// listens, messages go to the launch's spool at once, so that they outlive the process. Messages
// that are not acknowledged are on disk before a checkpoint counts (Secure), and once Close has
// returned.
//
// A call that names a launch which the process does not carry fails with not_found. A launch that
// was refused is carried until the program has left it; what is said of it meanwhile is dropped.
class Client {
 public:
  // The launch of the settings is the first that has joined. Succeeds also while no controller
  // listens.
  static Result<std::unique_ptr<Client>> Open(Settings settings);
  ~Client();  // closes
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits until there is news, until the deadline at most. Everything is told once.
  News Wait(Moment deadline);
  // The news so far.
  News Take() { return Wait(Moment::min()); }

  // The launches that the process carries, also those that are not told as joined yet.
  std::vector<LaunchRef> Carried() const;
  // Whether the launch has reported at its target or past it, and was not told to go on yet. The
  // program trains it no further for now.
  bool AwaitsVerdict(LaunchRef at) const;

  // These wait while the launch's window is full.
  Status Report(LaunchReport report) { return Report(std::span(&report, 1)); }
  // Sends many reports at once. They are taken from the span, in order. Of several errors the first
  // is returned; the other reports have been made.
  Status Report(std::span<LaunchReport> reports);
  Status SetAttribute(LaunchRef at, std::string_view name, const AttributeValue& value);
  Status Profile(LaunchRef at, const Measured& measured);

  // To be called before a checkpoint replaces the one before: all messages of the launch so far
  // outlive the machine when this returns.
  Status Secure(LaunchRef at);
  // The launch's checkpoint folder now holds the state at this work. Secures first.
  Status Saved(LaunchRef at, Work work, std::int64_t bytes);

  // Leaves the launch: nothing more can be said of it.
  enum class As { kDone, kPaused, kReleased };
  Status Leave(LaunchRef at, As as);
  Status LeaveAsFailed(LaunchRef at, std::string_view reason);

  // How many launches the process takes at once from now on. Launches that have joined and were not
  // told to the program yet are handed back if they are too many. If those that it knows are too
  // many, this fails and changes nothing: the program leaves some of them first (As::kReleased).
  Status SetCapacity(int capacity);

  // Waits for acknowledgements while they can come, and spools what is left. Launches that are
  // still carried, and that the program knows to be paused or alone, are marked as paused in their
  // folders. Afterwards the client can only be destroyed.
  void Close();

 private:
  // A launch that the process carries, or has left without all its messages being acknowledged.
  struct Launch {
    Launch(wire::Assign given)
        : assign(std::move(given)), outbox(assign.at, assign.folder), target(assign.target) {}

    wire::Assign assign;
    LaunchOutbox outbox;
    std::optional<Work> target;
    Work reported = -1;
    bool joined_told = false;
    std::optional<MustLeave> must_leave = {};
    bool must_leave_told = false;
    bool target_told = true;
    bool refused = false;  // the program has yet to leave it
    bool over = false;     // the program has left it

    bool carried() const { return !over && !refused; }
  };
  using Lock = std::unique_lock<std::mutex>;

  explicit Client(Settings settings);

  // All below are called with the lock held. Those that take it may release it for a while.

  // For the callers (client.cc)
  Result<Launch*> Find(LaunchRef at);
  // Waits until the launch's window has room.
  Result<Launch*> FindWithRoom(Lock& lock, LaunchRef at);
  Status ReportOne(Lock& lock, LaunchReport& report);
  Status SecureLaunch(Lock& lock, LaunchRef at);
  template <typename Message>
  Status LeaveWith(LaunchRef at, Message message);
  std::string CarriedInWords() const;
  News TakeNews();
  void AwaitDelivery(Lock& lock);
  void MarkPausedLaunches();

  // For both (delivery.cc)
  template <typename Message>
  Status Add(Launch& launch, Message message);
  // Sends what was added, or spools it.
  void Deliver();
  bool CanSend() const { return ended_.empty() && connection_ && connection_->can_send(); }
  void SpoolAll();
  void SpoolAtEnd();
  void NoteAcknowledged();
  void End(const std::string& why);
  bool AllAcknowledged() const;

  // For the background thread (conversation.cc)
  void Run();
  Moment NextMoment() const;
  void Listen();
  void DoWhatIsDue(Moment now);
  void Connect(Moment now);
  void HangUp(Moment now);
  void AttemptLater(Moment now);
  Clock::duration Patience() const;
  std::string Hello() const;
  void Heard(const wire::Welcome& message);
  void Heard(wire::Assign& message);
  void Heard(const wire::Ack& message);
  void Heard(const wire::Budget& message);
  void Heard(const wire::Pause& message);
  void Heard(const wire::Stop& message);
  void Heard(const wire::Exit& message);
  void Heard(const wire::Refuse& message);
  void Heard(const wire::Answer&) {}
  void MakeLeave(MustLeave must_leave);
  void Join(wire::Assign assign);

  const Settings settings_;
  const int wake_descriptor_;  // an eventfd that wakes the background thread

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int capacity_;
  std::map<LaunchRef, Launch> launches_;
  int carried_ = 0;  // of the launches: neither left nor refused
  Clock::duration lease_{};
  int window_ = wire::kWindow;

  std::unique_ptr<Connection> connection_;
  std::optional<Moment> alone_since_;  // when a controller was last known to listen
  Moment next_attempt_{};              // to connect
  Clock::duration backoff_{};          // until the next attempt after a failed one
  Moment last_heartbeat_{};
  Moment next_note_{};      // of acknowledgements
  bool has_notes_ = false;  // acknowledgements that are not noted yet

  bool has_news_ = false;
  bool dismissed_ = false;
  std::string ended_;  // why nothing is sent any more; empty: it is
  std::unique_ptr<WorkerThread> thread_;
};

template <typename Message>
Status Client::Add(Launch& launch, Message message) {
  if (launch.refused) return {};
  SLUICE_ASSIGN(const std::string* line, launch.outbox.Add(std::move(message)));
  if (CanSend()) connection_->Add(*line);
  return {};
}

}  // namespace sluice::client
