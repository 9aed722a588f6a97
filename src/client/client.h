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
#include "client/best_report.h"
#include "client/connection.h"
#include "client/launch_outbox.h"
#include "client/settings.h"
#include "wire/message.h"

namespace sluice::client {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;
using wire::LaunchRef;

// A launch that must leave. The program saves the launch's state, unless the reason says otherwise,
// and calls Leave.
struct MustLeave {
  enum class Why {
    kPause,    // save: the trial may be resumed later
    kStop,     // `reason` says why: "complete", "stopped" (for good, do not save) or "study"
    kRefused,  // the controller refused this launch: do not save
    kAlone,    // there is no controller: save, and end the process
  };
  LaunchRef at;
  Why why = Why::kPause;
  std::string reason = {};
};

struct NewTarget {
  LaunchRef at;
  std::optional<Work> target;  // nothing: without limit
};

// What has happened since the program last got news.
struct News {
  std::vector<wire::Assign> joined;
  std::vector<MustLeave> must_leave;
  std::vector<NewTarget> targets;
  // The process must leave its launches and then end: the controller does not need the process any
  // more, or there is no controller. Once true, `finished` is true in all later news.
  bool finished = false;
  // Why the process is without a controller: the controller refused the process, or did not answer
  // within the lease. Empty if the process has a controller.
  std::string alone;
};

struct LaunchReport {
  LaunchRef at;
  Work work = 0;
  wire::Values values = {};
};

// What was measured while `trials` trials of the launch's shape were trained together.
struct Measured {
  int trials = 1;
  std::int64_t bytes = 0;      // the device memory of the process; 0: not measured
  double work_per_second = 0;  // the speed of each trial; 0: not measured
};

using AttributeValue = std::variant<bool, std::int64_t, double, std::string>;

// The worker's end of the protocol (docs/protocol.md, version 2), for a program that trains several
// trials together. It sends the messages of each launch in order, and sends them again on a new
// connection until they are acknowledged. It gives the program the news from the controller.
//
// Any thread may call. The calling thread sends, so a report has been handed to the kernel when
// Report returns. A background thread reads, sends heartbeats and reconnects. While no controller
// listens, each message is written to the launch's spool immediately, so that the message outlives
// the process. Messages that are not acknowledged are on disk when Secure returns (before a
// checkpoint counts), and when Close returns.
//
// A call that names a launch which the process does not carry fails with not_found. If the
// controller refused a launch, the program can still name it until it calls Leave; messages about
// such a launch are dropped.
//
// The main loop of a program:
//
//   for (News news; !news.finished; news = client->Wait(deadline)) {
//     // begin the trials of news.joined; save the trials of news.must_leave, and Leave them
//     // train every other trial for a step, unless it AwaitsVerdict; then Report all of them
//   }
class Client {
 public:
  // The launch in the settings joins first. Succeeds even if no controller listens. Fails with
  // invalid_argument if the settings name no launch or a wrong capacity.
  static Result<std::unique_ptr<Client>> Open(Settings settings);
  ~Client();  // calls Close
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits until there is news, but not past the deadline. Each piece of news is returned once. Does
  // not wait if the process is to end (News::finished).
  News Wait(Moment deadline);
  // Returns the news so far without waiting.
  News Take() { return Wait(Moment::min()); }

  // The launches that the process carries, including those that no News::joined has shown yet.
  std::vector<LaunchRef> Carried() const;
  // Whether the launch has reported at or past its target, and has no verdict yet. The program must
  // not train such a launch further.
  bool AwaitsVerdict(LaunchRef at) const;

  // The next four functions wait while the launch has a whole window of unacknowledged messages.
  Status Report(LaunchReport report) { return Report(std::span(&report, 1)); }
  // Sends many reports together, in order. Moves the values out of the span. If some reports are
  // wrong, the others are sent all the same, and the first error is returned.
  Status Report(std::span<LaunchReport> reports);
  Status SetAttribute(LaunchRef at, std::string_view name, const AttributeValue& value);
  Status Profile(LaunchRef at, const Measured& measured);

  // To be called before a new checkpoint replaces the previous one. When this returns, all messages
  // of the launch so far are acknowledged or on disk, and survive a power failure. Fails if the
  // messages cannot be written, and are not acknowledged within some seconds.
  Status Secure(LaunchRef at);
  // Says that the launch's checkpoint folder now holds the state at this work. Calls Secure first.
  Status Saved(LaunchRef at, Work work, std::int64_t bytes);

