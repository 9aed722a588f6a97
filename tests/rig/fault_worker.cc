#include "rig/fault_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "control/assignment.h"

namespace sluice {
namespace {

constexpr int kWindow = 16;         // of unacknowledged messages; small, so it is full at times
constexpr double kProfiles = 0.02;  // the chance that a bundle measures itself at a step
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
      odd_(random.Fork("odd")),
      rare_(random.Fork("rare")),
      pid_(static_cast<std::int64_t>(1 + random_.Below(1 << 22))),
      capacity_(traits.capacity),
      several_shapes_(odd_.Chance(world.faults().unlike) != traits.several_shapes),
      misnames_(odd_.Chance(world.faults().misnames)) {}

void FaultWorker::After(Duration delay, void (FaultWorker::*what)()) {
  world_.timeline().After(delay, [this, what] {
    if (alive_ && !hung_) (this->*what)();
  });
}

std::vector<wire::LaunchRef> FaultWorker::Trains() const {
  std::vector<wire::LaunchRef> launches;
  for (const auto& [at, task] : tasks_) {
    if (task.left == Left::kNot) launches.push_back(at);
  }
  return launches;
}

std::vector<wire::LaunchRef> FaultWorker::Carries() const {
  std::vector<wire::LaunchRef> launches;
  for (const auto& [at, task] : tasks_) launches.push_back(at);
  return launches;
}

FaultWorker::Task* FaultWorker::Find(wire::LaunchRef at) {
  const auto found = tasks_.find(at);
  return found == tasks_.end() ? nullptr : &found->second;
}

std::string FaultWorker::Describe() const {
  std::string text = fmt::format("worker {}{}{}", name_, connected_ ? ", connected" : ", alone",
                                 hung_ ? ", hung" : "");
  if (tasks_.empty()) return text + ", idle";
  for (const auto& [at, task] : tasks_) {
    text +=
        fmt::format("{} {}.{}, work {} of {}, left {}, {} unacknowledged{}",
                    at == tasks_.begin()->first ? ": at" : ";", Number(at.trial), Number(at.launch),
                    task.work, task.target.value_or(-1), static_cast<int>(task.left),
                    task.outbox.unacknowledged().size(), task.deaf ? ", deaf" : "");
  }
  return text;
}

void FaultWorker::Start(const wire::Assign& assign) {
  lease_ = std::chrono::milliseconds(assign.lease_ms);
  alone_since_ = world_.timeline().now();
  if (odd_.Chance(world_.faults().not_started))
    return After(Duration(1000), &FaultWorker::FailToStart);
  Begin(assign.at, assign.target);
  After(traits_.startup, &FaultWorker::Boot);
}

void FaultWorker::Begin(wire::LaunchRef at, std::optional<Work> target) {
  const int conversation = traits_.counts ? world_.FilesOf(at).conversations++ : 0;
  tasks_.erase(at);
  Task& task = tasks_.try_emplace(at, at, conversation).first->second;
  world_.FilesOf(at).begun = true;
  task.work = world_.CheckpointOf(at.trial).work;
  task.target = task.first_target = target;
  world_.Begins(*this, at);
}

void FaultWorker::Boot() {
  if (random_.Chance(world_.faults().stillborn))
    return Exit(LaunchEnd::Kind::kFailed, "exit code 1: ImportError");
  if (traits_.speaks) Connect();
  for (const wire::LaunchRef& at : Trains()) {
    if (Task* task = Find(at); task != nullptr && IsAtEnd(*task)) Leave(*task, Left::kDone);
  }
  if (alive_) PlanStep();
}

// Whether there is nothing left for it to train.
bool FaultWorker::IsAtEnd(const Task& task) const {
  const bool hears_target = !traits_.speaks && !traits_.endless;
  const Work end = hears_target ? std::min(traits_.own_end, task.target.value_or(traits_.own_end))
                                : traits_.own_end;
  return task.work >= end;
}

// Whether the process has reported at its target and waits for a verdict. A process that begins at
// the target, from a checkpoint, goes on: the report that was made before may never have arrived.
bool FaultWorker::Awaits(const Task& task) const {
  return traits_.speaks && !task.deaf && task.target && task.reported >= *task.target;
}

void FaultWorker::PlanStep() {
  const bool trains =
      std::ranges::any_of(tasks_, [this](const auto& each) { return CanTrain(each.second); });
  if (step_planned_ || !trains) return;
  step_planned_ = true;
  const double spread = 0.5 + random_.Uniform();
  After(Duration(static_cast<std::int64_t>(static_cast<double>(traits_.step.count()) * spread) *
                 slowness_),
        &FaultWorker::Step);
}

// Trains all its trials for one unit of work.
void FaultWorker::Step() {
  step_planned_ = false;
  std::vector<wire::LaunchRef> trained;
  for (const auto& [at, task] : tasks_) {
    if (!CanTrain(task)) continue;
    if (traits_.speaks && task.outbox.Full(kWindow)) return PlanStep();
    trained.push_back(at);
  }
  if (trained.empty()) return;
  const std::uint64_t image = image_;
  if (Misbehave(trained[IsBundle() ? more_.Below(trained.size()) : 0])) {
    // The other trials go on, unless a new process has taken their place.
    if (IsBundle() && alive_ && !hung_ && image_ == image) PlanStep();
    return;
  }
  for (const wire::LaunchRef& at : trained) {
    if (Task* task = Find(at); alive_ && task != nullptr && task->left == Left::kNot) Train(*task);
  }
  if (alive_ && IsBundle() && more_.Chance(kProfiles))
    Measure(trained[more_.Below(trained.size())], static_cast<int>(trained.size()));
  if (alive_) PlanStep();
}

// Sends a measurement of its device memory and its speed. Now and then the measurement is false.
void FaultWorker::Measure(wire::LaunchRef at, int trials) {
  Task* task = Find(at);
  if (task == nullptr || task->left != Left::kNot || task->outbox.Full(kWindow)) return;
  constexpr std::int64_t kGiB = 1 << 30;
  const bool lies = more_.Chance(0.2);
  const auto extra = static_cast<std::int64_t>(more_.Below(lies ? 100 : 2));
  Say(*task, wire::Profile{.at = {},
                           .seq = 0,
                           .trials = lies ? 1 + static_cast<int>(more_.Below(10)) : trials,
                           .bytes = (1 + trials + extra) * kGiB,
                           .work_per_second = more_.Uniform() * (lies ? 1e6 : 3)});
}

void FaultWorker::Train(Task& task) {
  ++task.work;
  if (task.work % traits_.every == 0 || IsAtEnd(task)) Report(task, task.work, ValuesOf(task));
  if (random_.Chance(traits_.save)) Save(task);
  if (IsAtEnd(task)) Leave(task, Left::kDone);
}

wire::Values FaultWorker::ValuesOf(const Task& task) const {
  const double value = world_.ValueAt(task.at.trial, task.work);
  if (!misnames_) return {{"loss", value}};
  wire::Values values;
  for (int i = 0; i < 12; ++i) values.emplace_back(fmt::format("part{}", i), value);
  return values;
}

void FaultWorker::Save(Task& task) {
  if (!traits_.careless) {
    Keep(task);
    if (!CanKeep() && !task.outbox.unacknowledged().empty()) return;
  }
  if (CanKeep() && world_.OwnerOf(task.at.trial) != task.at.launch) return;
  Checkpoint& checkpoint = world_.CheckpointOf(task.at.trial);
  checkpoint = {.work = task.work, .bytes = static_cast<std::int64_t>(1 + random_.Below(100))};
  if (traits_.speaks) Say(task, wire::Saved{{}, 0, checkpoint.work, checkpoint.bytes});
}

void FaultWorker::Report(Task& task, Work work, wire::Values values) {
  task.reported = work;
  if (traits_.speaks) return Say(task, wire::Report{{}, 0, work, std::move(values)});
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

// Adds to the spool the messages that are not acknowledged and not yet in the spool.
void FaultWorker::Keep(Task& task) {
  if (!CanKeep()) return;
  const auto& lines = task.outbox.unacknowledged();
  const std::uint64_t last = task.outbox.last();
  const std::uint64_t left = std::min<std::uint64_t>(lines.size(), last - task.spooled);
  auto& spool = world_.FilesOf(task.at).spool;
  spool.insert(spool.end(), lines.end() - static_cast<std::ptrdiff_t>(left), lines.end());
  task.spooled = last;
}

void FaultWorker::SayRaw(const wire::FromWorker& message) {
  if (connected_) world_.Send(*this, wire::Encode(message));
}

// The worker leaves a trial. A worker that can take another trial sends a message about this; the
// process of any other worker ends.
void FaultWorker::Leave(Task& task, Left how) {
  if (task.left != Left::kNot) return;
  if (how == Left::kPaused || how == Left::kReleased) Save(task);
  task.left = how;
  if (!traits_.reuse) {
    world_.FilesOf(task.at).paused = how == Left::kPaused;
  } else if (how == Left::kPaused) {
    Say(task, wire::Paused{});
  } else if (how == Left::kReleased) {
    Say(task, wire::Released{});
  } else if (how == Left::kDone) {
    Say(task, wire::Done{});
  } else {
    Say(task, wire::Failed{{}, 0, LastWords()});
  }
  if (traits_.hasty && !IsBundle()) SayRaw(wire::Ready{});
  FinishLeaving(task.at);
}

// Completes the leaving once all messages of the launch are acknowledged.
void FaultWorker::FinishLeaving(wire::LaunchRef at) {
  const Task* task = Find(at);
  if (task == nullptr || task->left == Left::kNot) return;
  if (traits_.speaks && !task->outbox.unacknowledged().empty()) return;
  if (!traits_.reuse) return Exit(LaunchEnd::Kind::kDone, "");
  tasks_.erase(at);
  if (!IsBundle()) SayRaw(wire::Ready{});
  // Now and then the program ends here, whatever the controller is about to assign.
  if (more_.Chance(world_.faults().stillborn))
    After(Duration(static_cast<std::int64_t>(more_.Below(300'000))), &FaultWorker::LeaveIdle);
}

void FaultWorker::LeaveIdle() {
  if (tasks_.empty()) Exit(LaunchEnd::Kind::kDone, "");
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

wire::Hello FaultWorker::MakeHello() {
  wire::Hello hello;
  hello.worker = name_;
  hello.pid = pid_;
  hello.client = "sim";
  hello.reuse = traits_.reuse;
  if (!tasks_.empty()) hello.study = traits_.study;
  if (IsBundle()) {
    hello.version = 2;
    hello.capacity = capacity_;
    hello.several_shapes = several_shapes_;
    // It may claim a launch that another process carries.
    const wire::LaunchRef others{TrialId(1 + static_cast<std::uint32_t>(odd_.Below(30))),
                                 LaunchId(1)};
    if (odd_.Chance(world_.faults().lie) && !tasks_.contains(others))
      hello.launches.push_back(others);
  }
  for (const auto& [at, task] : tasks_) {
    const bool ended = IsBundle() && task.left != Left::kNot;
    (ended ? hello.ended : hello.launches).push_back(at);
  }
  return hello;
}

void FaultWorker::Greet() {
  SayRaw(MakeHello());
  for (const auto& [at, task] : tasks_) {
    for (const std::string& line : task.outbox.unacknowledged()) world_.Send(*this, line);
  }
  if (tasks_.empty() && !IsBundle()) SayRaw(wire::Ready{});
  if (!beats_) Beat();
  beats_ = true;
}

void FaultWorker::Beat() {
  SayRaw(wire::Heartbeat{});
  // Now and then a process that carries nothing reports.
  if (IsBundle() && tasks_.empty() && rare_.Chance(5 * world_.faults().lie))
    ReportAstray({TrialId(1), LaunchId(1)}, 1);
  After(lease_ / 4, &FaultWorker::Beat);
}

void FaultWorker::Closed() {
  if (!alive_) return;
  connected_ = false;
  if (!traits_.careless) KeepAll();
  alone_since_ = world_.timeline().now();
  After(Duration(static_cast<std::int64_t>(random_.Below(300'000))), &FaultWorker::Connect);
}

// No controller could be reached for a lease, or a controller refused the worker. The worker saves,
// leaves the messages that it could not deliver in the spool, and ends.
void FaultWorker::GoAlone() {
  for (auto& [at, task] : tasks_) {
    if (task.left == Left::kNot) {
      Save(task);
      task.left = Left::kPaused;
      world_.FilesOf(at).paused = true;
    }
    Keep(task);
    if (random_.Chance(world_.faults().lie)) {
      wire::Outbox others({TrialId(Number(at.trial) + 1), at.launch});
      world_.FilesOf(at).spool_noise = {others.Add(wire::Done{}), "{\"type\": \"rep"};
    }
  }
  Exit(LaunchEnd::Kind::kDone, "");
}

void FaultWorker::KeepAll() {
  for (auto& [at, task] : tasks_) Keep(task);
}

void FaultWorker::Hear(std::string_view line) {
  if (!alive_ || hung_) return;
  const auto message = wire::DecodeToWorker(line);
  SLUICE_CHECK(message.has_value(), "a controller speaks the protocol");
  const auto mine = [&](wire::LaunchRef at) -> Task* {
    Task* task = Find(at);
    return task != nullptr && task->left == Left::kNot ? task : nullptr;
  };
  const auto leave = [&](wire::LaunchRef at, Left how) {
    Task* task = mine(at);
    if (task == nullptr || task->deaf) return;
    // Its memory may run out at this moment.
    const bool refuses = IsBundle() && rare_.Chance(world_.faults().refuse);
    Leave(*task, refuses ? Left::kReleased : how);
  };
  if (const auto* welcome = std::get_if<wire::Welcome>(&*message)) {
    lease_ = std::chrono::milliseconds(welcome->lease_ms);
    welcomed_ = true;
  } else if (const auto* assign = std::get_if<wire::Assign>(&*message)) {
    HearAssign(*assign);
  } else if (const auto* ack = std::get_if<wire::Ack>(&*message)) {
    Task* task = Find(ack->at);
    if (task == nullptr) return;
    HearAck(*task, ack->seq);
    FinishLeaving(ack->at);
  } else if (const auto* budget = std::get_if<wire::Budget>(&*message)) {
    Task* task = mine(budget->at);
    if (task == nullptr) return;
    task->target = budget->target;
    PlanStep();
  } else if (const auto* pause = std::get_if<wire::Pause>(&*message)) {
    leave(pause->at, Left::kPaused);
  } else if (const auto* stop = std::get_if<wire::Stop>(&*message)) {
    leave(stop->at, Left::kDone);
  } else if (std::holds_alternative<wire::Exit>(*message)) {
    if (tasks_.empty()) Exit(LaunchEnd::Kind::kDone, "");
  } else if (const auto* refuse = std::get_if<wire::Refuse>(&*message)) {
    if (!refuse->at) return GoAlone();
    tasks_.erase(*refuse->at);
  }
}

void FaultWorker::HearAssign(const wire::Assign& assign) {
  if (!IsBundle() && !tasks_.empty()) return;  // the assignment has arrived before
  if (tasks_.contains(assign.at)) return;
  const auto trained = static_cast<int>(Trains().size());
  if (trained >= capacity_ && !shrank_)
    world_.Say(fmt::format("worker {} trains {} trials, and was given another", name_, trained));
  Begin(assign.at, assign.target);
  if (trained >= capacity_) return Leave(*Find(assign.at), Left::kReleased);
  PlanStep();
}

void FaultWorker::HearAck(Task& task, std::uint64_t seq) {
  const auto& lines = task.outbox.unacknowledged();
  const std::uint64_t before = task.outbox.last() - lines.size();
  for (std::uint64_t at = before + 1; at <= seq && at <= task.outbox.last(); ++at) {
    const auto message = wire::DecodeFromWorker(lines[at - before - 1]);
    const auto* report = message ? std::get_if<wire::Report>(&*message) : nullptr;
    if (report != nullptr) world_.Acknowledged(task.at.trial, report->work);
  }
  task.outbox.Acknowledge(seq);
}

void FaultWorker::Signal(Force force) {
  if (!alive_) return;
  if (force == Force::kKill) return Exit(LaunchEnd::Kind::kFailed, "killed by signal 9 (Killed)");
  const bool waits = traits_.stubborn || hung_;
  world_.timeline().After(waits ? traits_.grace : Duration(1000), [this, waits] {
    if (traits_.polite && !waits) return Exit(LaunchEnd::Kind::kCutShort, "");
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
  const std::vector<wire::LaunchRef> trained = Trains();
  for (const wire::LaunchRef& at : trained) world_.FilesOf(at).together = trained;
  world_.Disconnect(*this);
  world_.Exited(*this);
}

}  // namespace sluice
