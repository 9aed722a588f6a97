#include "exec/session.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "engine/points.h"
#include "engine/read/study_change.h"
#include "exec/carried_out.h"
#include "exec/launch_folder.h"
#include "exec/local_controller.h"
#include "exec/machine/machine.h"
#include "exec/socket/connection.h"
#include "exec/study_world.h"
#include "exec/trainer.h"
#include "launcher/claim.h"
#include "ledger/earlier_measurements.h"
#include "ledger/earlier_study.h"
#include "ledger/lock.h"
#include "ledger/optuna/optuna_study_file.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"

namespace sluice {
namespace {

// Opens the ledger. The caller holds the store's lock. Launchers that were killed while no
// controller lived may have left processes; these are ended first.
Result<std::unique_ptr<Ledger>> OpenSwept(const StorePaths& paths, const StoreLock& lock) {
  KillOrphans(paths.files + "/studies");
  return OpenLocked(paths, lock);
}

constexpr int kAnswerSeconds = 30;

class Silent : public Watcher {
 public:
  void Tick(const Study&, Time) override {}
  void Say(std::string_view) override {}
};

Result<std::string> FindLauncher() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto launcher = self.parent_path() / "sluice-launcher";
  if (error || !std::filesystem::exists(launcher, error)) {
    return FailedPrecondition(fmt::format(
        "{}: missing; it belongs beside the program sluice: install both", launcher.string()));
  }
  return launcher.string();
}

Status CheckFits(const StudySpec& spec, const Node& node) {
  Cluster cluster;
  cluster.Join(node);
  if (FitsEmpty(cluster, spec.demand)) return {};
  Demand without = spec.demand;
  without.memory_bytes = 0;
  if (FitsEmpty(cluster, without)) {
    return FailedPrecondition(
        fmt::format("a trial of '{}' needs {:.4g} GB of GPU memory, and no GPU of this machine has "
                    "as much: lower "
                    "'memory' under 'resources' in the study file",
                    spec.name, static_cast<double>(spec.demand.memory_bytes) / 1e9));
  }
  return FailedPrecondition(
      fmt::format("a trial of '{}' needs {} cpus and {} gpus, this machine has {} and {}: lower "
                  "'resources' in the study file",
                  spec.name, static_cast<double>(spec.demand.cpus) / kWhole,
                  static_cast<double>(spec.demand.gpus) / kWhole,
                  static_cast<double>(node.cpus) / kWhole, node.devices.size()));
}

struct OpenedStudy {
  StudyId id{};
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Engine> engine;
  std::int64_t events_since_snapshot = 0;
};

Result<OpenedStudy> OpenStudy(const StorePaths& paths, const StoreLock& lock,
                              const std::string& name) {
  // The study is looked up with a reader first. So a store that does not exist is not made here,
  // and an unknown name gets a suggestion.
  SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
  OpenedStudy opened;
  opened.id = info.id;
  reader.reset();
  SLUICE_ASSIGN(opened.ledger, OpenSwept(paths, lock));
  SLUICE_ASSIGN(opened.engine,
                RecoverEngine(opened.ledger->database(), info.id, Recover::kFromSnapshot,
                              &opened.events_since_snapshot));
  if (opened.engine->studies().size() != 1) {
    return FailedPrecondition(
        fmt::format("study '{}' runs beside others: this sluice runs one at a time", name));
  }
  return opened;
}

Result<RunEnd> RunController(const StorePaths& paths, OpenedStudy opened, StudyWorld world,
                             std::vector<EventBody> first, const StudySpec& spec,
                             std::uint64_t seed, Watcher& watcher) {
  LocalController::Parts parts;
  parts.paths = paths;
  SLUICE_ASSIGN(parts.launcher, FindLauncher());
  // A stop starts nothing, and needs no trainer.
  if (spec.training) parts.trainer = FindTrainer(world).value_or("");
  parts.world = std::move(world);
  SLUICE_ASSIGN(parts.loop, EventLoop::Open());
  SLUICE_ASSIGN(parts.sampler, MakeSampler(spec.sampler, spec.space, seed));
  parts.ledger = std::move(opened.ledger);
  parts.guard = parts.ledger->guard();
  Controller::Parts& controller = parts.controller;
  controller.owner = opened.id;
  controller.last = parts.ledger->last();
  controller.events_since_snapshot = opened.events_since_snapshot;
  SLUICE_ASSIGN(parts.knowledge,
                ReadKnowledge(parts.ledger->database(), *opened.engine->study(opened.id)));
  controller.engine = std::move(opened.engine);
  return LocalController(std::move(parts), watcher).Run(std::move(first));
}

// Asks the controller that runs the study. The controller answers once the request is on disk.
Result<wire::Answer> AskController(const StorePaths& paths, const wire::Ask& ask) {
  SLUICE_ASSIGN(const int descriptor, ConnectTo(paths.socket));
  const timeval patience{.tv_sec = kAnswerSeconds, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string line = wire::Encode(wire::FromWorker(ask)) + "\n";
  std::string reply;
  if (send(descriptor, line.data(), line.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(line.size())) {
    std::array<char, 4096> buffer;
    ssize_t size = 0;
    while (reply.find('\n') == std::string::npos &&
           (size = recv(descriptor, buffer.data(), buffer.size(), 0)) > 0) {
      reply.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }
  close(descriptor);
  if (reply.find('\n') == std::string::npos)
    return Unavailable("the controller did not answer: try again");
  SLUICE_ASSIGN(const wire::ToWorker message,
                wire::DecodeToWorker(reply.substr(0, reply.find('\n'))));
  const auto* answer = std::get_if<wire::Answer>(&message);
  if (answer == nullptr)
    return Unavailable("the controller did not understand: is it of another version?");
  if (!answer->ok) return FailedPrecondition(answer->message);
  return *answer;
}

// Applies and commits events while no controller runs the study.
Status WriteDown(OpenedStudy& opened, std::vector<EventBody> bodies) {
  Batch batch;
  batch.study = opened.id;
  std::uint64_t seq = Number(opened.ledger->last());
  for (EventBody& body : bodies) {
    batch.events.emplace_back(EventSeq(++seq), Event{WallNow(), std::move(body)});
    (void)opened.engine->Apply(batch.events.back().second);
  }
  for (const TrialKey& key : opened.engine->TakeChanged()) {
    const Trial& changed = *opened.engine->trial(key);
    if (changed.awaits_parameters) continue;  // a trial is written once it has its parameters
    batch.trials.push_back(
        {key.study, changed, opened.engine->study(key.study)->spec.space.Encode(changed.point)});
  }
  batch.studies.push_back(RowOf(*opened.engine->study(opened.id)));
  return opened.ledger->Commit(batch);
}

EnqueueEnd EndFrom(const wire::Values& facts) {
  EnqueueEnd end{.at_once = true};
  for (const auto& [name, value] : facts) {
    const int number = static_cast<int>(value);
    if (name == "added") end.added = number;
    if (name == "known") end.known = number;
    if (name == "waiting") end.waiting = number;
    if (name == "room") end.room = number;
    if (name == "total") end.total = number;
  }
  return end;
}

std::set<std::string> KindsOf(const Node& node) {
  std::set<std::string> kinds;
  for (const Device& device : node.devices) kinds.insert(device.kind);
  return kinds;
}

}  // namespace

Result<RunEnd> Tune(const TuneRequest& request, Watcher& watcher) {
  StudySpec spec = request.spec;
  const Machine machine = InspectMachine();
  SLUICE_TRY(CheckCarriedOut(spec));
  SLUICE_TRY(CheckFits(spec, machine.node));
  SLUICE_TRY(FindLauncher());
  if (spec.training) {
    SLUICE_TRY(FindTrainer());
    SLUICE_ASSIGN(spec.training->recorded, RecordFiles(spec, request.folder));
  }
  // This comes before anything is made, because it fails if the study that warm_start names does
  // not exist.
  std::optional<Knowledge> knowledge;
  if (spec.warm_start) {
    SLUICE_ASSIGN(knowledge,
                  GatherKnowledge(spec, {.store = request.paths.database, .folder = request.folder},
                                  request.seed));
  }
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(request.paths, fmt::format("tuning '{}'", spec.name)));
  OpenedStudy opened;
  SLUICE_ASSIGN(opened.ledger, OpenSwept(request.paths, lock));
  SLUICE_ASSIGN(const StudyId taken, StudyNamed(opened.ledger->database(), spec.name));
  if (IsSet(taken)) {
    return FailedPrecondition(
        fmt::format("a study '{0}' is in {1} already: go on with it by 'sluice resume {0}', remove "
                    "it by 'sluice delete {0}', or "
                    "choose another name with --name",
                    spec.name, request.paths.database));
  }
  SLUICE_TRY(MoveAside(request.paths.StudyFolder(spec.name)));
  SLUICE_ASSIGN(opened.id, NextStudyId(opened.ledger->database()));
  opened.engine = std::make_unique<Engine>();

  // The study is committed before anything else happens to it.
  const Time now = WallNow();
  StudyCreated created{.study = opened.id,
                       .source = request.source,
                       .folder = request.folder,
                       .seed = request.seed,
                       .spec = spec};
  SLUICE_ASSIGN(const StudySpec as_written, ReadStudy(request.source, spec.name, spec.name));
  PointsEnqueued enqueued{.study = opened.id, .points = {}};
  SLUICE_ASSIGN(enqueued.points, FillInAll(spec.space, spec.enqueue, request.seed, 0));
  Batch batch;
  batch.study = opened.id;
  std::uint64_t seq = Number(opened.ledger->last());
  batch.events.emplace_back(EventSeq(++seq), Event{now, created});
  if (as_written.trials != spec.trials) {
    created.spec.trials = as_written.trials;  // a replay reads the number in the file
    batch.events.back().second.body = created;
    batch.events.emplace_back(EventSeq(++seq),
                              Event{now, StudyResumed{opened.id, spec.trials, std::nullopt}});
  }
  if (!enqueued.points.empty())
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(enqueued)});
  if (knowledge) {
    batch.events.emplace_back(
        EventSeq(++seq),
        Event{now, KnowledgeGiven{opened.id, knowledge->summary, std::move(knowledge->trials)}});
  }
  SLUICE_ASSIGN(MeasurementsGiven measured,
                ReadEarlierMeasurements(opened.ledger->database(), created, KindsOf(machine.node)));
  const std::string measured_by = measured.source;
  if (!measured.measured.empty())
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(measured)});
  for (const auto& [number, event] : batch.events) (void)opened.engine->Apply(event);
  batch.studies.push_back(RowOf(*opened.engine->study(opened.id)));
  SLUICE_TRY(opened.ledger->Commit(batch));
  if (!measured_by.empty())
    watcher.Say(fmt::format("{} has measured this program: plans use its figures", measured_by));
  if (knowledge) {
    watcher.Say("warm start: " + knowledge->summary);
    for (const std::string& note : knowledge->notes) watcher.Say("warm start: " + note);
  }
  SLUICE_ASSIGN(StudyWorld world, KeepOwnWorld(request.paths.StudyFolder(spec.name)));
  return RunController(request.paths, std::move(opened), std::move(world),
                       {ControllerStarted{{machine.node}}}, spec, request.seed, watcher);
}

