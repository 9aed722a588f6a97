#include "rig/fault_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "control/assignment.h"

namespace sluice {
namespace {

constexpr int kWindow = 16;  // small, so that it is full at times
constexpr Duration kLookAgain = std::chrono::milliseconds(200);

}  // namespace

FaultWorker::FaultWorker(WorkerWorld& world, std::string name, const ProgramTraits& traits,
                         Grant grant, Random random)
    : world_(world),
      name_(std::move(name)),
      traits_(traits),
      grant_(std::move(grant)),
      random_(random),
      more_(random.Fork("more")),
      pid_(static_cast<std::int64_t>(1 + random_.Below(1 << 22))) {}

void FaultWorker::After(Duration delay, void (FaultWorker::*what)()) {
  world_.timeline().After(delay, [this, what] {
    if (alive_ && !hung_) (this->*what)();
  });
}

std::optional<wire::LaunchRef> FaultWorker::at() const {
  return task_ ? std::optional(task_->at) : std::nullopt;
}

std::string FaultWorker::Describe() const {
  std::string text = fmt::format("worker {}{}{}", name_, connected_ ? ", connected" : ", alone",
                                 hung_ ? ", hung" : "");
  if (!task_) return text + ", idle";
  return text + fmt::format(": at {}.{}, work {} of {}, left {}, {} unacknowledged",
                            Number(task_->at.trial), Number(task_->at.launch), task_->work,
                            task_->target.value_or(-1), static_cast<int>(task_->left),
                            task_->outbox.unacknowledged().size());
}

void FaultWorker::Start(const wire::Assign& assign) {
  lease_ = std::chrono::milliseconds(assign.lease_ms);
  alone_since_ = world_.timeline().now();
  Begin(assign.at, assign.target);
  After(traits_.startup, &FaultWorker::Boot);
}

void FaultWorker::Begin(wire::LaunchRef at, std::optional<Work> target) {
  const int conversation = traits_.counts ? world_.FilesOf(at).conversations++ : 0;
  task_.emplace(at, conversation);
  world_.FilesOf(at).begun = true;
  task_->work = world_.CheckpointOf(at.trial).work;
  task_->target = task_->first_target = target;
}

void FaultWorker::Boot() {
  if (random_.Chance(world_.faults().stillborn))
    return Exit(LaunchEnd::Kind::kFailed, "exit code 1: ImportError");
  if (traits_.speaks) Connect();
  if (IsAtEnd()) return Leave(Left::kDone);
  PlanStep();
}

// Whether there is nothing left for it to train.
bool FaultWorker::IsAtEnd() const {
  const bool hears_target = !traits_.speaks && !traits_.endless;
  const Work end = hears_target ? std::min(traits_.own_end, task_->target.value_or(traits_.own_end))
                                : traits_.own_end;
  return task_->work >= end;
}

// Whether the process has reported at its target and waits for a verdict. A process that begins at
// the target, from a checkpoint, goes on: the report that was made before may never have arrived.
bool FaultWorker::Awaits() const {
  return traits_.speaks && task_->target && task_->reported >= *task_->target;
}

void FaultWorker::PlanStep() {
  if (step_planned_ || !task_ || task_->left != Left::kNot || Awaits()) return;
  step_planned_ = true;
  const double spread = 0.5 + random_.Uniform();
  After(Duration(static_cast<std::int64_t>(static_cast<double>(traits_.step.count()) * spread) *
                 slowness_),
        &FaultWorker::Step);
}

void FaultWorker::Step() {
  step_planned_ = false;
  if (!task_ || task_->left != Left::kNot || Awaits()) return;
  if (traits_.speaks && task_->outbox.Full(kWindow)) return PlanStep();
  if (Misbehave()) return;
  ++task_->work;
  if (task_->work % traits_.every == 0 || IsAtEnd())
    Report(task_->work, {{"loss", world_.ValueAt(task_->at.trial, task_->work)}});
  if (random_.Chance(traits_.save)) Save();
  if (IsAtEnd()) return Leave(Left::kDone);
  PlanStep();
}

// Draws the faults of this step and carries them out. True if the step ends with them.
bool FaultWorker::Misbehave() {
  const FaultPlan& faults = world_.faults();
  if (random_.Chance(faults.crash)) {
    // An error that the program catches and reports, or the end of the whole process.
    if (traits_.reuse && random_.Chance(0.5)) {
      Leave(Left::kFailed);
    } else if (random_.Chance(0.2)) {
      Vanish();
    } else {
      Exit(LaunchEnd::Kind::kFailed, LastWords());
    }
    return true;
  }
  if ((welcomed_ || traits_.has_timeout) && random_.Chance(faults.hang)) {
    hung_ = true;
    return true;
  }
  if (random_.Chance(faults.slow)) slowness_ = 10;
  if (!traits_.reuse && more_.Chance(faults.exec)) {
    Replace();
    return true;
  }
  if (random_.Chance(faults.lie)) {
    if (traits_.speaks) {
      Lie();
    } else {
      PrintNonsense();
    }
  }
  return !alive_;
}

// Replaces the process by a new one of the same program, which knows only what the files say. What
// was sent before still arrives.
void FaultWorker::Replace() {
  world_.Disconnect(*this);
  connected_ = false;
  alone_since_ = world_.timeline().now();
  ++image_;
  Begin(task_->at, task_->first_target);
  After(traits_.startup, &FaultWorker::Boot);
}

// Draws what the end of its standard error holds.
std::string FaultWorker::LastWords() {
  switch (random_.Below(4)) {
    case 0:
      return "exit code 1: \xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xff \xe0\xa4\xb8 "
             "\xe0\x80\x80 \xed\x9f\xbf "
             "\xed\xa0\x80 \xf0\x80\x80\x80 \xf4\x8f\xbf\xbf \xf4\x90\x80\x80 \xc3( \xe2\x82";
    case 1: {
      std::string text(random_.Below(4), 'x');
      while (text.size() < 600) text += "\xe2\x82\xac";
      return text;
    }
    default: return "killed by signal 11 (Segmentation fault)";
  }
}

// Prints lines that a reader of standard output must make sense of, or skip.
void FaultWorker::PrintNonsense() {
  std::string& output = world_.HostFilesOf(name_).output;
  switch (random_.Below(8)) {
    case 0: output += fmt::format("{{\"epoch\": {}.5, \"loss\": 1}}\n", task_->work); break;
    case 1: output += "{\"epoch\": 3, \"loss\": \"high\"}\n"; break;
    case 2: output += "{\"epoch\": 1, \"loss\": -1}\n"; break;
    case 3: output += "{\"epoch\": -1, \"loss\": 0}\n"; break;
    case 4: output += "{\"accuracy\": 1}\n   \n{\"loss\": \n"; break;
    case 5: output += std::string(2000, '[') + "\n" + std::string(2000, '{') + "\n"; break;
    case 6:
      output += fmt::format("{{\"step\": {}, \"loss\": 0.5, \"name\": \"x\"}}\n", task_->work);
      break;
    default: output += "{\"loss\": 0.5}\n"; break;  // at the next work, it says
  }
  world_.Printed(*this);
}

void FaultWorker::Lie() {
  const wire::LaunchRef at = task_->at;
  const std::uint64_t next = task_->outbox.last() + 1;
  switch (random_.Below(12)) {
    case 0: return world_.Send(*this, "{\"type\": \"report\", ");
    case 1:  // sends the last message twice
      if (!task_->outbox.unacknowledged().empty())
        world_.Send(*this, task_->outbox.unacknowledged().back());
      return;
    case 2: return SayRaw(wire::Report{at, next + 3, task_->work + 1, {{"loss", 0.0}}});
    case 3: return Report(std::max<Work>(1, task_->work), {{"loss", -1.0}});
    case 4:
      return SayRaw(
          wire::Report{{TrialId(Number(at.trial) + 1), at.launch}, next, 1, {{"loss", 0.0}}});
    case 5:
      ++task_->work;
      return Report(task_->work,
                    random_.Chance(0.5)
                        ? wire::Values{}
                        : wire::Values{{"loss", std::numeric_limits<double>::quiet_NaN()}});
    case 6: return SayRaw(MakeHello());
    case 7: return Say(wire::Saved{{}, 0, task_->work + 100, 1});
    case 8: return SayRaw(wire::Ready{});  // although it has a trial
    case 9: return Say(wire::Attributes{{}, 0, "{\"host\": \"a\", \"tries\": 3}"});
    case 10:
      ++task_->work;
      return Report(task_->work,
                    {{"accuracy", 0.5}, {"loss", world_.ValueAt(at.trial, task_->work)}});
    default:  // does not wait for a verdict
      task_->work += static_cast<Work>(1 + random_.Below(5));
      return Report(task_->work, {{"loss", world_.ValueAt(at.trial, task_->work)}});
  }
}

void FaultWorker::Save() {
  if (!traits_.careless) {
    Keep();
    if (!CanKeep() && !task_->outbox.unacknowledged().empty()) return;
  }
  if (CanKeep() && world_.OwnerOf(task_->at.trial) != task_->at.launch) return;
  Checkpoint& checkpoint = world_.CheckpointOf(task_->at.trial);
  checkpoint = {.work = task_->work, .bytes = static_cast<std::int64_t>(1 + random_.Below(100))};
  if (traits_.speaks) Say(wire::Saved{{}, 0, checkpoint.work, checkpoint.bytes});
}

void FaultWorker::Report(Work work, wire::Values values) {
  task_->reported = work;
  if (traits_.speaks) return Say(wire::Report{{}, 0, work, std::move(values)});
  std::string& output = world_.HostFilesOf(name_).output;
  if (random_.Chance(0.2)) output += fmt::format("epoch {} done\n", work);
  for (const auto& [name, value] : values) {
    const std::string number = std::isnan(value)   ? "\"NaN\""
                               : std::isinf(value) ? value > 0 ? "\"Infinity\"" : "\"-Infinity\""
                                                   : fmt::format("{:.17g}", value);
    output += fmt::format("{{\"epoch\": {}, \"{}\": {}}}\n", work, name, number);
  }
  world_.Printed(*this);
}

template <typename Message>
void FaultWorker::Say(Message message) {
  const std::string& line = task_->outbox.Add(std::move(message));
  if (connected_) return world_.Send(*this, line);
  if (!traits_.careless) Keep();
}

// Adds to the spool the messages that are not acknowledged and not in it yet.
void FaultWorker::Keep() {
  if (!task_ || !CanKeep()) return;
  const auto& lines = task_->outbox.unacknowledged();
  const std::uint64_t last = task_->outbox.last();
  const std::uint64_t left = std::min<std::uint64_t>(lines.size(), last - task_->spooled);
  auto& spool = world_.FilesOf(task_->at).spool;
  spool.insert(spool.end(), lines.end() - static_cast<std::ptrdiff_t>(left), lines.end());
  task_->spooled = last;
}

void FaultWorker::SayRaw(const wire::FromWorker& message) {
  if (connected_) world_.Send(*this, wire::Encode(message));
}

// The worker leaves its trial. A worker that takes several trials sends a message about it;
// otherwise the end of the process tells.
void FaultWorker::Leave(Left how) {
  if (task_->left != Left::kNot) return;
  if (how == Left::kPaused) Save();
  task_->left = how;
  if (!traits_.reuse) {
    world_.FilesOf(task_->at).paused = how == Left::kPaused;
  } else if (how == Left::kPaused) {
    Say(wire::Paused{});
  } else if (how == Left::kDone) {
    Say(wire::Done{});
  } else {
    Say(wire::Failed{{}, 0, LastWords()});
  }
  if (traits_.hasty) SayRaw(wire::Ready{});
  FinishLeaving();
}

// Ends the leave once all messages are acknowledged.
void FaultWorker::FinishLeaving() {
  if (!task_ || task_->left == Left::kNot) return;
  if (traits_.speaks && !task_->outbox.unacknowledged().empty()) return;
  if (!traits_.reuse) return Exit(LaunchEnd::Kind::kDone, "");
  task_.reset();
  SayRaw(wire::Ready{});
  // Now and then the program ends here, whatever the controller is about to assign.
  if (more_.Chance(world_.faults().stillborn))
    After(Duration(static_cast<std::int64_t>(more_.Below(300'000))), &FaultWorker::LeaveIdle);
}

void FaultWorker::LeaveIdle() {
  if (!task_) Exit(LaunchEnd::Kind::kDone, "");
}

void FaultWorker::Connect() {
  if (connected_) return;
  if (world_.Connect(*this)) {
    connected_ = true;
    connected_since_ = world_.timeline().now();
    return Greet();
  }
  if (world_.timeline().now() >= alone_since_ + lease_) return GoAlone();
  After(kLookAgain, &FaultWorker::Connect);
}

wire::Hello FaultWorker::MakeHello() const {
  wire::Hello hello;
  hello.worker = name_;
  hello.pid = pid_;
  hello.client = "sim";
  hello.reuse = traits_.reuse;
  if (task_) {
    hello.study = "sim";
    hello.at = task_->at;
  }
  return hello;
}

void FaultWorker::Greet() {
  SayRaw(MakeHello());
  if (task_) {
    for (const std::string& line : task_->outbox.unacknowledged()) world_.Send(*this, line);
  } else {
    SayRaw(wire::Ready{});
  }
  if (!beats_) Beat();
  beats_ = true;
}

void FaultWorker::Beat() {
  SayRaw(wire::Heartbeat{});
  After(lease_ / 4, &FaultWorker::Beat);
}

void FaultWorker::Closed() {
  if (!alive_) return;
  connected_ = false;
  if (!traits_.careless) Keep();
  alone_since_ = world_.timeline().now();
  After(Duration(static_cast<std::int64_t>(random_.Below(300'000))), &FaultWorker::Connect);
}

// No controller could be reached for a lease, or it refused the worker. The worker saves, leaves
// what it could not deliver in the spool, and ends.
void FaultWorker::GoAlone() {
  if (task_ && task_->left == Left::kNot) {
    Save();
    task_->left = Left::kPaused;
    world_.FilesOf(task_->at).paused = true;
  }
  if (task_) {
    Keep();
    if (random_.Chance(world_.faults().lie)) {
      wire::Outbox others({TrialId(Number(task_->at.trial) + 1), task_->at.launch});
      world_.FilesOf(task_->at).spool_noise = {others.Add(wire::Done{}), "{\"type\": \"rep"};
    }
  }
  Exit(LaunchEnd::Kind::kDone, "");
}

void FaultWorker::Hear(std::string_view line) {
  if (!alive_ || hung_) return;
  const auto message = wire::DecodeToWorker(line);
  SLUICE_CHECK(message.has_value(), "a controller speaks the protocol");
  const auto is_mine = [&](wire::LaunchRef at) {
    return task_ && task_->at == at && task_->left == Left::kNot;
  };
  if (const auto* welcome = std::get_if<wire::Welcome>(&*message)) {
    lease_ = std::chrono::milliseconds(welcome->lease_ms);
    welcomed_ = true;
  } else if (const auto* assign = std::get_if<wire::Assign>(&*message)) {
    if (task_) return;  // heard already
    Begin(assign->at, assign->target);
    PlanStep();
  } else if (const auto* ack = std::get_if<wire::Ack>(&*message)) {
    if (!task_ || task_->at != ack->at) return;
    HearAck(ack->seq);
    FinishLeaving();
  } else if (const auto* budget = std::get_if<wire::Budget>(&*message)) {
    if (!is_mine(budget->at)) return;
    task_->target = budget->target;
    PlanStep();
  } else if (const auto* pause = std::get_if<wire::Pause>(&*message)) {
    if (is_mine(pause->at)) Leave(Left::kPaused);
  } else if (const auto* stop = std::get_if<wire::Stop>(&*message)) {
    if (is_mine(stop->at)) Leave(Left::kDone);
  } else if (std::holds_alternative<wire::Exit>(*message)) {
    if (!task_) Exit(LaunchEnd::Kind::kDone, "");
  } else if (std::holds_alternative<wire::Refuse>(*message)) {
    GoAlone();
  }
}

void FaultWorker::HearAck(std::uint64_t seq) {
  const auto& lines = task_->outbox.unacknowledged();
  const std::uint64_t before = task_->outbox.last() - lines.size();
  for (std::uint64_t at = before + 1; at <= seq && at <= task_->outbox.last(); ++at) {
    const auto message = wire::DecodeFromWorker(lines[at - before - 1]);
    const auto* report = message ? std::get_if<wire::Report>(&*message) : nullptr;
    if (report != nullptr) world_.Acknowledged(task_->at.trial, report->work);
  }
  task_->outbox.Acknowledge(seq);
}

void FaultWorker::Signal(Force force) {
  if (!alive_) return;
  if (force == Force::kKill) return Exit(LaunchEnd::Kind::kFailed, "killed by signal 9 (Killed)");
  const bool waits = traits_.stubborn || hung_;
  world_.timeline().After(waits ? traits_.grace : Duration(1000), [this, waits] {
    Exit(LaunchEnd::Kind::kFailed,
         waits ? "killed by signal 9 (Killed)" : "killed by signal 15 (Terminated)");
  });
}

void FaultWorker::Vanish() {
  if (!alive_) return;
  alive_ = false;
  world_.Disconnect(*this);
  world_.Exited(*this);
}

void FaultWorker::Exit(LaunchEnd::Kind kind, std::string reason) {
  if (!alive_) return;
  alive_ = false;
  world_.HostFilesOf(name_).exit = LaunchEnd{kind, std::move(reason)};
  world_.Disconnect(*this);
  world_.Exited(*this);
}

}  // namespace sluice
