#include "exec/session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "control/controller.h"
#include "engine/points.h"
#include "engine/read/study_change.h"
#include "exec/carried_out.h"
#include "exec/controller/run_controller.h"
#include "exec/launch_folder.h"
#include "exec/machine/machine.h"
#include "exec/session/hand_over.h"
#include "exec/session/interrupts.h"
#include "exec/session/leaders.h"
#include "exec/study_world.h"
#include "exec/trainer.h"
#include "exec/wall_clock.h"
#include "ledger/earlier_measurements.h"
#include "ledger/earlier_study.h"
#include "ledger/event_codec.h"
#include "ledger/lock.h"
#include "ledger/optuna/optuna_study_file.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"

namespace sluice {
namespace {

// A study of a store that this process may write to.
struct OpenedStudy {
  StudyId id{};
  bool is_open = false;  // it is in the engine of the open studies, and no controller lives
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Engine> engine;
  const Study& study() const { return *engine->study(id); }
};

Result<OpenedStudy> OpenStudy(const StorePaths& paths, Pen& pen, const std::string& name) {
  // The study is looked up with a reader first. So a store that does not exist is not made here,
  // and an unknown name gets a suggestion.
  SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
  OpenedStudy opened;
  opened.id = info.id;
  opened.is_open = info.open;
  SLUICE_ASSIGN(opened.ledger, pen.OpenLedger(paths));
  SLUICE_ASSIGN(opened.engine, RecoverEngine(opened.ledger->database(), info.id));
  return opened;
}

// Applies and commits events while no controller runs the study.
Status WriteDown(OpenedStudy& opened, std::vector<EventBody> bodies) {
  Batch batch;
  if (!opened.is_open) batch.study = opened.id;
  std::uint64_t seq = Number(opened.ledger->last());
  // The clock may have been set back since the last event.
  const Time now = std::max(WallNow(), opened.engine->now());
  for (EventBody& body : bodies) {
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(body)});
    (void)opened.engine->Apply(batch.events.back().second);
  }
  for (const TrialKey& key : opened.engine->TakeChanged()) {
    const Trial& changed = *opened.engine->trial(key);
    if (changed.awaits_parameters) continue;  // a trial is written once it has its parameters
    batch.trials.push_back(
        {key.study, changed, opened.engine->study(key.study)->spec.space.Encode(changed.point)});
  }
  batch.studies.push_back(RowOf(opened.study(), opened.is_open));
  return opened.ledger->Commit(batch);
}

// Carries out a request for a study: by asking the controller if it runs the study, and otherwise
// by `write`, which is given the pen.
Result<std::optional<wire::Answer>> AskOrWrite(const StorePaths& paths, const wire::Ask& ask,
                                               const std::string& purpose,
                                               const std::function<Status(Pen&)>& write) {
  while (true) {
    if (auto link = Link::Connect(paths)) {
      const Status told = link->Tell(ask);
      if (!told && told.error().code != ErrorCode::kUnavailable)
        return std::unexpected(told.error());
      const auto answer = told ? link->TakeAnswer() : Result<wire::Answer>(Unavailable(""));
      if (answer && answer->ok) return *answer;
      if (answer && !IsNotDriven(*answer)) return FailedPrecondition(answer->message);
      // Whether the controller has done what it was asked is not known. To do it again is wrong for
      // points only.
      if (!answer && told && ask.verb == "enqueue") return std::unexpected(answer.error());
      // Otherwise the study is not open there, or the controller has just left.
      if (!answer && answer.error().code != ErrorCode::kUnavailable)
        return std::unexpected(answer.error());
    }
    SLUICE_ASSIGN(Pen pen, Pen::Take(paths, purpose));
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(ask.study));
    if (pen.is_borrowed() && info.open) continue;  // it was opened since
    reader.reset();
    SLUICE_TRY(write(pen));
    return std::nullopt;
  }
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