namespace {

// Puts the changes of an edited study file into the request and the event. Fails if a key was
// changed that cannot change.
Status TakeChanges(const Study& study, ResumeRequest& request, StudyResumed& resumed,
                   Watcher& watcher) {
  if (!request.file) return {};
  const auto& [file, source, spec] = *request.file;
  SLUICE_ASSIGN(const StudyDifference difference, CompareSources(study.source, source, file));
  if (!difference.fixed.empty()) {
    return InvalidArgument(fmt::format(
        "{0}: {1} cannot change in a study that has begun:\n{2}'sluice tune {0} --replace' removes "
        "study '{3}' and begins anew, --name makes another",
        file, Join(difference.fixed), difference.text, study.spec.name));
  }
  const auto differs = [&](std::string_view key) {
    return std::ranges::find(difference.free, key) != difference.free.end();
  };
  if (!request.trials && (differs("trials") || differs("run_cap"))) request.trials = spec.trials;
  if (!request.deadline && differs("deadline")) {
    request.deadline = spec.deadline_after ? study.created + *spec.deadline_after
                                           : spec.deadline_at.value_or(kNever);
  }
  resumed.change = ChangeFrom(spec);
  if (!difference.empty()) watcher.Say(fmt::format("changed: {}", Join(difference.free)));
  return {};
}

}  // namespace

