#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace sluice::wire {

// The worker protocol. docs/protocol.md describes it.

constexpr int kVersion = 2;
constexpr int kOldestVersion = 1;
constexpr std::size_t kLongestLine = 1 << 20;
constexpr int kWindow = 1024;
// The most launches that one process can carry.
constexpr int kMostCapacity = 4096;

// The processes that speak for a launch, one after another, are counted from 0. The messages of
// process n are numbered from n * kConversation + 1 on.
constexpr std::uint64_t kConversation = 1ULL << 40;
constexpr std::uint64_t ConversationOf(std::uint64_t seq) {
  return seq == 0 ? 0 : (seq - 1) / kConversation;
}

// One launch of one trial of the study that a controller runs.
struct LaunchRef {
  TrialId trial{};
  LaunchId launch{};
  friend auto operator<=>(const LaunchRef&, const LaunchRef&) = default;
};

using Values = std::vector<std::pair<std::string, double>>;

// Messages from the worker. Those with a seq are acknowledged.
struct Hello {
  int version = kOldestVersion;
  std::string worker;  // the launch its process was started for, "TRIAL.LAUNCH"
  std::int64_t pid = 0;
  std::string client = {};
  // The worker can take another launch after it has left one. In version 2 this is always so.
  bool reuse = false;
  std::string secret = {};  // the host's secret; empty: the process does not know it
  std::string study = {};
  // The launches that the worker carries. Version 1: at most one. That launch may have ended, if
  // its end is not acknowledged yet.
  std::vector<LaunchRef> launches = {};
  // Version 2: launches that the worker has left, and whose messages are not all acknowledged.
  std::vector<LaunchRef> ended = {};
  int capacity = 1;             // how many launches it takes at once
  bool several_shapes = false;  // these launches may be of different shapes
};
struct Heartbeat {};
// Version 1: the worker carries nothing, and can take a launch.
struct Ready {};
// Version 2: from now on the worker takes this many launches at once.
struct Capacity {
  int capacity = 0;
  friend bool operator==(const Capacity&, const Capacity&) = default;
};
struct Report {
  LaunchRef at;
  std::uint64_t seq = 0;
  Work work = 0;
  Values values;
};
struct Attributes {
  LaunchRef at;
  std::uint64_t seq = 0;
  std::string attributes;  // a JSON object
};
struct Saved {
  LaunchRef at;
  std::uint64_t seq = 0;
  Work work = 0;
  std::int64_t bytes = 0;
};
struct Paused {
  LaunchRef at;
  std::uint64_t seq = 0;
};
struct Done {
  LaunchRef at;
  std::uint64_t seq = 0;
};
// Version 2: the worker hands the launch back. The trial is to go on in another process.
struct Released {
  LaunchRef at;
  std::uint64_t seq = 0;
};
// Version 2: what the worker measured while it trained `trials` trials at once, all of this
// launch's shape.
struct Profile {
  LaunchRef at;
  std::uint64_t seq = 0;
  int trials = 1;
  std::int64_t bytes = 0;      // device memory that the process takes; 0: not measured
  double work_per_second = 0;  // the speed of each of the trials; 0: not measured
};
struct Failed {
  LaunchRef at;
  std::uint64_t seq = 0;
  std::string reason;
};
// From the command line: "stop" a study or a trial, "retry" a trial, "enqueue" points, "pause" a
// study, "kill" its trials. Those that begin or end something on the connection itself:
//   lend    the controller writes nothing more, until the next line or the end of the connection
//   open    takes in a study that is alone, or changes one that runs
//   await   is answered when the controller has let go of the study
struct Ask {
  std::string verb;
  std::string study;
  TrialId trial{};
  std::vector<std::string> points = {};  // JSON objects
  std::string version = {};              // lend: the version of the program that asks
  // open: the event that begins it: its kind, and its body, a JSON object
  std::string event = {};
  std::string body = {};
};
using FromWorker = std::variant<Hello, Heartbeat, Ready, Report, Attributes, Saved, Paused, Done,
                                Failed, Ask, Capacity, Released, Profile>;

// Messages from the controller.
struct Welcome {
  int version = kOldestVersion;  // the version that the worker's hello named
  std::int64_t lease_ms = 0;
  int window = kWindow;  // how many messages of a launch may be unacknowledged
};
struct Assign {
  std::string study;
  LaunchRef at;
  std::string params;  // a JSON object
  std::optional<Work> target;
  Work work = 0;
  std::string checkpoint_dir;
  std::string folder;
  std::uint64_t seed = 0;
  std::string unit;
  std::string objective;
  bool maximize = false;
  bool last_counts = false;    // the trial's result is its last report, not its best
  std::optional<double> best;  // the best report of earlier launches, at best_work
  Work best_work = 0;
  std::int64_t lease_ms = 0;
  int window = kWindow;
};
struct Ack {
  LaunchRef at;
  std::uint64_t seq = 0;
};
struct Budget {
  LaunchRef at;
  std::optional<Work> target;
};
struct Pause {
  LaunchRef at;
};
struct Stop {
  LaunchRef at;
  std::string why;
};
struct Exit {};
struct Refuse {
  std::string reason;
  std::optional<LaunchRef> at = {};  // version 2: only this launch is refused
};
// To the command line.
struct Answer {
  bool ok = false;
  std::string message;
  Values facts = {};  // numbers about the outcome of the request
};
using ToWorker = std::variant<Welcome, Assign, Ack, Budget, Pause, Stop, Exit, Refuse, Answer>;

// The codec: one line without its newline. Decoding fails with invalid_argument, saying what was
// expected. DecodeToWorker fails with not_found for a message of an unknown type: a worker ignores
// it, because a later controller may say more.
std::string Encode(const FromWorker& message);
std::string Encode(const ToWorker& message);
Result<FromWorker> DecodeFromWorker(std::string_view line);
Result<ToWorker> DecodeToWorker(std::string_view line);

// The launch and the number of a message that is acknowledged; seq is 0 for other messages.
struct Numbered {
  LaunchRef at;
  std::uint64_t seq = 0;
};
Numbered NumberOf(const FromWorker& message);

// A report on standard output. If it does not state its work, it counts as one unit more than the
// last report.
struct OutputReport {
  std::optional<Work> work;
  Values values;
};
// The names of the numbers in a line that is a JSON object; empty for other lines.
std::vector<std::string> NumbersOn(std::string_view line);

// Nothing for a line that is not a report: it is not a JSON object, or has neither the metric nor
// the key "sluice". Fails on a line that is meant as a report but is not valid: the objective's
// metric is not a number, or the work is not a whole number from 0 to 2^53.
Result<std::optional<OutputReport>> DecodeOutputLine(std::string_view line, std::string_view metric,
                                                     std::string_view unit);

// Cuts a stream of bytes into lines.
class LineBuffer {
 public:
  void Append(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole line, valid until the next call of Next or Append; nothing if there is none yet.
  std::optional<std::string_view> Next();
  // Whether the line that has not ended yet is longer than kLongestLine.
  bool overflown() const { return bytes_.size() - begin_ > kLongestLine; }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace sluice::wire
