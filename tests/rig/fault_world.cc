#include "rig/fault_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/check.h"
#include "ledger/audit.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "rig/fault_life.h"
#include "rig/fault_study.h"
#include "search/sampler.h"

namespace sluice {
namespace {

constexpr int kPageBytes = 1024;  // small, since a commit takes time for each page that it touches
// The longest time that a healed world may take to end its study, and the longest silence between
// two events. A worker that hangs or is slow may delay the study until its time-outs, not for ever.
constexpr Duration kHealedAtMost = std::chrono::hours(24 * 3);
constexpr Duration kSilentAtMost = std::chrono::minutes(15);
constexpr std::uint64_t kHealedEventsAtMost = 100'000;
constexpr int kFailedStartsAtMost = 50;
constexpr std::uint64_t kEventsBeforeHealing = 1500;
constexpr int kUnmadeAtMost = 200;

}  // namespace

FaultWorld::FaultWorld(const Options& options)
    : options_(options),
      random_(Random(options.seed).Fork("fault world")),
      theme_(DrawTheme(random_.Fork("theme"))),
      disk_({.seed = options.seed, .page_bytes = kPageBytes}) {
  created_ = {.study = kStudy, .source = "", .folder = "/", .seed = options.seed, .spec = {}};
  const bool bundles = options.bundles || theme_ == Theme::kCrowds;
  created_.source = DrawStudy(random_.Fork("study"), bundles, theme_);
  auto spec = ReadStudy(created_.source, "sim", "sim");
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  created_.spec = *std::move(spec);
  Random drawn = random_.Fork("machines");
  FaultGround::Options ground{.random = Random(options.seed),
                              .faults = DrawFaults(random_.Fork("faults"), theme_),
                              .program = {},
                              .nodes = {},
                              .study = "sim",
                              .coarse = drawn.Chance(0.3)};
  ground.program.speaks = drawn.Chance(0.8) || bundles || theme_ == Theme::kDeadlines;
  ground.program.reuse = ground.program.speaks && drawn.Chance(0.5);
  ground.program.hasty = ground.program.reuse && drawn.Chance(0.2);
  ground.program.stubborn = drawn.Chance(0.1);
  ground.program.endless = !ground.program.speaks && drawn.Chance(0.3);
  ground.program.save = drawn.Uniform();
  ground.program.own_end =
      static_cast<Work>(theme_ == Theme::kDeadlines ? 3 + drawn.Below(5) : 10 + drawn.Below(40));
  ground.program.step =
      Duration(static_cast<std::int64_t>(50'000 * std::pow(8.0, drawn.Uniform())));
  ground.program.grace = created_.spec.timeouts.grace;
  ground.program.has_timeout =
      created_.spec.timeouts.report.count() > 0 || created_.spec.timeouts.trial.count() > 0;
  const bool is_small = theme_ == Theme::kCrowds;  // one device, for which all trials wait
  for (std::uint64_t left = is_small ? 1 : 1 + drawn.Below(3); left > 0; --left) {
    Node node{.name = fmt::format("node{}", left),
              .cpus = static_cast<Milli>(2 + drawn.Below(6)) * kWhole,
              .devices = {}};
    for (std::uint64_t gpu = 0; gpu < (is_small ? 1 : 1 + drawn.Below(4)); ++gpu) {
      node.devices.push_back({.uuid = fmt::format("{}-{}", node.name, gpu),
                              .kind = "A100",
                              .memory_bytes = std::int64_t{40} << 30});
    }
    ground.nodes.push_back(std::move(node));
  }
  // A separate stream, so that the other draws stay as they were.
  Random programs = random_.Fork("programs");
  ground.program.polite = random_.Fork("polite").Chance(theme_ == Theme::kCrowds ? 0.8 : 0.3);
  ground.program.counts = programs.Chance(0.8) || bundles;
  ground.program.careless = programs.Chance(0.2);
  // Otherwise a process would rarely count from 1 after another process of its launch.
  if (ground.program.speaks && !ground.program.counts)
    ground.faults.exec = std::max(ground.faults.exec, 0.01);
  if (programs.Chance(0.1)) ground.program.every = static_cast<Work>(2 + programs.Below(4));
  if (ground.program.speaks && ground.program.counts && created_.spec.demand.fused_most > 1 &&
      (programs.Chance(0.8) || bundles)) {
    ground.program.reuse = true;
    ground.program.capacity = static_cast<int>(2 + programs.Below(4));
    ground.program.several_shapes = programs.Chance(0.5);
    if (created_.spec.demand.fused_most > 7)
      ground.program.capacity = created_.spec.demand.fused_most;
  }
  ground.program.misnames = ground.faults.misnames > 0;
  truthful_ = ground.faults.lie == 0 && !ground.program.misnames;
  if (ground.faults.unlike > 0) checker_.AllowMixedBundles();
  if (truthful_) checker_.SetOwnEnd(ground.program.own_end);
  ground_ = std::make_unique<FaultGround>(std::move(ground));
  sync_ = Duration(static_cast<std::int64_t>(20'000 * std::pow(100.0, drawn.Uniform())));
  if (theme_ == Theme::kDeadlines) sync_ = std::chrono::seconds(2);
}

FaultWorld::~FaultWorld() { life_.reset(); }

// Puts the study on disk before anything reads it, although the disk may fail or die in the first
// attempts.
void FaultWorld::CreateStudyAgainAndAgain() {
  const bool fails = ground_->faults().disk_error.count() > 0;
  const bool dies = ground_->faults().power_cut.count() > 0;
  for (int tries = 0; tries < 20; ++tries) {
    const bool faulty = tries < 4;
    if (fails && faulty) disk_.FailAt(disk_.operations() + random_.Below(60));
    if (fails && faulty) disk_.FailReadAt(disk_.reads() + random_.Below(40));
    if (dies && faulty) disk_.DieAt(disk_.operations() + random_.Below(60));
    const Status created = CreateStudy();
    disk_.DieAt(MemoryDisk::kUnlimited);
    disk_.FailReadAt(MemoryDisk::kUnlimited);
    if (created) return;
    See("not created");
    disk_.Crash(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
  }
  checker_.Say("the study could not be created");
}

Status FaultWorld::CreateStudy() {
  SLUICE_ASSIGN(auto ledger, Ledger::Open(kStore, disk_.disk()));
  Engine engine;
  Batch batch;
  batch.study = kStudy;
  batch.events.emplace_back(EventSeq{1}, Event{Time{}, created_});
  if (const std::vector<Point> points = DrawPoints(random_.Fork("knowledge").Below(4));
      !points.empty()) {
    KnowledgeGiven known{.study = kStudy, .source = "study 'before'", .trials = {}};
    for (const Point& point : points)
      known.trials.push_back({.point = point, .work = 9, .value = 1});
    batch.events.emplace_back(EventSeq{2}, Event{Time{}, std::move(known)});
  }
  const bool fuses = created_.spec.demand.fused_most > 1;
  if (Random drawn = random_.Fork("measured"); drawn.Chance(fuses ? 0.3 : 0.1)) {
    const bool too_many = drawn.Fork("too many").Chance(0.2);  // more trials than the study fuses
    const Measurement measured{.situation = {.shape = created_.spec.name,
                                             .kind = "A100",
                                             .fused = too_many ? 20
                                                      : fuses  ? 2
                                                               : 1},
                               .bytes = static_cast<std::int64_t>(1 + drawn.Below(40)) << 30,
                               .work_per_second = 0.01 + drawn.Uniform()};
    batch.events.emplace_back(
        EventSeq{batch.events.size() + 1},
        Event{Time{}, MeasurementsGiven{kStudy, "study 'before'", {measured}}});
  }
  for (const auto& [seq, event] : batch.events) (void)engine.Apply(event);
  batch.studies.push_back(RowOf(*engine.study(kStudy)));
  // An earlier attempt may have committed the batch and then died.
  if (!IsSet(ledger->last())) SLUICE_TRY(ledger->Commit(batch));
  checker_.Durable(batch);
  return {};
}

FaultWorld::Outcome FaultWorld::Run() {
  CreateStudyAgainAndAgain();
  PlanFaults();
  Start();
  while (checker_.problem().empty() && checker_.events() < options_.events) Step();
  Heal();
  const Time healed = ground_->timeline().now();
  const std::uint64_t most_events = checker_.events() + kHealedEventsAtMost;
  std::uint64_t events = checker_.progress();
  Time last = healed;
  while (checker_.problem().empty() && !finished_) {
    Step();
    const Time now = ground_->timeline().now();
    if (std::exchange(events, checker_.progress()) != checker_.progress()) last = now;
    if (now > healed + kHealedAtMost || now > last + kSilentAtMost ||
        checker_.events() > most_events)
      checker_.Say("the study does not come to its end");
  }
  Outcome outcome{.problem = checker_.problem(),
                  .state = DescribeState(),
                  .events = checker_.events(),
                  .digest = 0,
                  .end = ground_->timeline().now(),
                  .sights = sights_};
  outcome.sights["moved"] = checker_.moves();
  if (life_ != nullptr && life_->controller != nullptr) {
    outcome.digest = engine().Digest();
  }
  return outcome;
}

const Engine& FaultWorld::engine() const {
  return life_->alone != nullptr ? *life_->alone : life_->controller->engine();
}

const Study& FaultWorld::study() const { return *engine().study(kStudy); }

std::string FaultWorld::DescribeState() const {
  std::string text = created_.source;
  if (life_ == nullptr || life_->controller == nullptr) return text + "no controller\n";
  const Study& study = this->study();
  text += fmt::format("{}{}, {} of {} trials, asked {} answered {}\n", Name(study.ending),
                      study.finished ? ", finished" : "", study.trials.size(), study.trials_wanted,
                      study.asked, study.answered);
  for (const Trial& trial : study.trials) {
    if (trial.state != TrialState::kRunning && trial.state != TrialState::kWaiting) continue;
    text += fmt::format("trial {}.{} {} work {} of {}, leaving {} ({}), failures {}, seq {}, {}\n",
                        Number(trial.id), Number(trial.launch.id), Name(trial.state), trial.work,
                        trial.target, trial.leaving, static_cast<int>(trial.leave_reason),
                        trial.failures, trial.launch.seq, trial.note);
  }
  for (const std::string& worker : ground_->Living()) text += worker + "\n";
  return text;
}

void FaultWorld::Step() {
  try {
    if (ground_->timeline().empty()) return checker_.Say("nothing will ever happen again");
    ground_->timeline().Step();
    if (!ground_->problem().empty()) return checker_.Say(ground_->problem());
    for (const auto& [trial, work] : ground_->TakeAcknowledged()) {
      if (truthful_ && !ground_->program().careless) checker_.Told(trial, work);
    }
    if (life_ != nullptr) EndLife();
  } catch (const ControllerDied&) {
    See("died at a step");
    Bury(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
    StartLater();
  }
}

// A controller takes over, or tries to.
void FaultWorld::Start() {
  starting_ = false;
  if (life_ != nullptr || finished_) return;
  InterfereOffline();
  if (random_.Chance(0.3) && ground_->faults().clock_jump.count() > 0) {
    See("clock jumped");
    clock_offset_ = Duration(static_cast<std::int64_t>(random_.Below(2'000'000'000'000))) -
                    std::chrono::seconds(1'000'000);
  }
  life_ = std::make_unique<Life>(*this);
  std::vector<Node> nodes = ground_->nodes();
  if (ground_->faults().node_loss.count() > 0 && random_.Chance(0.1)) {
    // The new controller is told that a node is down. In fact the node may be up. Then the
    // controller still finds its processes.
    See("node overlooked");
    nodes[random_.Below(nodes.size())].up = false;
    ground_->timeline().After(Around(std::chrono::seconds(3)), [this] { NodesSeen(); });
  }
  std::vector<EventBody> first;
  if (std::exchange(exhausted_, false)) {
    See("exhausted");
    first.emplace_back(PointsEnqueued{kStudy, DrawPoints(20)});
  }
  StudyResumed resumed{kStudy, std::exchange(more_trials_, {}), std::exchange(new_deadline_, {})};
  if (Random edits = random_.Fork("edits").Fork(checker_.events());
      edits.Chance(ground_->faults().edit)) {
    See("edited");
    resumed.change = DrawChange(edits);
  }
  first.emplace_back(std::move(resumed));
  if (const Status opened = Open(*life_, nodes, std::move(first)); !opened) {
    See("did not start");
    // Full and failing disks recover after a while.
    if (++failed_starts_ > kFailedStartsAtMost)
      checker_.Say("no controller starts any more: " + opened.error().message);
    const bool died = disk_.dead();
    Bury(died ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
    StartLater();
  }
}

Status FaultWorld::Open(Life& life, const std::vector<Node>& nodes, std::vector<EventBody> first) {
  const std::uint64_t read_before = disk_.reads();
  SLUICE_ASSIGN(life.ledger, Ledger::Open(kStore, disk_.disk()));
  Database& database = life.ledger->database();
  if (ground_->faults().disk_error.count() > 0 && random_.Chance(0.1))
    SLUICE_TRY(DamageSnapshot(database));
  Controller::Parts parts;
  parts.last = life.ledger->last();
  SLUICE_ASSIGN(parts.engine,
                RecoverShared(database, Recover::kFromSnapshot, &parts.events_since_snapshot));
  // The study is alone unless an earlier controller has died.
  std::unique_ptr<Engine> alone;
  if (parts.engine->study(kStudy) == nullptr) {
    SLUICE_ASSIGN(alone, RecoverEngine(database, kStudy));
  }
  const Engine& recovered = alone != nullptr ? *alone : *parts.engine;
  // The checker's own reads must not fail.
  const std::uint64_t fails_read_at = disk_.fails_read_at();
  disk_.FailReadAt(MemoryDisk::kUnlimited);
  const std::uint64_t reads = disk_.reads();
  reads_to_start_ = reads - read_before;
  checker_.Recovered(*life.ledger, recovered, random_.Chance(0.01));
  if (fails_read_at >= reads && fails_read_at != MemoryDisk::kUnlimited)
    disk_.FailReadAt(fails_read_at + (disk_.reads() - reads));
  SLUICE_ASSIGN(auto knowledge, ReadKnowledge(database, *recovered.study(kStudy)));
  // Snapshots are frequent, so that restarts cost little. In one seed of ten they are rare, so that
  // restarts replay many events.
  parts.snapshot_every = options_.seed % 10 == 9 ? 10'000 : 50 + random_.Below(200);
  parts.observer = [this](const Event& event) {
    checker_.Applied(life_->controller->engine(), event);
    const auto* expired = std::get_if<LeaseExpired>(&event.body);
    if (expired != nullptr && ground_->SpeaksFor({expired->trial.trial, expired->launch}))
      checker_.Say("a worker that spoke was given up as silent");
    if (const auto* ended = std::get_if<LaunchEnded>(&event.body)) CheckEnding(*ended);
    if (std::holds_alternative<LaunchHung>(event.body)) See("hung in a bundle");
    if (std::holds_alternative<Profiled>(event.body)) See("measured");
  };
  SLUICE_ASSIGN(life.searcher.sampler,
                MakeSampler(created_.spec.sampler, created_.spec.space, created_.seed));
  life.controller = std::make_unique<Controller>(std::move(parts), life.site, life.committer);
  Controller::Driven driven{.study = kStudy,
                            .site = life.site,
                            .searcher = life.searcher,
                            .knowledge = std::move(knowledge)};
  life.site.Attach(*life.controller, kStudy, [this] { After(); });
  if (alone != nullptr) {
    life.controller->Open(std::move(driven), std::move(alone), nodes, {}, std::move(first));
  } else {
    life.controller->Add(std::move(driven));
    first.insert(first.begin(), ControllerStarted{nodes});
    life.controller->Begin(std::move(first));
  }
  life.site.Listen();
  failed_starts_ = 0;
  After();
  return {};
}

void FaultWorld::CheckEnding(const LaunchEnded& ended) {
  const LaunchFiles& files = ground_->FilesOf({ended.trial.trial, ended.launch});
  if (ended.ending == Ending::kDone && !files.begun)
    checker_.Say("a launch that no program has begun is recorded as done");
  if (ended.ending == Ending::kBundleLost) See("bundle lost");
  if (ended.ending == Ending::kReleased) See(ended.position.seq == 0 ? "turned away" : "released");
  // If a process carried several launches, its end says nothing about any one of them.
  const bool by_process =
      ended.position.seq == 0 && (ended.ending == Ending::kFailed || ended.ending == Ending::kDone);
  if (!by_process) return;
  for (const wire::LaunchRef& other : files.together) {
    const Trial* trial = life_->controller->engine().trial({kStudy, other.trial});
    if (other.trial != ended.trial.trial && trial != nullptr && trial->launch.id == other.launch &&
        trial->state == TrialState::kRunning)
      checker_.Say(fmt::format("the end of a process of several is taken for that of trial {}",
                               Number(ended.trial.trial)));
  }
}

// Damages the snapshots, or makes them look like those of another version of Sluice. Recovery must
// not need them, because a snapshot only saves time.
Status FaultWorld::DamageSnapshot(Database& database) {
  See("snapshot damaged");
  SLUICE_ASSIGN(Statement look, database.Prepare("SELECT state FROM snapshots"));
  SLUICE_ASSIGN(const bool found, look.Step());
  if (!found) return {};
  std::string state(look.Blob(0));
  look.Reset();
  state.resize(random_.Below(state.size() + 1));
  const std::string digest =
      random_.Chance(0.5) ? ToHex(Digest().Add(std::string_view(state)).Value()) : "0";
  SLUICE_ASSIGN(Statement damage, database.Prepare("UPDATE snapshots SET digest = ?, state = ?"));
  return damage.Bind(1, digest).BindBlob(2, state).Run();
}

std::vector<Point> FaultWorld::DrawPoints(std::size_t count) {
  std::vector<Point> points;
  while (points.size() < count) {
    auto point = created_.spec.space.Decode(AnyPoint());
    if (point) points.push_back(*std::move(point));
  }
  return points;
}

// Ends the controller's life. What its disk had not synced may be gone.
void FaultWorld::Bury(MemoryDisk::Unsynced unsynced) {
  ground_->SetListener(nullptr);
  checker_.InDoubt(life_->committer.TakeInFlight());
  life_->controller.reset();
  life_->ledger.reset();
  life_.reset();
  disk_.Crash(unsynced);
}

void FaultWorld::StartLater() {
  if (starting_) return;
  starting_ = true;
  ground_->timeline().After(Around(std::chrono::seconds(2)), [this] { Start(); });
}

// Called after each call into the controller. Does what the controller's loop would do next.
void FaultWorld::After() {
  Controller& controller = *life_->controller;
  controller.Flush();
  if (study().finished || controller.engine().IsHeld(study()))
    controller.workforce(kStudy).DismissIdle();
}

// Ends the controller's life if it is over.
void FaultWorld::EndLife() {
  Controller& controller = *life_->controller;
  if (controller.failure()) {
    See("gave up");
    Bury(MemoryDisk::Unsynced::kKept);
    return StartLater();
  }
  if (!controller.Over()) return;
  life_->alone = controller.Close(kStudy);
  const Batch last = controller.LastWords();
  if (!last.empty()) {
    const Status written = life_->ledger->Commit(last);
    if (!written) {
      checker_.InDoubt(last);
      Bury(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
      return StartLater();
    }
    checker_.Durable(last);
  }
  const Study& study = this->study();
  const bool finished = study.finished;
  See(finished ? "finished" : "drained");
  if (finished && healed_) {
    checker_.Finished(*life_->ledger, engine());
    for (const auto& [at, files] : ground_->launches()) {
      for (const std::string& line : files.spool) checker_.Spooled(line);
    }
    CheckEnd();
    finished_ = true;
    return;
  }
  if (finished) {
    // The study gets more trials, to go on until the world heals. It gets few if trials wait for
    // one another, or if the world heals soon, because then all of them must end. It gets none if
    // many are not made yet: then the study ended for another reason.
    const bool few =
        study.stopper->Gathers() || checker_.events() + kEventsBeforeHealing > options_.events;
    if (study.trials_wanted - study.proposed() < kUnmadeAtMost)
      more_trials_ = study.trials_wanted + (few ? 20 : 60);
    exhausted_ = study.exhausted;
    // Sometimes there are only as many more trials as points are enqueued at the next start.
    if (exhausted_ && random_.Chance(0.5)) more_trials_ = study.proposed() + 20;
    if (study.deadline != kNever) new_deadline_ = engine().now() + DrawDeadline();
  }
  Bury(MemoryDisk::Unsynced::kKept);
  StartLater();
}

// Draws how long a study that goes on has until its next deadline.
Duration FaultWorld::DrawDeadline() {
  return std::chrono::seconds(theme_ == Theme::kDeadlines ? 5 + random_.Below(20)
                                                          : 60 + random_.Below(600));
}

// Checks that all that is stored agrees, and that each complete trial got to its end.
void FaultWorld::CheckEnd() {
  const auto reader = Reader::Open(kStore, disk_.disk());
  if (!reader) return checker_.Say(reader.error().message);
  const auto stored = (*reader)->FindStudy("sim");
  if (!stored) return checker_.Say(stored.error().message);
  const auto findings = AuditStudy(**reader, *stored);
  if (!findings) return checker_.Say(findings.error().message);
  if (!findings->empty()) return checker_.Say("an audit says: " + findings->front());

  const Study& study = this->study();
  const ProgramTraits& program = ground_->program();
  if (program.has_timeout || program.endless || study.deadline != kNever || !truthful_) return;
  // A program that cannot leave messages in the spool may end before its last messages arrive.
  if (program.speaks && !program.counts) return;
  const Work end = std::min(program.own_end, study.spec.stopper.max_budget);
  for (const Trial& trial : study.trials) {
    if (trial.state == TrialState::kComplete && !trial.restarted && trial.work < end)
      checker_.Say(
          fmt::format("trial {} is complete at {} of {}", Number(trial.id), trial.work, end));
  }
}

}  // namespace sluice