Result<Link> Tune(const TuneRequest& request, const Say& say) {
  StudySpec spec = request.spec;
  const Machine machine = InspectMachine();
  SLUICE_TRY(CheckCarriedOut(spec));
  SLUICE_TRY(CheckFits(spec, machine.node));
  SLUICE_TRY(CheckLeader(request.paths.database, spec));
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
  const Time now = WallNow();
  StudyCreated created{.study = {},
                       .source = request.source,
                       .folder = request.folder,
                       .seed = request.seed,
                       .spec = spec};
  SLUICE_ASSIGN(const StudySpec as_written, ReadStudy(request.source, spec.name, spec.name));
  PointsEnqueued enqueued{.study = {}, .points = {}};
  SLUICE_ASSIGN(enqueued.points, FillInAll(spec.space, spec.enqueue, request.seed, 0));

  SLUICE_ASSIGN(Link link, Link::Borrowed(request.paths));
  HoldInterrupts();
  SLUICE_ASSIGN(auto ledger, link.OpenLedger(request.paths));
  SLUICE_ASSIGN(const StudyId taken, StudyNamed(ledger->database(), spec.name));
  if (IsSet(taken)) {
    return FailedPrecondition(
        fmt::format("a study '{0}' is in {1} already: go on with it by 'sluice resume {0}', remove "
                    "it by 'sluice delete {0}', or "
                    "choose another name with --name",
                    spec.name, request.paths.database));
  }
  SLUICE_TRY(CheckLeader(request.paths.database, spec));  // it may have been deleted since
  SLUICE_TRY(MoveAside(request.paths.StudyFolder(spec.name)));
  SLUICE_TRY(KeepOwnWorld(request.paths.StudyFolder(spec.name)));

  // The study is committed before anything else happens to it.
  SLUICE_ASSIGN(const StudyId id, NextStudyId(ledger->database()));
  created.study = enqueued.study = id;
  Engine engine;
  Batch batch;
  batch.study = id;
  std::uint64_t seq = Number(ledger->last());
  batch.events.emplace_back(EventSeq(++seq), Event{now, created});
  if (as_written.trials != spec.trials) {
    created.spec.trials = as_written.trials;  // a replay reads the number in the file
    batch.events.back().second.body = created;
    batch.events.emplace_back(EventSeq(++seq),
                              Event{now, StudyResumed{id, spec.trials, std::nullopt}});
  }
  if (!enqueued.points.empty())
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(enqueued)});
  if (knowledge) {
    batch.events.emplace_back(
        EventSeq(++seq),
        Event{now, KnowledgeGiven{id, knowledge->summary, std::move(knowledge->trials)}});
  }
  SLUICE_ASSIGN(MeasurementsGiven measured,
                ReadEarlierMeasurements(ledger->database(), created, KindsOf(machine.node)));
  const std::string measured_by = measured.source;
  if (!measured.measured.empty())
    batch.events.emplace_back(EventSeq(++seq), Event{now, std::move(measured)});
  for (const auto& [number, event] : batch.events) (void)engine.Apply(event);
  batch.studies.push_back(RowOf(*engine.study(id)));
  SLUICE_TRY(ledger->Commit(batch));
  ledger.reset();
  if (!measured_by.empty())
    say(fmt::format("{} has measured this program: plans use its figures", measured_by));
  if (knowledge) {
    say("warm start: " + knowledge->summary);
    for (const std::string& note : knowledge->notes) say("warm start: " + note);
  }
  SLUICE_TRY(HandOver(request.paths, link, spec.name));
  return link;
}

namespace {

// Puts the changes of an edited study file into the request and the event. Fails if a key was
// changed that cannot change.
Status TakeChanges(const Study& study, ResumeRequest& request, StudyResumed& resumed,
                   const Say& say) {
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
  if (!difference.empty()) say(fmt::format("changed: {}", Join(difference.free)));
  return {};
}

// Fails if a study cannot go on as it is asked to.
Status CheckGoesOn(const Study& study, const ResumeRequest& request, bool trials_given) {
  if (!study.spec.transfer.empty()) {
    // Once it has finished, its leader may have a better trial.
    if (!request.trials) return {};
    return InvalidArgument(
        fmt::format("study '{}' trains the best trial of study '{}', however many there are: leave "
                    "out --trials",
                    study.spec.name, study.spec.transfer));
  }
  const int made = study.proposed();
  if (request.trials && *request.trials < made) {
    return InvalidArgument(
        fmt::format("{} is the new total: expected at least {}, since so many were made, found {}",
                    trials_given ? "--trials" : "trials", made, *request.trials));
  }
  const bool more = request.trials && *request.trials > study.trials_wanted;
  const bool by_deadline = study.ending == Finish::kDeadline && !request.deadline;
  if (by_deadline) {
    return FailedPrecondition(
        fmt::format("the deadline of study '{}' has passed: give it a new one with --deadline",
                    study.spec.name));
  }
  // Whether points were enqueued after the study had ended because its space was exhausted.
  const bool enqueued =
      study.ending == Finish::kExhausted && !study.queue.empty() && study.room() > 0;
  const bool open = !study.finished || study.ending == Finish::kAsked ||
                    study.ending == Finish::kDeadline || study.ending == Finish::kFailures ||
                    enqueued;
  if (open || more) return {};
  const QueueStanding queue = QueueOf(study);
  return FailedPrecondition(fmt::format(
      "study '{}' is finished ({}): go on with more trials by --trials N, N above {}{}",
      study.spec.name, Name(study.ending), study.trials_wanted,
      queue.waiting == 0 ? "" : fmt::format("; {} tries all that is enqueued", queue.total)));
}

}  // namespace

