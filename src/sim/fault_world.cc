#include "sim/fault_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/check.h"
#include "ledger/recovery.h"
#include "search/sampler.h"

namespace sluice {
namespace {

constexpr StudyId kStudy{1};
constexpr const char* kStore = "/sim.db";
constexpr Duration kProposalAtMost = std::chrono::milliseconds(50);
// What a healed world may take to end its study, and between two events of it. A worker that hangs or
// is slow may hold it up for its time-outs, not for ever.
constexpr Duration kHealedAtMost = std::chrono::hours(24 * 3);
constexpr Duration kSilentAtMost = std::chrono::minutes(15);
constexpr std::uint64_t kHealedEventsAtMost = 100'000;
constexpr int kFailedStartsAtMost = 50;

template <typename T>
T OneOf(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.Below(values.size())];
}

}  // namespace

// Everything that dies with a controller.
struct FaultWorld::Life {
  // Commits on the simulated disk, after a while; a while later the controller hears of it.
  class DiskCommitter final : public Committer {
   public:
    DiskCommitter(FaultWorld& world, Life& life) : world_(world), life_(life) {}
    bool busy() const override { return busy_; }
    void Submit(Batch batch) override {
      busy_ = true;
      batch_ = std::move(batch);
      life_.Later(world_.sync_, [this] { Write(); });
    }
    Batch TakeInFlight() { return std::move(batch_); }

   private:
    void Write() {
      Status written = life_.ledger->Commit(batch_);
      if (world_.disk_.dead()) throw ControllerDied{};
      if (written) world_.checker_.Durable(std::exchange(batch_, {}));
      life_.Later(Duration(100), [this, written = std::move(written)] {
        busy_ = false;
        life_.controller->Committed(written);
        world_.After();
      });
    }
    FaultWorld& world_;
    Life& life_;
    bool busy_ = false;
    Batch batch_;
  };

  // The real sampler, which takes its time.
  class SlowSearcher final : public Searcher {
   public:
    SlowSearcher(FaultWorld& world, Life& life) : world_(world), life_(life) {}
    void Observe(Observation observation) override { sampler->Observe(observation); }
    void Ask(std::uint64_t counter) override {
      Answer({.counter = counter, .point = sampler->Propose(counter), .fork = {}});
    }
    void AskFork(TrialId fork, std::function<Point()> explore) override {
      Answer({.counter = 0, .point = explore(), .fork = fork});
    }
    std::unique_ptr<Sampler> sampler;

   private:
    void Answer(SearchAnswer answer) {
      life_.InTurn(last_, kProposalAtMost, [this, answer = std::move(answer)] {
        life_.controller->Answered(answer);
        world_.After();
      });
    }
    FaultWorld& world_;
    Life& life_;
    Time last_{};
  };

  explicit Life(FaultWorld& world)
      : timeline(world.ground_->timeline()),
        random(world.random_.Fork(world.random_.Next())),
        site(*world.ground_, world.checker_, world.clock_offset_),
        committer(world, *this),
        searcher(world, *this) {}
  ~Life() {
    for (const Timeline::Id plan : plans) timeline.Cancel(plan);
  }

  void Later(Duration at_most, std::function<void()> what) {
    Time last{};
    InTurn(last, at_most, std::move(what));
  }
  // Not before what was planned before.
  void InTurn(Time& last, Duration at_most, std::function<void()> what) {
    const auto delay =
        static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(at_most.count()) + 1));
    last = std::max(last, timeline.now() + Duration(delay));
    const auto id = std::make_shared<Timeline::Id>(0);
    *id = timeline.At(last, [this, id, what = std::move(what)] {
      plans.erase(*id);
      what();
    });
    plans.insert(*id);
  }

  Timeline& timeline;
  Random random;
  std::set<Timeline::Id> plans;
  std::unique_ptr<Ledger> ledger;
  FaultSite site;
  DiskCommitter committer;
  SlowSearcher searcher;
  std::unique_ptr<Controller> controller;
  bool interrupted = false;
};