  // The work of the launch's best report so far, counting the reports of earlier launches (see
  // BestReport).
  Result<std::optional<Work>> BestWork(LaunchRef at);
  // Whether the controller refused the launch, or it was given up. The program must leave it.
  Result<bool> IsRefused(LaunchRef at);
  // Gives the launch up, as if the controller had refused it. `owner`, a newer launch of the trial,
  // has taken over its checkpoint folder.
  void GiveUp(LaunchRef at, std::uint64_t owner);

  // Leaves the launch. Later calls that name it fail with not_found.
  enum class As { kDone, kPaused, kReleased };
  Status Leave(LaunchRef at, As as);
  Status LeaveAsFailed(LaunchRef at, std::string_view reason);

  // Sets how many launches the process takes at the same time from now on. Launches that no
  // News::joined has shown yet are handed back if the process carries too many. If the launches
  // that the program knows are too many, this fails with failed_precondition and changes nothing.
  // The program must then leave some of them first (As::kReleased).
  Status SetCapacity(int capacity);

  // Waits for acknowledgements as long as they can come, and spools the unacknowledged messages. A
  // launch that is still carried is marked as paused in its folder if the news has told the program
  // to leave it as kPause or kAlone. Afterwards the client can only be destroyed.
  void Close();

 private:
  // A launch that the process carries, or that it has left and that has unacknowledged messages.
  struct Launch {
    Launch(wire::Assign given)
        : assign(std::move(given)),
          outbox(assign.at, assign.folder),
          best(assign),
          target(assign.target) {}

    wire::Assign assign;
    LaunchOutbox outbox;
    BestReport best;
    std::optional<Work> target;
    Work reported = -1;
    bool joined_told = false;
    std::optional<MustLeave> must_leave = {};
    bool must_leave_told = false;
    bool target_told = true;
    bool refused = false;  // the controller refused the launch; the program must still leave it
    bool over = false;     // the program has left the launch

    bool carried() const { return !over && !refused; }
  };
  using Lock = std::unique_lock<std::mutex>;

  Client(Settings settings, int wake_descriptor);

  // Called without the lock.
  void Run();  // what the background thread runs
  template <typename Message>
  Status LeaveWith(LaunchRef at, Message message);

  // All functions below are called with the lock held. Those with a parameter `lock` may release
  // the lock while they wait.

  // For the calling threads (client.cc)
  Result<Launch*> Find(LaunchRef at);
  // Waits until the launch's window has room.
  Result<Launch*> FindWithRoom(Lock& lock, LaunchRef at);
  Status ReportOne(Lock& lock, LaunchReport& report);
  Status SecureLaunch(Lock& lock, LaunchRef at);
  std::string CarriedInWords() const;
  News TakeNews();
  void AwaitDelivery(Lock& lock);
  void MarkPausedLaunches();

  // For the calling threads and the background thread (delivery.cc)
  template <typename Message>
  Status Add(Launch& launch, Message message);
  // Sends the added messages, or spools them if there is no connection.
  void Deliver();
  bool CanSend() const { return ended_.empty() && connection_ && connection_->can_send(); }
  void SpoolAll();
  void SpoolAtEnd();
  void NoteAcknowledged();
  void End(const std::string& why);
  bool AllAcknowledged() const;

  // For the background thread (conversation.cc)
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
  void RefuseLaunch(LaunchRef at, const std::string& reason);
  void Join(wire::Assign assign);

  const Settings settings_;
  const int wake_descriptor_;  // an eventfd that wakes the background thread

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int capacity_;
  std::map<LaunchRef, Launch> launches_;
  int carried_ = 0;  // how many of `launches_` are neither left nor refused
  Clock::duration lease_{};
  int window_ = wire::kWindow;

  std::unique_ptr<Connection> connection_;
  std::optional<Moment> alone_since_;  // when a controller last listened; nothing: one listens now
  Moment next_attempt_{};              // when to try to connect again
  Clock::duration backoff_{};          // the wait after the last failed attempt to connect
  Moment last_heartbeat_{};
  Moment next_note_{};      // when acknowledgements may be noted in the launches' folders again
  bool has_notes_ = false;  // there are acknowledgements that are not noted yet

  bool has_news_ = false;
  bool dismissed_ = false;  // the controller has sent `exit`
  std::string ended_;       // why nothing is sent any more; empty while messages are sent
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
