// Measures how many events a second the engine applies, in virtual time, on one core: a study of
// 100,000 trials on 64 GPUs under fifo. A simple driver here takes the place of the sampler and of
// the executor. The driver's own time is included.
//
//   build/bench/bin/engine_bench --benchmark_repetitions=5
//
// Study/STOPPER/REPORTS/TRIALS: the CPU time of whole studies, events a second, and a digest of the
// engine at the end. Kinds/...: the same studies, but each Apply is timed. It shows the median
// nanoseconds for each kind of event, less the cost of reading the clock. WithLedger/.../EVENTS:
// every event is also written to a ledger on a disk in memory, EVENTS events in each commit.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "policy/policy.h"
#include "rig/memory_disk.h"

namespace sluice {
namespace {

constexpr int kDevices = 64;
constexpr StudyId kStudy{1};

// A number in [0, 1) that looks like a random one, the same for the same trial.
double Draw(std::uint64_t number) {
  std::uint64_t x = (number + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

StudyCreated CreatedBy(const std::string& stopper, Work reports, int trials) {
  StudyCreated created{.study = kStudy,
                       .source = fmt::format("study: bench\n"
                                             "program: train {{args}}\n"
                                             "space: {{lr: {{float: [0, 1]}}}}\n"
                                             "objective: {{minimize: loss}}\n"
                                             "resources: {{cpus: 1, gpus: 1}}\n"
                                             "trials: {}\nstopper: {}\nbudget: {{max: {}}}\n",
                                             trials, stopper, reports),
                       .folder = "/",
                       .seed = 1,
                       .spec = {}};
  auto spec = ReadStudy(created.source, "bench", "bench");
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  created.spec = *std::move(spec);
  return created;
}

Node Machine() {
  Node node{.name = "n", .cpus = 2 * kDevices * kWhole, .devices = {}};
  for (int i = 0; i < kDevices; ++i)
    node.devices.push_back({.uuid = fmt::format("gpu-{}", i), .kind = "H200", .memory_bytes = 1});
  return node;
}

// The kinds of events that are timed separately.
enum Kind { kProposed, kReported, kEnded, kKinds };

using Times = std::array<std::vector<float>, kKinds>;  // nanoseconds

double Median(std::vector<float>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

// Writes events to a ledger as a controller does, `events` of them in each commit.
class Book {
 public:
  explicit Book(std::size_t events) : events_(events), disk_({}) {
    auto ledger = Ledger::Open("/bench.db", disk_.disk());
    SLUICE_CHECK(ledger.has_value(), "a ledger opens on a new disk");
    ledger_ = std::move(*ledger);
    batch_.study = kStudy;
  }

  void Write(Engine& engine, const Event& event) {
    batch_.events.emplace_back(EventSeq(++seq_), event);
    if (batch_.events.size() == events_) Commit(engine);
  }

  void Commit(Engine& engine) {
    for (const TrialKey& key : engine.TakeChanged()) {
      const Trial& trial = *engine.trial(key);
      batch_.trials.push_back(
          {key.study, trial, engine.study(key.study)->spec.space.Encode(trial.point)});
    }
    batch_.studies.push_back(RowOf(*engine.study(kStudy)));
    SLUICE_CHECK(ledger_->Commit(batch_).has_value(), "nothing disturbs the disk");
    batch_.events.clear();
    batch_.trials.clear();
    batch_.studies.clear();
  }

 private:
  std::size_t events_;
  MemoryDisk disk_;
  std::unique_ptr<Ledger> ledger_;
  Batch batch_;
  std::uint64_t seq_ = 0;
};

struct Wishes {
  Times* times = nullptr;             // gets the time of each event, if set
  Book* book = nullptr;               // gets the events, if set
  std::int64_t checkpoint_bytes = 0;  // left by each launch
};

// Drives an engine without faults. Proposals are answered at once. Each launch reports after every
// unit of work until it reaches its target. Events happen in order of time.
class Driver {
 public:
  explicit Driver(const StudyCreated& created, const Wishes& wishes = {})
      : engine_(std::move(*MakePolicy("fifo"))), wishes_(wishes) {
    report_.body = Reported{.trial = {},
                            .launch = {},
                            .position = {},
                            .work = 0,
                            .metrics = {{"loss", 0.0}, {"accuracy", 0.0}}};
    Happen({{}, created});
    Happen({{}, ControllerStarted{{Machine()}}});
  }

  void Run() {
    while (true) {
      if (!asked_.empty()) {
        const Propose asked = asked_.front();
        asked_.pop_front();
        Happen({now_, Proposed{asked.study, asked.counter, Point{Draw(asked.counter)}}}, kProposed);
      } else if (!launches_.empty()) {
        Advance();
      } else {
        break;
      }
      // A busy controller commits about this often, and takes the list of changed trials each time.
      if (events_ % 256 == 0 && wishes_.book == nullptr)
        benchmark::DoNotOptimize(engine_.TakeChanged());
    }
    if (wishes_.book != nullptr) wishes_.book->Commit(engine_);
    SLUICE_CHECK(engine_.study(kStudy)->finished, "the study is finished");
  }

  std::int64_t events() const { return events_; }
  const Engine& engine() const { return engine_; }

 private:
  struct Launch {
    Time next{};  // when it reports or ends
    TrialKey trial;
    LaunchId launch{};
    Work work = 0;
    Work target = 0;
    std::optional<StopReason> leaves{};
  };

  static bool Later(const Launch& a, const Launch& b) {
    return std::pair(a.next, a.trial) > std::pair(b.next, b.trial);
  }

  // Lets the launch whose turn is next report or leave.
  void Advance() {
    std::ranges::pop_heap(launches_, Later);
    current_ = launches_.back();
    launches_.pop_back();
    now_ = current_.next;
    if (current_.leaves) {
      const bool paused = current_.leaves == StopReason::kPaused;
      Happen({now_, LaunchEnded{.trial = current_.trial,
                                .launch = current_.launch,
                                .position = {},
                                .ending = paused ? Ending::kPaused : Ending::kDone,
                                .reason = {},
                                .checkpoint_bytes = wishes_.checkpoint_bytes}},
             kEnded);
      return;
    }
    ++current_.work;
    auto& report = std::get<Reported>(report_.body);
    const double quality = Draw(Number(current_.trial.trial));
    report_.time = now_;
    report.trial = current_.trial;
    report.launch = current_.launch;
    report.position.seq = static_cast<std::uint64_t>(current_.work);
    report.work = current_.work;
    report.metrics[0].second = quality + 1.0 / static_cast<double>(current_.work);
    report.metrics[1].second = 1 - quality;
    Happen(report_, kReported);
    current_.next += Duration(1'000'000 + static_cast<std::int64_t>(quality * 500'000));
    launches_.push_back(current_);
    std::ranges::push_heap(launches_, Later);
  }

  void Happen(const Event& event, Kind kind) {
    if (wishes_.times == nullptr) return Happen(event);
    ++events_;
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Command> commands = engine_.Apply(event);
    const auto end = std::chrono::steady_clock::now();
    (*wishes_.times)[kind].push_back(
        static_cast<float>(std::chrono::nanoseconds(end - begin).count()));
    CarryOut(commands);
  }
  void Happen(const Event& event) {
    ++events_;
    const std::vector<Command> commands = engine_.Apply(event);
    if (wishes_.book != nullptr) wishes_.book->Write(engine_, event);
    CarryOut(commands);
  }

  void CarryOut(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      if (const auto* start = std::get_if<Start>(&command)) {
        launches_.push_back({.next = now_ + std::chrono::seconds(1),
                             .trial = start->trial,
                             .launch = start->launch,
                             .work = start->work,
                             .target = start->target,
                             .leaves = {}});
        std::ranges::push_heap(launches_, Later);
      } else if (const auto* propose = std::get_if<Propose>(&command)) {
        asked_.push_back(*propose);
      } else if (const auto* budget = std::get_if<SetBudget>(&command)) {
        LaunchOf(budget->trial).target = budget->target;
      } else if (const auto* stop = std::get_if<StopLaunch>(&command)) {
        LaunchOf(stop->trial).leaves = stop->reason;
      }
    }
  }

  Launch& LaunchOf(TrialKey trial) {
    if (current_.trial == trial) return current_;
    const auto found = std::ranges::find(launches_, trial, &Launch::trial);
    SLUICE_CHECK(found != launches_.end(), "only what runs is commanded");
    return *found;
  }

  Engine engine_;
  Wishes wishes_;
  Event report_;
  Time now_{};
  std::int64_t events_ = 0;
  Launch current_;
  std::vector<Launch> launches_;  // a heap, the earliest in front
  std::deque<Propose> asked_;
};

StudyCreated CreatedBy(const benchmark::State& state, const std::string& stopper) {
  return CreatedBy(stopper, /*reports=*/state.range(0),
                   /*trials=*/static_cast<int>(state.range(1)));
}

void Study(benchmark::State& state, const std::string& stopper, std::int64_t checkpoint_bytes = 0) {
  const StudyCreated created = CreatedBy(state, stopper);
  std::int64_t events = 0;
  std::uint64_t digest = 0;
  while (state.KeepRunning()) {
    Driver driver(created, {.checkpoint_bytes = checkpoint_bytes});
    driver.Run();
    events = driver.events();
    state.PauseTiming();
    digest = driver.engine().Digest();
    state.ResumeTiming();
  }
  state.SetLabel(fmt::format("digest {}", ToHex(digest)));
  state.counters["events"] = static_cast<double>(events);
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

// The median time between two readings of the clock with nothing between them.
double ClockNanos() {
  std::vector<float> times(100'001);
  for (float& time : times) {
    const auto begin = std::chrono::steady_clock::now();
    time = static_cast<float>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  }
  return Median(times);
}

void Kinds(benchmark::State& state, const std::string& stopper) {
  const StudyCreated created = CreatedBy(state, stopper);
  const double clock_nanos = ClockNanos();
  Times times;
  while (state.KeepRunning()) Driver(created, {.times = &times}).Run();
  state.counters["proposed_ns"] = Median(times[kProposed]) - clock_nanos;
  state.counters["reported_ns"] = Median(times[kReported]) - clock_nanos;
  state.counters["ended_ns"] = Median(times[kEnded]) - clock_nanos;
}

// Arguments: reports of a trial, trials, events a commit.
void WithLedger(benchmark::State& state, const std::string& stopper) {
  const StudyCreated created = CreatedBy(state, stopper);
  std::int64_t events = 0;
  while (state.KeepRunning()) {
    Book book(static_cast<std::size_t>(state.range(2)));
    Driver driver(created, {.book = &book});
    driver.Run();
    events += driver.events();
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

// Arguments: reports of a trial that is not stopped early, trials.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int reports : {10, 20}) benchmark->Args({reports, 100'000});
  benchmark->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(Study, none, "none")->Apply(Sizes);
BENCHMARK_CAPTURE(Study, asha, "asha")->Apply(Sizes);
BENCHMARK_CAPTURE(Study, asha_promotion, "asha-promotion")->Apply(Sizes);
// Each launch leaves a checkpoint. The cap has room for a hundred of them, so older ones are
// evicted.
BENCHMARK_CAPTURE(Study, asha_promotion_saving, "asha-promotion", 100LL << 20)->Apply(Sizes);
BENCHMARK_CAPTURE(Study, hyperband, "hyperband")->Apply(Sizes);
BENCHMARK_CAPTURE(Study, median, "median")->Apply(Sizes);
BENCHMARK_CAPTURE(Kinds, none, "none")->Apply(Sizes);
BENCHMARK_CAPTURE(Kinds, asha, "asha")->Apply(Sizes);
BENCHMARK_CAPTURE(WithLedger, none, "none")
    ->Args({10, 2'000, 1})
    ->Args({10, 10'000, 16})
    ->Args({10, 10'000, 256})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice
