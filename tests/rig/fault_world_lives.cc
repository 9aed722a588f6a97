// The lives of controllers in a world, and how studies come and go.

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "ledger/recovery.h"
#include "rig/fault_life.h"
#include "rig/fault_world.h"

namespace sluice {
namespace {

constexpr int kFailedStartsAtMost = 50;
constexpr std::uint64_t kEventsBeforeHealing = 1500;
constexpr int kUnmadeAtMost = 200;
constexpr Duration kSoon = std::chrono::seconds(2);  // on average

}  // namespace

// Puts the first study on disk before anything reads it, although the disk may fail or die in the
// first attempts.
void FaultWorld::CreateStudyAgainAndAgain() {
  FaultTenant& first = *tenants_.front();
  const bool fails = ground().faults().disk_error.count() > 0;
  const bool dies = ground().faults().power_cut.count() > 0;
  for (int tries = 0; tries < 20; ++tries) {
    const bool faulty = tries < 4;
    if (fails && faulty) disk_.FailAt(disk_.operations() + random_.Below(60));
    if (fails && faulty) disk_.FailReadAt(disk_.reads() + random_.Below(40));
    if (dies && faulty) disk_.DieAt(disk_.operations() + random_.Below(60));
    const Status created = WithPen([&](Ledger& ledger) { return CreateStudy(first, ledger); });
    disk_.DieAt(MemoryDisk::kUnlimited);
    disk_.FailReadAt(MemoryDisk::kUnlimited);
    first.is_written = created.has_value();
    if (created) return;
    See("not created");
  }
  checker_.Say("the study could not be created");
}

Status FaultWorld::CreateStudy(const FaultTenant& tenant, Ledger& ledger) {
  // An earlier attempt may have committed the batch and then died.
  Look([&] { checker_.TakeUp(ledger); });
  const StudyId id = tenant.id();
  if (tenant.checker->shadow().study(id) != nullptr) return {};
  Engine engine;
  Batch batch;
  batch.study = id;
  std::vector<EventBody> bodies = {tenant.created};
  if (const std::vector<Point> points = DrawPoints(tenant, random_.Fork("knowledge").Below(4));
      !points.empty()) {
    KnowledgeGiven known{.study = id, .source = "study 'before'", .trials = {}};
    for (const Point& point : points)
      known.trials.push_back({.point = point, .work = 9, .value = 1});
    bodies.emplace_back(std::move(known));
  }
  const StudySpec& spec = tenant.created.spec;
  const bool fuses = spec.demand.fused_most > 1;
  if (Random drawn = random_.Fork("measured"); drawn.Chance(fuses ? 0.3 : 0.1)) {
    const bool too_many = drawn.Fork("too many").Chance(0.2);  // more trials than the study fuses
    const Measurement measured{.situation = {.shape = spec.name,
                                             .kind = "A100",
                                             .fused = too_many ? 20
                                                      : fuses  ? 2
                                                               : 1},
                               .bytes = static_cast<std::int64_t>(1 + drawn.Below(40)) << 30,
                               .work_per_second = 0.01 + drawn.Uniform()};
    bodies.emplace_back(MeasurementsGiven{id, "study 'before'", {measured}});
  }
  std::uint64_t seq = Number(ledger.last());
  for (EventBody& body : bodies) {
    batch.events.emplace_back(EventSeq(++seq),
                              Event{timeline_.now() + clock_offset_, std::move(body)});
    (void)engine.Apply(batch.events.back().second);
  }
  batch.studies.push_back(RowOf(*engine.study(id)));
  const Status written = ledger.Commit(batch);
  if (!written) {
    checker_.InDoubt(std::move(batch));
    return written;
  }
  checker_.Durable(batch);
  return {};
}

std::vector<Point> FaultWorld::DrawPoints(const FaultTenant& tenant, std::size_t count) {
  std::vector<Point> points;
  while (points.size() < count) {
    auto point = tenant.created.spec.space.Decode(AnyPoint(tenant));
    if (point) points.push_back(*std::move(point));
  }
  return points;
}

// The command line writes with a ledger of its own, while no controller lives or the controller
// lends its pen.
Status FaultWorld::WithPen(const std::function<Status(Ledger&)>& write) {
  const auto open_and_write = [&]() -> Status {
    SLUICE_ASSIGN(const auto ledger, Ledger::Open(kStore, disk_.disk()));
    return write(*ledger);
  };
  const Status written = open_and_write();
  if (life_ == nullptr) {
    if (!written)
      disk_.Crash(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
    return written;
  }
  See("pen lent");
  if (disk_.dead()) throw ControllerDied{};
  if (const Status taken = life_->ledger->TakeUp(); !taken) {
    GiveUp();
    return taken;
  }
  Look([&] { checker_.TakeUp(*life_->ledger); });
  life_->controller->GoOnAfter(life_->ledger->last());
  return written;
}

// A controller takes over, or tries to.
void FaultWorld::Start() {
  starting_ = false;
  if (life_ != nullptr || std::ranges::all_of(tenants_, &FaultTenant::over)) return;
  InterfereOffline();
  if (random_.Chance(0.3) && ground().faults().clock_jump.count() > 0) {
    See("clock jumped");
    clock_offset_ = Duration(static_cast<std::int64_t>(random_.Below(2'000'000'000'000))) -
                    std::chrono::seconds(1'000'000);
  }
  life_ = std::make_unique<Life>(*this);
  std::vector<Node> nodes = ground().nodes();
  if (ground().faults().node_loss.count() > 0 && random_.Chance(0.1)) {
    // The new controller is told that a node is down. In fact the node may be up. Then the
    // controller still finds its processes.
    See("node overlooked");
    nodes[random_.Below(nodes.size())].up = false;
    timeline_.After(Around(std::chrono::seconds(3)), [this] { NodesSeen(); });
  }
  if (const Status begun = Begin(*life_, nodes); !begun) {
    See("did not start");
    // Full and failing disks recover after a while.
    if (++failed_starts_ > kFailedStartsAtMost)
      checker_.Say("no controller starts any more: " + begun.error().message);
    return BuryAfterFailure();
  }
  if (!life_->lodgings.empty()) failed_starts_ = 0;
  TakeInAlone(nodes);
}

// Takes up the studies that were open when the last controller died.
Status FaultWorld::Begin(Life& life, const std::vector<Node>& nodes) {
  const std::uint64_t read_before = disk_.reads();
  SLUICE_ASSIGN(life.ledger, Ledger::Open(kStore, disk_.disk()));
  Database& database = life.ledger->database();
  if (ground().faults().disk_error.count() > 0 && random_.Chance(0.1))
    SLUICE_TRY(DamageSnapshot(database));
  Controller::Parts parts;
  parts.last = life.ledger->last();
  SLUICE_ASSIGN(parts.engine,
                RecoverShared(database, Recover::kFromSnapshot, &parts.events_since_snapshot));
  reads_to_start_ = disk_.reads() - read_before;
  CheckRecovered(*parts.engine);
  std::vector<FaultTenant*> open;
  for (const auto& study : parts.engine->studies()) open.push_back(&TenantOf(study->id));
  // Snapshots are frequent, so that restarts cost little. In one seed of ten they are rare, so that
  // restarts replay many events.
  parts.snapshot_every = options_.seed % 10 == 9 ? 10'000 : 50 + random_.Below(200);
  parts.observer = [this](const Event& event) { CheckEvent(event); };
  life.controller = std::make_unique<Controller>(std::move(parts), life.machine, life.committer);
  for (FaultTenant* const tenant : open) {
    SLUICE_ASSIGN(auto driven, Lodge(*tenant, StudyOf(*tenant)));
    life.controller->Add(std::move(driven));
  }
  if (!open.empty()) life.controller->Begin({ControllerStarted{nodes}});
  for (FaultTenant* const tenant : open) life.lodgings.at(tenant->id())->site.Listen();
  for (FaultTenant* const tenant : open) {
    // Its user resumes it. Otherwise it goes on as it was.
    if (options_.several && random_.Chance(0.5)) continue;
    for (EventBody& body : DrawFirst(*tenant)) life.controller->Happened(std::move(body));
  }
  After();
  return {};
}

// Lets the checker read, which must not fail.
void FaultWorld::Look(const std::function<void()>& look) {
  const std::uint64_t fails_read_at = disk_.fails_read_at();
  disk_.FailReadAt(MemoryDisk::kUnlimited);
  const std::uint64_t reads = disk_.reads();
  look();
  if (fails_read_at >= reads && fails_read_at != MemoryDisk::kUnlimited)
    disk_.FailReadAt(fails_read_at + (disk_.reads() - reads));
}

void FaultWorld::CheckRecovered(const Engine& engine) {
  Look([&] { checker_.Recovered(*life_->ledger, engine, random_.Chance(0.01)); });
}

Result<Controller::Driven> FaultWorld::Lodge(FaultTenant& tenant, const Study& study) {
  SLUICE_ASSIGN(auto knowledge, ReadKnowledge(life_->ledger->database(), study));
  auto lodging = std::make_unique<Life::Lodging>(*this, *life_, tenant);
  const StudyCreated& created = tenant.created;
  SLUICE_ASSIGN(lodging->searcher.sampler,
                MakeSampler(created.spec.sampler, created.spec.space, created.seed));
  lodging->site.Attach(*life_->controller);
  Controller::Driven driven{.study = tenant.id(),
                            .site = lodging->site,
                            .searcher = lodging->searcher,
                            .knowledge = std::move(knowledge)};
  life_->lodgings[tenant.id()] = std::move(lodging);
  return driven;
}

// The events with which its user goes on with a study.
std::vector<EventBody> FaultWorld::DrawFirst(FaultTenant& tenant) {
  std::vector<EventBody> first;
  if (std::exchange(tenant.exhausted, false)) {
    See("exhausted");
    first.emplace_back(PointsEnqueued{tenant.id(), DrawPoints(tenant, 20)});
  }
  StudyResumed resumed{tenant.id(), std::exchange(tenant.more_trials, {}),
                       std::exchange(tenant.new_deadline, {})};
  if (Random edits = random_.Fork("edits").Fork(checker_.events());
      edits.Chance(ground().faults().edit)) {
    See("edited");
    resumed.change = DrawChange(tenant, edits);
  }
  first.emplace_back(std::move(resumed));
  return first;
}

// Takes in the studies whose users need no time to come.
void FaultWorld::TakeInAlone(const std::vector<Node>& nodes) {
  for (const auto& tenant : tenants_) {
    if (tenant->over || tenant->comes || Drives(*tenant)) continue;
    if (!tenant->is_written) {
      ComeLater(*tenant, kSoon);
      continue;
    }
    TryToTakeIn(*tenant, nodes);
    if (life_ == nullptr) return;
  }
}

void FaultWorld::TryToTakeIn(FaultTenant& tenant, const std::vector<Node>& nodes) {
  const Status taken = TakeIn(tenant, nodes);
  if (disk_.dead()) throw ControllerDied{};
  if (taken) {
    failed_starts_ = 0;
    return See("came");
  }
  if (life_->controller->failure()) return GiveUp();
  See("did not come");
  if (++failed_starts_ > kFailedStartsAtMost)
    tenant.checker->Say("it is taken in no more: " + taken.error().message);
  ComeLater(tenant, kSoon);
}

// Takes in a study that is alone.
Status FaultWorld::TakeIn(FaultTenant& tenant, const std::vector<Node>& nodes) {
  SLUICE_TRY(Settle());
  const std::uint64_t read_before = disk_.reads();
  SLUICE_ASSIGN(auto alone, RecoverEngine(life_->ledger->database(), tenant.id()));
  reads_to_start_ += disk_.reads() - read_before;
  CheckRecovered(*alone);
  SLUICE_ASSIGN(auto driven, Lodge(tenant, *alone->study(tenant.id())));
  life_->controller->Open(std::move(driven), std::move(alone), nodes, DrawHidden(nodes),
                          DrawFirst(tenant));
  life_->lodgings.at(tenant.id())->site.Listen();
  if (life_->lodgings.size() > 1) See("came beside others");
  return Settle();
}

// In a world of several studies, some cannot see all devices. Each sees at least one.
std::vector<std::string> FaultWorld::DrawHidden(const std::vector<Node>& nodes) {
  std::vector<std::string> all;
  for (const Node& node : nodes) {
    for (const Device& device : node.devices) all.push_back(device.uuid);
  }
  if (!options_.several || all.size() < 2 || random_.Chance(0.5)) return {};
  See("hidden");
  return {all[random_.Below(all.size())]};
}

void FaultWorld::ComeLater(FaultTenant& tenant, Duration mean) {
  tenant.comes = true;
  timeline_.After(Around(mean), [this, &tenant] { Come(tenant); });
}

// The study's user hands it over.
void FaultWorld::Come(FaultTenant& tenant) {
  tenant.comes = false;
  if (life_ != nullptr && life_->drains) return ComeLater(tenant, kSoon);  // to the next controller
  if (life_ != nullptr && !Settle()) {
    ComeLater(tenant, kSoon);
    return GiveUp();
  }
  if (!tenant.is_written) {
    const Status created = WithPen([&](Ledger& ledger) { return CreateStudy(tenant, ledger); });
    if (!created) return ComeLater(tenant, kSoon);
    tenant.is_written = true;
  }
  if (life_ == nullptr) return Start();
  TryToTakeIn(tenant, ground().nodes());
}

// Brings all that is known to disk.
Status FaultWorld::Settle() {
  Controller& controller = *life_->controller;
  while (!controller.failure() && !controller.IsWritten()) {
    if (life_->committer.busy()) {
      life_->committer.Wait();
    } else {
      controller.Flush();
    }
  }
  if (controller.failure()) return std::unexpected(*controller.failure());
  return {};
}

// Called after each call into the controller. Does what the controller's loop would do next.
void FaultWorld::After() {
  Controller& controller = *life_->controller;
  controller.Flush();
  for (const auto& [id, lodging] : life_->lodgings) {
    const Study& study = *controller.engine().study(id);
    if (study.finished || controller.engine().IsHeld(study)) controller.workforce(id).DismissIdle();
  }
}

// Lets go of the studies that have nothing more to do. Ends the controller's life if none is left.
void FaultWorld::LetGo() {
  Controller& controller = *life_->controller;
  if (controller.failure()) return GiveUp();
  std::vector<FaultTenant*> gone;
  for (const auto& tenant : tenants_) {
    if (Drives(*tenant) && controller.IsIdle(tenant->id())) gone.push_back(tenant.get());
  }
  if (gone.empty() && !life_->lodgings.empty()) return;
  for (FaultTenant* const tenant : gone) {
    tenant->alone = controller.Close(tenant->id());
    life_->lodgings.erase(tenant->id());
    life_->interrupted.erase(tenant->id());
    if (!life_->lodgings.empty()) See("left others");
  }
  if (!Settle()) return GiveUp();
  for (FaultTenant* const tenant : gone) Gone(*tenant);
  if (life_->lodgings.empty()) Leave();
}

// The controller has let go of a study, and that is on disk.
void FaultWorld::Gone(FaultTenant& tenant) {
  const Study& study = *tenant.alone->study(tenant.id());
  const bool finished = study.finished;
  See(finished ? "finished" : "drained");
  if (std::ranges::any_of(study.trials, &Trial::restarted)) See("began again");
  if (finished && healed_) {
    checker_.Finished(*life_->ledger, *tenant.alone);
    for (const auto& [at, files] : tenant.ground->launches()) {
      for (const std::string& line : files.spool) tenant.checker->Spooled(line);
    }
    CheckEnd(tenant);
    tenant.over = true;
    return;
  }
  if (finished) {
    // The study gets more trials, to go on until the world heals. It gets few if trials wait for
    // one another, or if the world heals soon, because then all of them must end. It gets none if
    // many are not made yet: then the study ended for another reason.
    const bool few =
        study.stopper->Gathers() || checker_.events() + kEventsBeforeHealing > options_.events;
    if (study.trials_wanted - study.proposed() < kUnmadeAtMost)
      tenant.more_trials = study.trials_wanted + (few ? 20 : 60);
    tenant.exhausted = study.exhausted;
    // Sometimes there are only as many more trials as points are enqueued at the next start.
    if (study.exhausted && random_.Chance(0.5)) tenant.more_trials = study.proposed() + 20;
    if (study.deadline != kNever) tenant.new_deadline = tenant.alone->now() + DrawDeadline();
  }
  ComeLater(tenant, kSoon);
}

// The controller has no study any more.
void FaultWorld::Leave() {
  const Batch last = life_->controller->LastWords();
  if (!last.empty()) {
    if (!life_->ledger->Commit(last)) {
      checker_.InDoubt(last);
      return BuryAfterFailure();
    }
    checker_.Durable(last);
  }
  Bury(MemoryDisk::Unsynced::kKept);
}

// The disk has failed, and the controller leaves.
void FaultWorld::GiveUp() {
  See("gave up");
  Bury(MemoryDisk::Unsynced::kKept);
  StartLater();
}

void FaultWorld::BuryAfterFailure() {
  Bury(disk_.dead() ? MemoryDisk::Unsynced::kDrawn : MemoryDisk::Unsynced::kKept);
  StartLater();
}

// Ends the controller's life. What its disk had not synced may be gone.
void FaultWorld::Bury(MemoryDisk::Unsynced unsynced) {
  checker_.InDoubt(life_->committer.TakeInFlight());
  life_->controller.reset();
  life_->ledger.reset();
  life_.reset();
  disk_.Crash(unsynced);
}

void FaultWorld::StartLater() {
  if (starting_) return;
  starting_ = true;
  timeline_.After(Around(kSoon), [this] { Start(); });
}

// Draws how long a study that goes on has until its next deadline.
Duration FaultWorld::DrawDeadline() {
  return std::chrono::seconds(theme_ == Theme::kDeadlines ? 5 + random_.Below(20)
                                                          : 60 + random_.Below(600));
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

}  // namespace sluice