FaultWorld::FaultWorld(const Options& options)
    : options_(options),
      random_(Random(options.seed).Fork("fault world")),
      disk_({.seed = options.seed, .lies_about_sync = false}) {
  created_ = {.study = kStudy, .source = "", .folder = "/", .seed = options.seed, .spec = {}};
  created_.spec = DrawStudy();
  Random drawn = random_.Fork("machines");
  FaultGround::Options ground{.random = Random(options.seed),
                              .faults = DrawFaults(random_.Fork("faults")),
                              .program = {},
                              .nodes = {},
                              .study = "sim",
                              .coarse = drawn.Chance(0.3)};
  ground.program.speaks = drawn.Chance(0.8);
  ground.program.reuse = ground.program.speaks && drawn.Chance(0.5);
  ground.program.hasty = ground.program.reuse && drawn.Chance(0.2);
  ground.program.stubborn = drawn.Chance(0.1);
  ground.program.endless = !ground.program.speaks && drawn.Chance(0.3);
  ground.program.save = drawn.Uniform();
  ground.program.own_end = static_cast<Work>(10 + drawn.Below(40));
  ground.program.step =
      Duration(static_cast<std::int64_t>(50'000 * std::pow(8.0, drawn.Uniform())));
  ground.program.grace = created_.spec.timeouts.grace;
  ground.program.has_timeout =
      created_.spec.timeouts.report.count() > 0 || created_.spec.timeouts.trial.count() > 0;
  for (std::uint64_t left = 1 + drawn.Below(3); left > 0; --left) {
    Node node{.name = fmt::format("node{}", left),
              .cpus = static_cast<Milli>(2 + drawn.Below(6)) * kWhole,
              .devices = {}};
    for (std::uint64_t gpu = 0; gpu < 1 + drawn.Below(4); ++gpu) {
      node.devices.push_back({.uuid = fmt::format("{}-{}", node.name, gpu),
                              .kind = "A100",
                              .memory_bytes = std::int64_t{40} << 30});
    }
    ground.nodes.push_back(std::move(node));
  }
  ground_ = std::make_unique<FaultGround>(std::move(ground));
  sync_ = Duration(static_cast<std::int64_t>(2000 * std::pow(1000.0, drawn.Uniform())));
}

FaultWorld::~FaultWorld() { life_.reset(); }

// One draw in each call: compilers differ in which argument they work out first.
StudySpec FaultWorld::DrawStudy() {
  Random drawn = random_.Fork("study");
  const auto& samplers = SamplerNames();
  const auto& stoppers = StopperNames();
  const std::string& sampler = samplers[drawn.Below(samplers.size())];
  const std::string& stopper = stoppers[drawn.Below(stoppers.size())];
  const bool maximizes = drawn.Chance(0.3);
  std::string text = fmt::format("program: train {{args}}\nobjective: {{{}: loss}}\n",
                                 maximizes ? "maximize" : "minimize");
  text += fmt::format("trials: {}\nsampler: {}\n", 30 + drawn.Below(100), sampler);
  std::string options;
  for (const std::string& option : StopperOptions(stopper)) {
    if (option == "min_delta" || drawn.Chance(0.5)) continue;
    const std::uint64_t number = 1 + drawn.Below(option == "percentile" ? 60 : 4);
    options += fmt::format(", {}: {}{}", option, option == "quantile" ? "0." : "", number);
  }
  text += fmt::format("stopper: {{name: {}{}}}\n", stopper, options);
  text += sampler == "grid"
              ? fmt::format("space: {{n: {{int: [1, {}]}}, c: {{choice: [a, b, c]}}}}\n",
                            drawn.Chance(0.5) ? 20 : 400)
              : "space: {lr: {float: [0.001, 1], log: true}, n: {int: [1, 9]}}\n";
  if (drawn.Chance(0.2)) text += "constraints: [n != 2]\n";
  if (NeedsMaxBudget(stopper) || drawn.Chance(stopper == "none" ? 0.5 : 0.9)) {
    const std::uint64_t least = 1 + drawn.Below(3);
    const std::uint64_t eta = 2 + drawn.Below(3);
    std::uint64_t most = 9 + drawn.Below(20);
    // People like powers, and logarithms do not.
    if (drawn.Chance(0.4)) {
      most = least * eta * eta * eta;
      while (most < 250 && drawn.Chance(0.8)) most *= eta;
    }
    text += fmt::format("budget: {{min: {}, max: {}, eta: {}}}\n", least, most, eta);
  }
  if (drawn.Chance(0.3)) text += fmt::format("parallelism: {}\n", 1 + drawn.Below(8));
  if (drawn.Chance(0.5)) text += "resources: {cpus: 0.5, gpus: 0.5}\n";
  text += fmt::format("timeouts: {{lease: {}s", 2 + drawn.Below(10));
  text += fmt::format(", grace: {}s", 1 + drawn.Below(5));
  if (drawn.Chance(0.3)) text += ", trial: 90s";
  if (drawn.Chance(0.3)) text += ", report: 20s";
  text += "}\n";
  if (drawn.Chance(0.3)) text += fmt::format("checkpoint_cap: {}\n", 100 + drawn.Below(1000));
  if (drawn.Chance(0.1)) text += fmt::format("stop_at: {{loss: {}}}\n", maximizes ? 2.0 : 0.01);
  if (drawn.Chance(0.2)) {
    text += drawn.Chance(0.2) ? "deadline: 1970-01-01T00:05:00Z\n"
                              : fmt::format("deadline: {}s\n", 60 + drawn.Below(600));
  }
  text += fmt::format("retries: {}\n", drawn.Below(3));
  text += fmt::format("backoff: {}s\n", 1 + drawn.Below(5));
  created_.source = text;
  auto spec = ReadStudy(text, "sim", "sim");
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  return *std::move(spec);
}

Duration FaultWorld::Around(Duration mean) {
  const double drawn = -std::log(1 - random_.Uniform()) * static_cast<double>(mean.count());
  return Duration(static_cast<std::int64_t>(drawn) + 1);
}

void FaultWorld::Plan(Duration FaultPlan::* mean, void (FaultWorld::*what)()) {
  const Duration between = ground_->faults().*mean;
  if (between.count() == 0) return;
  ground_->timeline().After(Around(between), [this, mean, what] {
    if (healed_) return;
    (this->*what)();
    Plan(mean, what);
  });
}

void FaultWorld::PlanFaults() {
  Plan(&FaultPlan::controller_crash, &FaultWorld::CrashController);
  Plan(&FaultPlan::power_cut, &FaultWorld::CutPower);
  Plan(&FaultPlan::disk_full, &FaultWorld::FillDisk);
  Plan(&FaultPlan::disk_error, &FaultWorld::BreakDisk);
  Plan(&FaultPlan::node_loss, &FaultWorld::LoseNode);
  Plan(&FaultPlan::user, &FaultWorld::Interfere);
  Plan(&FaultPlan::stranger, &FaultWorld::Knock);
  Plan(&FaultPlan::suspend, &FaultWorld::Suspend);
}

// The study is on disk before anything looks at it, whatever happens to whoever makes it.
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
  SLUICE_ASSIGN(auto policy, MakePolicy(created_.spec.policy));
  Engine engine(std::move(policy));
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
  for (const auto& [seq, event] : batch.events) (void)engine.Apply(event);
  batch.studies.push_back(RowOf(*engine.study(kStudy)));
  // Whoever made it before may have died between its end and our hearing of it.
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
  if (life_ != nullptr && life_->controller != nullptr) {
    outcome.digest = life_->controller->engine().Digest();
  }
  return outcome;
}

std::string FaultWorld::DescribeState() const {
  std::string text = created_.source;
  if (life_ == nullptr || life_->controller == nullptr) return text + "no controller\n";
  const Study& study = life_->controller->study();
  text += fmt::format("{}{}, {} of {} trials, asked {} answered {}\n", Name(study.ending),
                      study.finished ? ", finished" : "", study.trials.size(), study.trials_wanted,
                      study.asked, study.answered);
  for (const Trial& trial : study.trials) {
    if (trial.state != TrialState::kRunning && trial.state != TrialState::kWaiting) continue;
    text += fmt::format("trial {}.{} {} work {} of {}, leaving {} ({}), failures {}, seq {}, {}\n",
                        Number(trial.id), Number(trial.launch), Name(trial.state), trial.work,
                        trial.target, trial.leaving, static_cast<int>(trial.leave_reason),
                        trial.failures, trial.seq, trial.note);
  }
  for (const std::string& worker : ground_->Living()) text += worker + "\n";
  return text;
}

void FaultWorld::Step() {
  try {
    if (ground_->timeline().empty()) return checker_.Say("nothing will ever happen again");
    ground_->timeline().Step();
    if (!ground_->problem().empty()) return checker_.Say(ground_->problem());
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
  if (random_.Chance(0.3) && ground_->faults().clock_jump.count() > 0) {
    See("clock jumped");
    clock_offset_ = Duration(static_cast<std::int64_t>(random_.Below(2'000'000'000'000))) -
                    std::chrono::seconds(1'000'000);
  }
  life_ = std::make_unique<Life>(*this);
  std::vector<Node> nodes = ground_->nodes();
  if (ground_->faults().node_loss.count() > 0 && random_.Chance(0.1)) {
    // It does not answer in time, and what runs there is found all the same.
    See("node overlooked");
    nodes[random_.Below(nodes.size())].up = false;
    ground_->timeline().After(Around(std::chrono::seconds(3)), [this] { NodesSeen(); });
  }
  std::vector<EventBody> first = {ControllerStarted{std::move(nodes)}};
  if (std::exchange(exhausted_, false)) {
    See("exhausted");
    first.emplace_back(PointsEnqueued{kStudy, DrawPoints(20)});
  }
  first.emplace_back(
      StudyResumed{kStudy, std::exchange(more_trials_, {}), std::exchange(new_deadline_, {})});
  if (const Status opened = Open(*life_, std::move(first)); !opened) {
    See("did not start");
    // Full and failing disks pass.
    if (++failed_starts_ > kFailedStartsAtMost)
      checker_.Say("no controller starts any more: " + opened.error().message);
    const bool died = disk_.dead();
    Bury(died ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
    StartLater();
  }
}

Status FaultWorld::Open(Life& life, std::vector<EventBody> first) {
  const std::uint64_t read_before = disk_.reads();
  SLUICE_ASSIGN(life.ledger, Ledger::Open(kStore, disk_.disk()));
  Database& database = life.ledger->database();
  if (ground_->faults().disk_error.count() > 0 && random_.Chance(0.1))
    SLUICE_TRY(DamageSnapshot(database));
  Controller::Parts parts;
  parts.study = kStudy;
  parts.last = life.ledger->last();
  SLUICE_ASSIGN(parts.engine, RecoverEngine(database, kStudy, Recover::kFromSnapshot,
                                            &parts.events_since_snapshot));
  // Whoever checks is not to fail.
  const std::uint64_t fails_read_at = disk_.fails_read_at();
  disk_.FailReadAt(MemoryDisk::kUnlimited);
  const std::uint64_t reads = disk_.reads();
  reads_to_start_ = reads - read_before;
  checker_.Recovered(*life.ledger, *parts.engine, std::exchange(in_flight_, {}),
                     random_.Chance(0.05));
  if (fails_read_at >= reads && fails_read_at != MemoryDisk::kUnlimited)
    disk_.FailReadAt(fails_read_at + (disk_.reads() - reads));
  SLUICE_ASSIGN(parts.knowledge, ReadKnowledge(database, *parts.engine->study(kStudy)));
  parts.snapshot_every = static_cast<std::int64_t>(100 + random_.Below(1000));
  parts.observer = [this](const Event& event) {
    checker_.Applied(life_->controller->engine(), event);
  };
  SLUICE_ASSIGN(life.searcher.sampler,
                MakeSampler(created_.spec.sampler, created_.spec.space, created_.seed));
  life.controller =
      std::make_unique<Controller>(std::move(parts), life.site, life.committer, life.searcher);
  life.site.Attach(*life.controller, [this] { After(); });
  life.controller->Begin(std::move(first));
  life.site.Listen();
  failed_starts_ = 0;
  After();
  return {};
}

// A snapshot only saves time: one that is not what it was, or that another Sluice has written, is
// no loss.
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

// The controller is no more. What its disk had not synced may be gone.
void FaultWorld::Bury(MemoryDisk::Unsynced unsynced) {
  ground_->SetListener(nullptr);
  // One that never came so far as to write leaves what the one before it wrote last.
  if (Batch batch = life_->committer.TakeInFlight(); !batch.empty()) in_flight_ = std::move(batch);
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

// The controller has been told something: it goes on as its loop would.
void FaultWorld::After() {
  Controller& controller = *life_->controller;
  controller.Flush();
  if (controller.study().finished || controller.engine().draining())
    controller.workforce().DismissIdle();
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
  const Batch last = controller.LastWords();
  if (!last.empty()) {
    const Status written = life_->ledger->Commit(last);
    if (!written) {
      in_flight_ = last;
      Bury(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
      return StartLater();
    }
    checker_.Durable(last);
  }
  const bool finished = controller.study().finished;
  See(finished ? "finished" : "drained");
  if (finished && healed_) {
    checker_.Finished(*life_->ledger, controller.engine());
    for (const auto& [at, files] : ground_->launches()) {
      for (const std::string& line : files.spool) checker_.Spooled(line);
    }
    finished_ = true;
    return;
  }
  if (finished) {
    more_trials_ = controller.study().trials_wanted + 20;
    exhausted_ = controller.study().exhausted;
    // No more than its users will have asked for themselves.
    if (exhausted_ && random_.Chance(0.5)) more_trials_ = controller.study().proposed() + 20;
    if (controller.study().deadline != kNever)
      new_deadline_ = controller.engine().now() + std::chrono::seconds(60 + random_.Below(600));
  }
  Bury(MemoryDisk::Unsynced::kKept);
  StartLater();
}

void FaultWorld::CrashController() {
  if (life_ == nullptr) return;
  const std::uint64_t how = random_.Below(3);
  if (how == 0) return disk_.DieAt(disk_.operations() + random_.Below(40));
  if (how == 1 && options_.unwinds) return life_->site.DieAfter(random_.Below(12));
  See("killed");
  Bury(MemoryDisk::Unsynced::kKept);
  StartLater();
}

void FaultWorld::CutPower() {
  See("power cut");
  ground_->LoseNode(0);
  (void)ground_->TakeLost();  // nobody lives who could be told
  ground_->BringBackNode(0);
  if (life_ != nullptr) Bury(MemoryDisk::Unsynced::kDrawn);
  StartLater();
}

void FaultWorld::FillDisk() {
  See("disk full");
  disk_.SetCapacity(disk_.used_bytes() + random_.Below(20'000));
  ground_->timeline().After(Around(std::chrono::seconds(5)),
                            [this] { disk_.SetCapacity(MemoryDisk::kUnlimited); });
}

void FaultWorld::BreakDisk() {
  See("disk error");
  if (random_.Chance(0.5)) return disk_.FailAt(disk_.operations() + random_.Below(20));
  // While a controller runs it reads little: most reads are those of one that takes over.
  if (life_ != nullptr && random_.Chance(0.5)) {
    Bury(MemoryDisk::Unsynced::kKept);
    StartLater();
  }
  disk_.FailReadAt(disk_.reads() + random_.Below(reads_to_start_ + 1));
}

void FaultWorld::LoseNode() {
  const std::size_t index = random_.Below(ground_->nodes().size());
  if (!ground_->nodes()[index].up) return;
  if (random_.Chance(0.5)) {
    See("node lost");
    ground_->LoseNode(index);
  } else {
    See("node cut off");
    ground_->CutOffNode(index);
  }
  ground_->timeline().After(Around(std::chrono::seconds(3)), [this] { NodesSeen(); });
  ground_->timeline().After(Around(std::chrono::seconds(20)), [this, index] {
    // Not before it was known to be gone.
    NodesSeen();
    ground_->BringBackNode(index);
    NodesSeen();
  });
}

// Whoever watches the nodes tells the controller.
void FaultWorld::NodesSeen() {
  const std::vector<std::string> lost = ground_->TakeLost();
  if (life_ == nullptr) return;
  life_->controller->Happened(NodesChanged{ground_->nodes()});
  life_->site.TellLost(lost);
  After();
}

TrialId FaultWorld::AnyTrial() {
  const auto& trials = life_->controller->study().trials;
  if (trials.empty() || random_.Chance(0.1)) return TrialId(random_.Chance(0.5) ? 0 : 1'000'000);
  std::size_t chosen = random_.Below(trials.size());
  // Most want to go on with what got far before it was stopped.
  for (int looks = 0; looks < 20; ++looks) {
    const std::size_t other = random_.Below(trials.size());
    if (trials[other].state == TrialState::kStopped && trials[other].work > trials[chosen].work)
      chosen = other;
  }
  return trials[chosen].id;
}

// Of the study's space, some of it, or nothing like it.
std::string FaultWorld::AnyPoint() {
  switch (random_.Below(8)) {
    case 0: return R"({"n": 3})";
    case 1: return R"({"n": 2})";
    case 2: return R"({"n": 100000})";
    case 3: return R"({"momentum": 0.9})";
    default: {
      std::vector<double> unit(created_.spec.space.size());
      for (double& coordinate : unit) coordinate = random_.Uniform();
      return created_.spec.space.Encode(created_.spec.space.FromUnit(unit));
    }
  }
}

// What users do.
void FaultWorld::Interfere() {
  if (life_ == nullptr) return;
  const auto ask = [&](const wire::Ask& question) {
    ground_->Ask(question, /*waits=*/random_.Chance(0.7), [this](const wire::Answer& answer) {
      See(answer.ok ? "user served" : "user refused");
    });
  };
  switch (random_.Below(7)) {
    case 0: return ask({.verb = "stop", .study = "sim", .trial = {}, .points = {}});
    case 1:
    case 2: return ask({.verb = "retry", .study = "sim", .trial = AnyTrial(), .points = {}});
    case 3: {
      std::vector<std::string> points = {AnyPoint()};
      if (random_.Chance(0.3)) points.push_back(AnyPoint());
      return ask({.verb = "enqueue", .study = "sim", .trial = {}, .points = std::move(points)});
    }
    case 4: return ask({.verb = "stop", .study = "another", .trial = {}, .points = {}});
    case 5: return ask({.verb = "dance", .study = "sim", .trial = {}, .points = {}});
    default: return Interrupt();
  }
}

void FaultWorld::Interrupt() {
  Controller& controller = *life_->controller;
  See("interrupted");
  if (life_->interrupted) {
    controller.workforce().KillAll();
  } else {
    controller.Happened(DrainAsked{});
    // The second word comes soon, or not at all.
    ground_->timeline().After(Around(std::chrono::milliseconds(100)), [this] {
      if (life_ != nullptr && life_->interrupted && !healed_ && random_.Chance(0.5)) Interrupt();
    });
  }
  life_->interrupted = true;
  After();
}

// Somebody who is not a worker of this study, or not the one it says it is.
void FaultWorld::Knock() {
  const std::vector<FaultWorker*> workers = ground_->Reachable();
  wire::Hello hello;
  hello.pid = 1;
  if (!workers.empty()) {
    const FaultWorker& worker = *workers[random_.Below(workers.size())];
    hello.worker = worker.name();
    hello.pid = worker.pid();
    hello.at = worker.at();
    hello.study = hello.at ? "sim" : "";
  }
  See("stranger");
  switch (random_.Below(9)) {
    case 0: return ground_->Knock({wire::Heartbeat{}});
    case 1: hello.version = wire::kVersion + 1; break;
    case 2: hello.study = "another"; break;
    case 3: ++hello.pid; break;
    case 4:
      ++hello.pid;
      hello.at.reset();
      break;
    case 5: hello.at = {TrialId(1'000'000), LaunchId(1)}; break;
    case 6: hello.at = workers.empty() ? std::nullopt : workers.front()->at(); break;
    case 7: return ground_->Knock({hello, wire::Ready{}});  // and cannot take another trial
    default:
      hello.worker = OneOf<const char*>(
          random_, {"", "7", "7.", "seven.1", "1.one", "0.1", "1.0", "7-2", "7.2.1", "1000000.1"});
  }
  ground_->Knock({hello});
}

// Nobody on the machine notices but by its clock.
void FaultWorld::Suspend() {
  if (life_ == nullptr) return;
  See("suspended");
  const auto duration = std::chrono::milliseconds(500 + random_.Below(60'000));
  clock_offset_ += duration;
  life_->site.Suspend(duration);
}

void FaultWorld::Heal() {
  healed_ = true;
  ground_->Heal();
  disk_.SetCapacity(MemoryDisk::kUnlimited);
  disk_.DieAt(MemoryDisk::kUnlimited);
  disk_.FailAt(MemoryDisk::kUnlimited);
  disk_.FailReadAt(MemoryDisk::kUnlimited);
  if (life_ != nullptr) {
    life_->site.DieAfter(UINT64_MAX);
    try {
      NodesSeen();
    } catch (const ControllerDied&) {
      SLUICE_CHECK(false, "a healed controller does not die");
    }
  }
}

}  // namespace sluice