Result<Link> Resume(const ResumeRequest& asked, const Say& say) {
  ResumeRequest request = asked;
  SLUICE_ASSIGN(auto reader, Reader::Open(request.paths.database));
  SLUICE_ASSIGN(const StudyInfo before, reader->FindStudy(request.study));
  // A controller that is started takes up what was open at once, and reads the world first.
  const bool is_interrupted = MayRun(before) && !Link::Connect(request.paths);
  if (is_interrupted) {
    SLUICE_TRY(KeepOwnWorld(request.paths.StudyFolder(request.study)));
    HoldInterrupts();
  }
  SLUICE_ASSIGN(Link link, Link::Borrowed(request.paths));
  HoldInterrupts();
  SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(request.study));
  SLUICE_ASSIGN(const auto engine, RecoverEngine(reader->database(), info.id));
  const Study& study = *engine->study(info.id);
  // The controller that was started had only its end to write down.
  const bool just_ended = MayRun(before) && !before.finished && info.finished;
  if (just_ended && !request.trials && !request.deadline && !request.file) return link;
  StudyResumed resumed{.study = info.id, .trials = {}, .deadline = {}};
  SLUICE_TRY(TakeChanges(study, request, resumed, say));
  resumed.trials = request.trials;
  resumed.deadline = request.deadline;
  StudySpec spec = study.spec;
  if (resumed.change) Apply(*resumed.change, spec);
  SLUICE_TRY(CheckHasProgram(spec));
  if (spec.training) {
    SLUICE_TRY(FindTrainer());
    SLUICE_TRY(CheckSameFiles(study));
  }
  SLUICE_TRY(CheckCarriedOut(spec));
  SLUICE_TRY(CheckFits(spec, InspectMachine().node));
  SLUICE_TRY(CheckLeader(request.paths.database, spec));
  SLUICE_TRY(CheckGoesOn(study, request, asked.trials.has_value()));
  SLUICE_TRY(KeepOwnWorld(request.paths.StudyFolder(spec.name)));
  SLUICE_TRY(HandOver(request.paths, link, spec.name, Encode({{}, resumed})));
  return link;
}

Status PauseStudy(const StorePaths& paths, const std::string& name, bool kill) {
  StudyInfo info;
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(info, reader->FindStudy(name));
  }
  const std::string nothing =
      fmt::format("study '{}' does not run: there is nothing to pause", name);
  if (!MayRun(info)) return FailedPrecondition(nothing);
  SLUICE_ASSIGN(Link link, Link::ConnectOrStart(paths));
  if (!info.open) SLUICE_TRY(HandOver(paths, link, name));
  SLUICE_TRY(link.Tell({.verb = kill ? "kill" : "pause", .study = name, .trial = {}}));
  SLUICE_ASSIGN(const wire::Answer answer, link.TakeAnswer());
  if (answer.ok) return {};
  return FailedPrecondition(IsNotDriven(answer) ? nothing : answer.message);
}

Status StopStudy(const StorePaths& paths, const std::string& name) {
  StudyInfo info;
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(info, reader->FindStudy(name));
    if (info.finished)
      return FailedPrecondition(
          fmt::format("study '{}' is finished already ({})", name, info.ending));
  }
  bool may_run = false;
  const auto write = [&](Pen& pen) -> Status {
    SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, pen, name));
    may_run = opened.is_open || !opened.study().running.empty();
    return may_run ? Status{} : WriteDown(opened, {StudyStopAsked{opened.id}});
  };
  SLUICE_TRY(AskOrWrite(paths, {.verb = "stop", .study = name, .trial = {}},
                        fmt::format("stopping '{}'", name), write));
  if (!may_run) return {};
  // Its controller has died. Another one ends what runs.
  SLUICE_ASSIGN(Link link, Link::ConnectOrStart(paths));
  SLUICE_TRY(HandOver(paths, link, name, Encode({{}, StudyStopAsked{info.id}})));
  return AwaitEnd(link, name);
}

Status StopTrial(const StorePaths& paths, const std::string& name, TrialId trial) {
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(name));
    SLUICE_TRY(reader->FindTrial(info, trial));
  }
  const auto write = [&](Pen& pen) -> Status {
    SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, pen, name));
    const Trial& known = *opened.engine->trial({opened.id, trial});
    if (!CanBeStopped(known)) {
      return FailedPrecondition(fmt::format("trial {} is {}: there is nothing to stop",
                                            Number(trial), Name(known.state)));
    }
    // Nothing starts before the study is resumed.
    return WriteDown(opened, {DrainAsked{.only_starts = true}, TrialStopAsked{{opened.id, trial}}});
  };
  SLUICE_TRY(AskOrWrite(paths, {.verb = "stop", .study = name, .trial = trial},
                        fmt::format("stopping a trial of '{}'", name), write));
  return {};
}

