#include "rig/fault_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "ledger/audit.h"
#include "ledger/reader.h"
#include "rig/fault_life.h"

namespace sluice {
namespace {

constexpr int kPageBytes = 1024;  // small, since a commit takes time for each page that it touches
// The longest time that a healed world may take to end its studies, and the longest silence between
// two events. A worker that hangs or is slow may delay a study until its time-outs, not for ever.
constexpr Duration kHealedAtMost = std::chrono::hours(24 * 3);
constexpr Duration kSilentAtMost = std::chrono::minutes(15);
constexpr std::uint64_t kHealedEventsAtMost = 100'000;
constexpr Duration kComesWithin = std::chrono::seconds(20);  // on average

}  // namespace

FaultWorld::FaultWorld(const Options& options)
    : options_(options),
      random_(Random(options.seed).Fork("fault world")),
      theme_(DrawTheme(random_.Fork("theme"))),
      disk_({.seed = options.seed, .page_bytes = kPageBytes}) {
  DrawTenants();
}

FaultWorld::~FaultWorld() { life_.reset(); }

void FaultWorld::DrawTenants() {
  const std::uint64_t count = options_.several ? 2 + random_.Fork("tenants").Below(3) : 1;
  std::vector<Node> nodes;
  for (std::uint64_t number = 1; number <= count; ++number) {
    // The first study of a world is the only one of the world with one study.
    const bool is_first = number == 1;
    TenantDraws draws{.random = is_first ? random_ : random_.Fork("tenant").Fork(number),
                      .ground = Random(options_.seed),
                      .seed = options_.seed + number - 1,
                      .id = StudyId(static_cast<std::uint32_t>(number)),
                      .name = is_first ? "sim" : fmt::format("sim{}", number),
                      .theme = theme_,
                      .bundles = options_.bundles,
                      .more = ""};
    if (!is_first) draws.ground = draws.ground.Fork("tenant").Fork(number);
    if (options_.several)
      draws.more = fmt::format("weight: {}\n", 1 + draws.random.Fork("weight").Below(3));
    Duration sync{0};
    auto tenant = DrawTenant(draws, timeline_, nodes, sync);
    if (is_first) sync_ = sync;
    tenant->checker = &checker_.Watch(draws.id, options_.several ? draws.name : "");
    if (tenant->ground->faults().unlike > 0) tenant->checker->AllowMixedBundles();
    if (tenant->truthful) tenant->checker->SetOwnEnd(tenant->ground->program().own_end);
    tenants_.push_back(std::move(tenant));
  }
}

FaultWorld::Outcome FaultWorld::Run() {
  CreateStudyAgainAndAgain();
  PlanFaults();
  for (const auto& tenant : tenants_) {
    if (!tenant->is_written) ComeLater(*tenant, kComesWithin);
  }
  timeline_.After(Duration(0), [this] { Start(); });
  while (checker_.problem().empty() && checker_.events() < options_.events) Step();
  Heal();
  const Time healed = timeline_.now();
  const std::uint64_t most_events = checker_.events() + kHealedEventsAtMost;
  std::uint64_t events = checker_.progress();
  Time last = healed;
  while (checker_.problem().empty() && !std::ranges::all_of(tenants_, &FaultTenant::over)) {
    Step();
    const Time now = timeline_.now();
    if (std::exchange(events, checker_.progress()) != checker_.progress()) last = now;
    if (now > healed + kHealedAtMost || now > last + kSilentAtMost ||
        checker_.events() > most_events)
      checker_.Say("a study does not come to its end");
  }
  Outcome outcome{.problem = checker_.problem(),
                  .state = DescribeState(),
                  .events = checker_.events(),
                  .digest = 0,
                  .end = timeline_.now(),
                  .sights = sights_};
  outcome.sights["moved"] = checker_.moves();
  Digest digest;
  for (const auto& tenant : tenants_) {
    if (tenant->alone != nullptr) digest.Add(tenant->alone->Digest());
  }
  outcome.digest = digest.Value();
  return outcome;
}

bool FaultWorld::Drives(const FaultTenant& tenant) const {
  return life_ != nullptr && life_->lodgings.contains(tenant.id());
}

const Study& FaultWorld::StudyOf(const FaultTenant& tenant) const {
  return *life_->controller->engine().study(tenant.id());
}

std::string FaultWorld::DescribeState() const {
  std::string text;
  for (const auto& tenant : tenants_) text += Describe(*tenant);
  return text;
}

std::string FaultWorld::Describe(const FaultTenant& tenant) const {
  std::string text = tenant.created.source;
  if (tenant.over) return text + "over\n";
  if (!Drives(tenant))
    return text + (tenant.comes ? "alone, and its user comes\n" : "no controller\n");
  const Study& study = StudyOf(tenant);
  text += fmt::format("{}{}{}, {} of {} trials, asked {} answered {}\n", Name(study.ending),
                      study.finished ? ", finished" : "", study.paused ? ", paused" : "",
                      study.trials.size(), study.trials_wanted, study.asked, study.answered);
  for (const Trial& trial : study.trials) {
    if (trial.state != TrialState::kRunning && trial.state != TrialState::kWaiting) continue;
    text += fmt::format("trial {}.{} {} work {} of {}, leaving {} ({}), failures {}, seq {}, {}\n",
                        Number(trial.id), Number(trial.launch.id), Name(trial.state), trial.work,
                        trial.target, trial.leaving, static_cast<int>(trial.leave_reason),
                        trial.failures, trial.launch.seq, trial.note);
  }
  for (const std::string& worker : tenant.ground->Living()) text += worker + "\n";
  return text;
}

void FaultWorld::Step() {
  try {
    if (timeline_.empty()) return checker_.Say("nothing will ever happen again");
    timeline_.Step();
    for (const auto& tenant : tenants_) {
      if (!tenant->ground->problem().empty())
        return tenant->checker->Say(tenant->ground->problem());
      for (const auto& [trial, work] : tenant->ground->TakeAcknowledged()) {
        if (tenant->truthful && !tenant->ground->program().careless)
          tenant->checker->Told(trial, work);
      }
    }
    if (life_ != nullptr) LetGo();
  } catch (const ControllerDied&) {
    See("died at a step");
    BuryAfterFailure();
  }
}

void FaultWorld::CheckEvent(const Event& event) {
  const Engine& engine = life_->controller->engine();
  checker_.Applied(engine, event);
  if (std::holds_alternative<LaunchHung>(event.body)) See("hung in a bundle");
  if (std::holds_alternative<Profiled>(event.body)) See("measured");
  const auto runs = [](const auto& study) { return !study->running.empty(); };
  if (options_.several && std::ranges::count_if(engine.studies(), runs) > 1) See("shared");
  if (const auto* expired = std::get_if<LeaseExpired>(&event.body)) {
    const FaultTenant& tenant = TenantOf(expired->trial.study);
    if (tenant.ground->SpeaksFor({expired->trial.trial, expired->launch}))
      tenant.checker->Say("a worker that spoke was given up as silent");
  }
  if (const auto* ended = std::get_if<LaunchEnded>(&event.body))
    CheckEnding(TenantOf(ended->trial.study), *ended);
}

void FaultWorld::CheckEnding(const FaultTenant& tenant, const LaunchEnded& ended) {
  const LaunchFiles& files = tenant.ground->FilesOf({ended.trial.trial, ended.launch});
  if (ended.ending == Ending::kDone && !files.begun)
    tenant.checker->Say("a launch that no program has begun is recorded as done");
  if (ended.ending == Ending::kBundleLost) See("bundle lost");
  if (ended.ending == Ending::kReleased) See(ended.position.seq == 0 ? "turned away" : "released");
  // If a process carried several launches, its end says nothing about any one of them.
  const bool by_process =
      ended.position.seq == 0 && (ended.ending == Ending::kFailed || ended.ending == Ending::kDone);
  if (!by_process) return;
  for (const wire::LaunchRef& other : files.together) {
    const Trial* trial = life_->controller->engine().trial({tenant.id(), other.trial});
    if (other.trial != ended.trial.trial && trial != nullptr && trial->launch.id == other.launch &&
        trial->state == TrialState::kRunning)
      tenant.checker->Say(
          fmt::format("the end of a process of several is taken for that of trial {}",
                      Number(ended.trial.trial)));
  }
}

// Checks that all that is stored agrees, and that each complete trial got to its end.
void FaultWorld::CheckEnd(const FaultTenant& tenant) {
  const auto reader = Reader::Open(kStore, disk_.disk());
  if (!reader) return tenant.checker->Say(reader.error().message);
  const auto stored = (*reader)->FindStudy(tenant.name());
  if (!stored) return tenant.checker->Say(stored.error().message);
  const auto findings = AuditStudy(**reader, *stored);
  if (!findings) return tenant.checker->Say(findings.error().message);
  if (!findings->empty()) return tenant.checker->Say("an audit says: " + findings->front());

  const Study& study = *tenant.alone->study(tenant.id());
  const ProgramTraits& program = tenant.ground->program();
  if (program.has_timeout || program.endless || study.deadline != kNever || !tenant.truthful)
    return;
  // A program that cannot leave messages in the spool may end before its last messages arrive.
  if (program.speaks && !program.counts) return;
  const Work end = std::min(program.own_end, study.spec.stopper.max_budget);
  for (const Trial& trial : study.trials) {
    if (trial.state == TrialState::kComplete && !trial.restarted && trial.work < end)
      tenant.checker->Say(
          fmt::format("trial {} is complete at {} of {}", Number(trial.id), trial.work, end));
  }
}

}  // namespace sluice