Result<RunEnd> Resume(const ResumeRequest& asked, Watcher& watcher) {
  ResumeRequest request = asked;
  SLUICE_TRY(Reader::Open(request.paths.database));
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(request.paths, fmt::format("tuning '{}'", request.study)));
  SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(request.paths, lock, request.study));
  const Study& study = *opened.engine->study(opened.id);
  StudyResumed resumed{.study = opened.id, .trials = {}, .deadline = {}};
  SLUICE_TRY(TakeChanges(study, request, resumed, watcher));
  resumed.trials = request.trials;
  resumed.deadline = request.deadline;
  StudySpec spec = study.spec;
  if (resumed.change) Apply(*resumed.change, spec);
  SLUICE_TRY(CheckHasProgram(spec));
  if (spec.training) {
    SLUICE_TRY(FindTrainer());
    SLUICE_TRY(CheckSameFiles(study));
  }
  const std::uint64_t seed = study.seed;
  const Machine machine = InspectMachine();
  SLUICE_TRY(CheckCarriedOut(spec));
  SLUICE_TRY(CheckFits(spec, machine.node));
  const int made = study.proposed();
  if (request.trials && *request.trials < made) {
    return InvalidArgument(
        fmt::format("{} is the new total: expected at least {}, since so many were made, found {}",
                    asked.trials ? "--trials" : "trials", made, *request.trials));
  }
  const bool more = request.trials && *request.trials > study.trials_wanted;
  const bool by_deadline = study.ending == Finish::kDeadline && !request.deadline;
  if (by_deadline) {
    return FailedPrecondition(fmt::format(
        "the deadline of study '{}' has passed: give it a new one with --deadline", spec.name));
  }
  // Whether points were enqueued after the study had ended because its space was exhausted.
  const bool enqueued =
      study.ending == Finish::kExhausted && !study.queue.empty() && study.room() > 0;
  const bool open = !study.finished || study.ending == Finish::kAsked ||
                    study.ending == Finish::kDeadline || study.ending == Finish::kFailures ||
                    enqueued;
  if (!open && !more) {
    const QueueStanding queue = QueueOf(study);
    return FailedPrecondition(fmt::format(
        "study '{}' is finished ({}): go on with more trials by --trials N, N above {}{}",
        spec.name, Name(study.ending), study.trials_wanted,
        queue.waiting == 0 ? "" : fmt::format("; {} tries all that is enqueued", queue.total)));
  }
  SLUICE_ASSIGN(StudyWorld world, KeepOwnWorld(request.paths.StudyFolder(spec.name)));
  // ControllerStarted is first, so that the resumed study is planned on the current devices.
  std::vector<EventBody> first = {ControllerStarted{{machine.node}}, std::move(resumed)};
  return RunController(request.paths, std::move(opened), std::move(world), std::move(first), spec,
                       seed, watcher);
}