Result<bool> RetryTrial(const StorePaths& paths, const std::string& name, TrialId trial) {
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
  const auto write = [&](Pen& pen) -> Status {
    SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, pen, name));
    SLUICE_TRY(CheckHasProgram(opened.study().spec));
    // Nothing starts before the study is resumed.
    return WriteDown(opened, {DrainAsked{.only_starts = true}, RetryAsked{{opened.id, trial}}});
  };
  SLUICE_ASSIGN(const auto answer,
                AskOrWrite(paths, {.verb = "retry", .study = name, .trial = trial},
                           fmt::format("retrying a trial of '{}'", name), write));
  return answer.has_value();
}

Result<EnqueueEnd> EnqueuePoints(const StorePaths& paths, const std::string& name,
                                 const std::vector<std::string>& points) {
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_TRY(reader->FindStudy(name));
  }
  EnqueueEnd end;
  const auto write = [&](Pen& pen) -> Status {
    SLUICE_ASSIGN(OpenedStudy opened, OpenStudy(paths, pen, name));
    const Study& study = opened.study();
    SLUICE_TRY(CheckHasProgram(study.spec));
    SLUICE_ASSIGN(PointsEnqueued enqueued, MakePoints(study, points));
    end.added = static_cast<int>(enqueued.points.size());
    end.known = CountKnown(study, enqueued);
    SLUICE_TRY(WriteDown(opened, {std::move(enqueued)}));
    const QueueStanding standing = QueueOf(study);
    end.waiting = standing.waiting;
    end.room = standing.room;
    end.total = standing.total;
    return {};
  };
  SLUICE_ASSIGN(const auto answer,
                AskOrWrite(paths, {.verb = "enqueue", .study = name, .trial = {}, .points = points},
                           fmt::format("enqueueing points of '{}'", name), write));
  return answer ? EndFrom(answer->facts) : end;
}

namespace {

// What the name of a deleted study's folder begins with. No study is called so.
constexpr std::string_view kDeleted = ".deleted-";

// Removes the folders of deleted studies, also those that an earlier command has left.
Status RemoveDeleted(const std::string& studies) {
  std::error_code error;
  std::vector<std::filesystem::path> deleted;
  for (const auto& entry : std::filesystem::directory_iterator(studies, error)) {
    if (entry.path().filename().string().starts_with(kDeleted)) deleted.push_back(entry.path());
  }
  for (const auto& folder : deleted) {
    std::filesystem::remove_all(folder, error);
    if (error)
      return Unavailable(fmt::format("{}: cannot remove: {}", folder.string(), error.message()));
  }
  return {};
}

}  // namespace

Status DeleteStudy(const StorePaths& paths, const std::string& name) {
  StudyInfo info;
  {
    SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
    SLUICE_ASSIGN(info, reader->FindStudy(name));
  }
  SLUICE_TRY(CheckNotFollowed(paths.database, name));
  // Trials that run would continue to write to the folder that is deleted.
  if (MayRun(info)) {
    // Nothing is killed unless the pen is to be had.
    SLUICE_ASSIGN(Link link, Link::Borrowed(paths));
    if (!info.open) SLUICE_TRY(HandOver(paths, link, name));
    const auto killed = link.Ask({.verb = "kill", .study = name, .trial = {}});
    // A refusal: the study has ended meanwhile.
    if (!killed && killed.error().code == ErrorCode::kUnavailable)
      return std::unexpected(killed.error());
    SLUICE_TRY(AwaitEnd(link, name));
  }
  SLUICE_ASSIGN(Pen pen, Pen::Take(paths, fmt::format("deleting '{}'", name)));
  SLUICE_ASSIGN(auto ledger, pen.OpenLedger(paths));
  SLUICE_TRY(CheckNotFollowed(paths.database, name));
  SLUICE_TRY(CheckRemovable(ledger->database(), info.id));
  // The files are moved first. A study without files can be deleted again if this is cut off, but
  // files without a study would be forgotten. They are removed once others may write again, since
  // that may take long.
  const std::string folder = paths.StudyFolder(name);
  const std::string gone = fmt::format("{}/studies/{}{}-{}", paths.files, kDeleted, name, getpid());
  std::error_code error;
  if (std::filesystem::exists(folder, error)) std::filesystem::rename(folder, gone, error);
  if (error) return Unavailable(fmt::format("{}: cannot remove: {}", folder, error.message()));
  SLUICE_TRY(RemoveStudy(ledger->database(), info.id, ledger->guard()));
  ledger.reset();
  {
    const Pen returned = std::move(pen);
  }
  return RemoveDeleted(fmt::format("{}/studies", paths.files));
}

}  // namespace sluice
