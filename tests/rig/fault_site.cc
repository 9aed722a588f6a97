#include "rig/fault_site.h"

#include <fmt/format.h>

#include <memory>

#include "base/check.h"
#include "control/assignment.h"

namespace sluice {

FaultSite::~FaultSite() {
  ground_.SetListener(nullptr);
  for (const TimerId timer : timers_) machine_.Cancel(timer);
}

void FaultSite::TellLost(const std::vector<std::string>& workers) {
  for (const std::string& worker : workers) HostEnded(worker);
}

Site::TimerId FaultSite::At(Time time, std::function<void()> handler) {
  // The handler needs the timer's number, which is known only after the call.
  const auto id = std::make_shared<TimerId>(0);
  *id = machine_.At(time, [this, id, handler = std::move(handler)] {
    timers_.erase(*id);
    handler();
  });
  timers_.insert(*id);
  return *id;
}

void FaultSite::Cancel(TimerId timer) {
  if (timers_.erase(timer) > 0) machine_.Cancel(timer);
}

Status FaultSite::Spawn(const Trial& trial) {
  machine_.Call();
  const wire::LaunchRef at{trial.id, trial.launch.id};
  const std::string worker = WorkerName(at);
  // The assignment is encoded and decoded, since a real program reads it from a file.
  const auto file = wire::DecodeToWorker(wire::Encode(
      wire::ToWorker(MakeAssign(*controller_->engine().study(study_), trial, PlacesOf(at)))));
  SLUICE_CHECK(file.has_value(), "an assignment reads back");
  SLUICE_TRY(ground_.Spawn(worker, trial.launch.grant, std::get<wire::Assign>(*file)));
  CheckOrigin(trial);
  known_.insert(worker);
  return {};
}

Status FaultSite::Claim(const std::string& worker, const Trial& trial) {
  machine_.Call();
  if (ground_.RefusesProcess()) return Unavailable("cannot write the claim");
  CheckOrigin(trial);
  const FaultWorker* host = ground_.FindWorker(worker);
  const Grant& grant = trial.launch.grant;
  if (host != nullptr &&
      (host->grant().node != grant.node || host->grant().devices != grant.devices)) {
    checker_.Say(fmt::format("trial {} is given to a process on other devices than its own",
                             Number(trial.id)));
  }
  LaunchFiles& files = ground_.FilesOf({trial.id, trial.launch.id});
  if (files.taken_back || !files.claim.empty())
    return Unavailable("the launch was claimed by another process");
  ground_.OwnerOf(trial.id) = trial.launch.id;
  files.claim = worker;
  return {};
}

Inherited FaultSite::Look(wire::LaunchRef at) {
  machine_.Call();
  LaunchFiles& files = ground_.FilesOf(at);
  if (files.claim.empty()) {
    files.taken_back = true;
    return {};
  }
  const bool runs = ground_.FindWorker(files.claim) != nullptr;
  if (runs) known_.insert(files.claim);
  return {.fate = runs ? Inherited::Fate::kRuns : Inherited::Fate::kGone, .worker = files.claim};
}

bool FaultSite::Reach(const std::string& worker) {
  if (ground_.FindWorker(worker) == nullptr) return false;
  known_.insert(worker);
  return true;
}

Speaker FaultSite::WhoSpeaks(const std::string& worker) {
  return ground_.HostFilesOf(worker).speaker;
}

void FaultSite::Spoke(const std::string& worker, const Speaker& speaker) {
  machine_.Call();
  ground_.HostFilesOf(worker).speaker = speaker;
}

Result<Speaker> FaultSite::Identify(PeerId peer, const std::string& worker, const std::string&) {
  const std::optional<Speaker> caller = ground_.CallerOf(peer, worker);
  if (!caller) return FailedPrecondition("the process was not started by this worker");
  return *caller;
}

void FaultSite::Signal(const std::string& worker, Force force) {
  machine_.Call();
  if (force == Force::kTerminate) CheckAsked(worker);
  // A killed process may live for a moment more, beside the next launch of its trial.
  if (FaultWorker* killed = ground_.FindWorker(worker); killed && force == Force::kKill)
    killed->BecomeZombie();
  // A process ends a moment later, and never within a call of its controller.
  ground_.timeline().After(Duration(1), [this_ground = &ground_, worker, force] {
    if (FaultWorker* found = this_ground->FindWorker(worker)) found->Signal(force);
  });
}

// Checks that every launch in the process was asked to leave before the process is ended.
void FaultSite::CheckAsked(const std::string& worker) {
  const FaultWorker* ended = ground_.FindWorker(worker);
  if (ended == nullptr || ended->Trains().size() < 2) return;
  for (const wire::LaunchRef& at : ended->Trains()) {
    const Trial* trial = controller_->engine().trial({study_, at.trial});
    if (trial != nullptr && trial->launch.id == at.launch && trial->state == TrialState::kRunning &&
        !trial->leaving)
      checker_.Say(
          fmt::format("the process of trial {} is ended because of another", Number(at.trial)));
  }
}

std::uint64_t FaultSite::ReadOutput(const std::string& worker, std::uint64_t from, bool at_end,
                                    const LineHandler& handler) {
  // A copy, since the handler may cause the worker to print more.
  const std::string output = ground_.HostFilesOf(worker).output;
  for (std::size_t end; (end = output.find('\n', from)) != std::string::npos; from = end + 1)
    handler(std::string_view(output).substr(from, end - from), end + 1);
  if (at_end && from < output.size()) {
    handler(std::string_view(output).substr(from), output.size());
    from = output.size();
  }
  return from;
}

std::vector<std::string> FaultSite::Spool(wire::LaunchRef at) {
  const LaunchFiles& files = ground_.FilesOf(at);
  std::vector<std::string> lines = files.spool;
  lines.insert(lines.end(), files.spool_noise.begin(), files.spool_noise.end());
  return lines;
}

LaunchEnd FaultSite::EndOf(wire::LaunchRef at, const std::string& worker) {
  const std::optional<LaunchEnd>& exit = ground_.HostFilesOf(worker).exit;
  if (!exit) return {LaunchEnd::Kind::kLost, "its launcher was killed"};
  const bool well =
      exit->kind == LaunchEnd::Kind::kDone || exit->kind == LaunchEnd::Kind::kCutShort;
  if (well && ground_.FilesOf(at).paused) return {LaunchEnd::Kind::kPaused, ""};
  if (exit->kind == LaunchEnd::Kind::kCutShort) checker_.CutShort(at);
  return *exit;
}

LaunchPlaces FaultSite::PlacesOf(wire::LaunchRef at) const {
  return {.folder = "/launches/" + WorkerName(at), .checkpoint = "/checkpoints"};
}

std::int64_t FaultSite::CheckpointBytes(TrialId trial) { return ground_.CheckpointOf(trial).bytes; }

void FaultSite::RemoveCheckpoint(TrialId trial) {
  machine_.Call();
  CheckNotCopied(trial, "loses its checkpoint");
  ground_.CheckpointOf(trial) = {};
}

// A copy takes a while, and the controller hears of it a while later. If the controller dies before
// the copy is made, no copy is made.
void FaultSite::CopyCheckpoint(TrialId from, TrialId to, Work end,
                               std::function<void(const CopyResult&)> done) {
  machine_.Call();
  CheckNotCopied(to, "gets another copy");
  if (ground_.Trains(from))
    checker_.Say(fmt::format("trial {} trains while its checkpoint is copied", Number(from)));
  copied_.insert({from, to});
  At(Now() + ground_.CopyTime(), [this, from, to, end, done = std::move(done)] {
    At(Now() + ground_.CopyTime(), [this, from, to, done, copied = MakeCopy(from, to, end)] {
      copied_.erase(copied_.find(from));
      copied_.erase(copied_.find(to));
      done(copied);
    });
  });
}

Site::CopyResult FaultSite::MakeCopy(TrialId from, TrialId to, Work end) {
  Checkpoint& copy = ground_.CheckpointOf(to);
  if (copy.bytes == 0) copy = ground_.CheckpointOf(from);  // else the copy was made before
  if (copy.bytes == 0) return NotFound("there is no checkpoint to copy");
  if (copy.work >= end) {
    copy = {};
    return Unavailable(
        fmt::format("the checkpoint of trial {} is at the full budget already", Number(from)));
  }
  return copy.work;
}

void FaultSite::CheckNotCopied(TrialId trial, std::string_view what) {
  if (copied_.contains(trial))
    checker_.Say(fmt::format("trial {} {} while a copy is under way", Number(trial), what));
}

// Checks the checkpoint that a launch begins from. The first launch of a fork must begin at the
// work that is recorded (forked_at), and an evicted trial must have no checkpoint.
void FaultSite::CheckOrigin(const Trial& trial) {
  CheckNotCopied(trial.id, "is started");
  if (trial.evicted && ground_.CheckpointOf(trial.id).bytes > 0)
    checker_.Say(
        fmt::format("trial {} begins from a checkpoint that was to be removed", Number(trial.id)));
  const Work begins = ground_.CheckpointOf(trial.id).work;
  if (!trial.IsFork() || Number(trial.launch.id) != 1) {
    // A program that does not report everything may have saved work that it has not reported.
    const ProgramTraits& program = ground_.program();
    if (!program.careless && !program.misnames && program.every == 1)
      checker_.Begins(trial, begins);
    return;
  }
  if (begins == trial.forked_at) return;
  checker_.Say(fmt::format("trial {} was forked at {}, and begins from a checkpoint at {}",
                           Number(trial.id), trial.forked_at, begins));
}

void FaultSite::Send(PeerId peer, const wire::ToWorker& message) {
  machine_.Call();
  if (const auto* ack = std::get_if<wire::Ack>(&message)) checker_.Acknowledged(ack->at, ack->seq);
  if (const auto* stop = std::get_if<wire::Stop>(&message)) checker_.ToldToLeave(stop->at);
  if (const auto* pause = std::get_if<wire::Pause>(&message)) checker_.ToldToLeave(pause->at);
  ground_.Send(peer, wire::Encode(message));
}

void FaultSite::Close(PeerId peer) { ground_.Close(peer); }

void FaultSite::Connected(PeerId peer) { controller_->workforce(study_).Connected(peer); }

void FaultSite::Heard(PeerId peer, std::string_view line) {
  controller_->workforce(study_).Heard(peer, line);
  machine_.After();
}

void FaultSite::Closed(PeerId peer) {
  controller_->workforce(study_).Closed(peer);
  machine_.After();
}

void FaultSite::OutputGrew(const std::string& worker) {
  controller_->workforce(study_).OutputGrew(worker);
  machine_.After();
}

void FaultSite::HostEnded(const std::string& worker) {
  if (known_.erase(worker) == 0) return;
  controller_->workforce(study_).HostEnded(worker);
  machine_.After();
}

}  // namespace sluice