Status StopStudy(const StorePaths& paths, const std::string& name) {
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
    if (info.finished)
      return FailedPrecondition(
          fmt::format("study '{}' is finished already ({})", name, info.ending));
  }
  if (FindLockHolder(paths).pid != 0) {
    SLUICE_TRY(AskController(paths, {.verb = "stop", .study = name, .trial = {}}));
    return {};
  }
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(paths, fmt::format("stopping '{}'", name)));
  // Nothing is started, so that the world of this process does if the study's cannot be read.
  StudyWorld world = KeptWorld(paths.StudyFolder(name)).value_or(CaptureWorld());
  SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, lock, name));
  const StudySpec spec = opened.engine->study(opened.id)->spec;
  const std::uint64_t seed = opened.engine->study(opened.id)->seed;
  Silent silent;
  // The stop comes first, so that nothing new starts.
  std::vector<EventBody> first = {StudyStopAsked{opened.id},
                                  ControllerStarted{{InspectMachine(world).node}}};
  SLUICE_TRY(RunController(paths, std::move(opened), std::move(world), std::move(first), spec, seed,
                           silent));
  return {};
}

Status StopTrial(const StorePaths& paths, const std::string& name, TrialId trial) {
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
    SLUICE_TRY(reader->FindTrial(info, trial));
  }
  if (FindLockHolder(paths).pid != 0) {
    SLUICE_TRY(AskController(paths, {.verb = "stop", .study = name, .trial = trial}));
    return {};
  }
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(paths, fmt::format("stopping a trial of '{}'", name)));
  SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, lock, name));
  const Trial& known = *opened.engine->trial({opened.id, trial});
  if (!CanBeStopped(known)) {
    return FailedPrecondition(
        fmt::format("trial {} is {}: there is nothing to stop", Number(trial), Name(known.state)));
  }
  // Nothing starts before the study is resumed.
  return WriteDown(opened, {DrainAsked{.only_starts = true}, TrialStopAsked{{opened.id, trial}}});
}

Status RetryTrial(const StorePaths& paths, const std::string& name, TrialId trial) {
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
    SLUICE_ASSIGN(const TrialInfo found, reader->FindTrial(info, trial));
    if (found.state != TrialState::kFailed && found.state != TrialState::kStopped) {
      return FailedPrecondition(
          fmt::format("trial {} is {}: only failed and stopped trials can be retried",
                      Number(trial), Name(found.state)));
    }
  }
  if (FindLockHolder(paths).pid != 0) {
    SLUICE_TRY(AskController(paths, {.verb = "retry", .study = name, .trial = trial}));
    return {};
  }
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(paths, fmt::format("retrying a trial of '{}'", name)));
  SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, lock, name));
  SLUICE_TRY(CheckHasProgram(opened.engine->study(opened.id)->spec));
  // Nothing starts before the study is resumed.
  return WriteDown(opened, {DrainAsked{.only_starts = true}, RetryAsked{{opened.id, trial}}});
}

Result<EnqueueEnd> EnqueuePoints(const StorePaths& paths, const std::string& name,
                                 const std::vector<std::string>& points) {
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_TRY(reader->FindStudy(name));
  }
  if (FindLockHolder(paths).pid != 0) {
    const wire::Ask ask{.verb = "enqueue", .study = name, .trial = {}, .points = points};
    if (wire::Encode(wire::FromWorker(ask)).size() > wire::kLongestLine) {
      return InvalidArgument(
          fmt::format("expected at most 1 MiB of points at once while the study runs, found {} "
                      "points with more: give them in parts",
                      points.size()));
    }
    SLUICE_ASSIGN(const wire::Answer answer, AskController(paths, ask));
    return EndFrom(answer.facts);
  }
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(paths, fmt::format("enqueueing points of '{}'", name)));
  SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, lock, name));
  const Study& study = *opened.engine->study(opened.id);
  SLUICE_TRY(CheckHasProgram(study.spec));
  SLUICE_ASSIGN(PointsEnqueued enqueued, MakePoints(study, points));
  EnqueueEnd end{.added = static_cast<int>(enqueued.points.size()),
                 .known = CountKnown(study, enqueued)};
  SLUICE_TRY(WriteDown(opened, {std::move(enqueued)}));
  const QueueStanding standing = QueueOf(study);
  end.waiting = standing.waiting;
  end.room = standing.room;
  end.total = standing.total;
  return end;
}

Status DeleteStudy(const StorePaths& paths, const std::string& name) {
  StudyInfo info;
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(info, reader->FindStudy(name));
  }
  // Trials that outlived their controller would continue to write to the folder that is deleted.
  if (FindLockHolder(paths).pid == 0 && info.count(TrialState::kRunning) > 0)
    SLUICE_TRY(StopStudy(paths, name));
  SLUICE_ASSIGN(const StoreLock lock,
                StoreLock::Acquire(paths, fmt::format("deleting '{}'", name)));
  SLUICE_ASSIGN(auto ledger, OpenSwept(paths, lock));
  SLUICE_TRY(CheckRemovable(ledger->database(), info.id));
  // The files are removed first. A study without files can be deleted again if this is cut off, but
  // files without a study would be forgotten.
  std::error_code error;
  std::filesystem::remove_all(paths.StudyFolder(name), error);
  if (error)
    return Unavailable(
        fmt::format("{}: cannot remove: {}", paths.StudyFolder(name), error.message()));
  return RemoveStudy(ledger->database(), info.id);
}

Time WallNow() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace sluice
