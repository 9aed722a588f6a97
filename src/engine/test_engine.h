#pragma once

// For tests: an engine on a machine of its own. A test gives it events one by one.

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "policy/policy.h"

namespace sluice {

constexpr StudyId kStudy{1};

inline Time At(double seconds) { return Time(Duration(static_cast<std::int64_t>(seconds * 1e6))); }

// The text of a study: the lines that a test cares about, then the keys that every study needs.
inline std::string SourceOf(const std::string& lines) {
  std::string text = lines;
  if (!text.empty() && text.back() != '\n') text += '\n';
  const auto add = [&](const std::string& key, const std::string& line) {
    if (lines.find(key + ":") == std::string::npos) text += line + "\n";
  };
  add("program", "program: train {args}");
  add("space", "space: {lr: {float: [0, 1]}}");
  add("objective", "objective: {minimize: loss}");
  return text;
}

inline StudySpec SpecOf(const std::string& lines, const std::string& name = "test") {
  auto spec = ReadStudy(SourceOf(lines), name, name);
  SLUICE_CHECK(spec.has_value(), spec ? "" : spec.error().message.c_str());
  return *std::move(spec);
}

inline std::unique_ptr<Engine> NewEngine() { return std::make_unique<Engine>(); }

inline Node NodeOf(Milli cpus, int gpus = 0) {
  Node node{.name = "here", .cpus = cpus, .devices = {}};
  for (int i = 0; i < gpus; ++i) {
    node.devices.push_back(
        {.uuid = fmt::format("gpu-{}", i), .kind = "H200", .memory_bytes = 1 << 30});
  }
  return node;
}

// A command as a line of text, which a test compares with, and prints when it fails.
inline std::string Describe(const Command& command) {
  struct Visitor {
    std::string operator()(const Propose& c) const {
      if (IsSet(c.fork))
        return fmt::format("propose fork {} of {}", Number(c.fork), Number(c.parent));
      return fmt::format("propose {}", c.counter);
    }
    std::string operator()(const CopyCheckpoint& c) const {
      return fmt::format("copy {} to {}", Number(c.from), Number(c.to));
    }
    std::string operator()(const Start& c) const {
      std::string devices;
      for (DeviceId device : c.grant.devices) devices += fmt::format(" gpu{}", Number(device));
      const std::string target = c.target == kNoLimit ? "end" : fmt::format("{}", c.target);
      return fmt::format("start {}.{} {}..{}{}", Number(c.trial.trial), Number(c.launch), c.work,
                         target, devices);
    }
    std::string operator()(const SetBudget& c) const {
      return fmt::format("budget {}.{} {}", Number(c.trial.trial), Number(c.launch), c.target);
    }
    std::string operator()(const StopLaunch& c) const {
      static constexpr std::array kWhy = {"complete", "stopped", "paused", "yield",
                                          "study",    "timeout", "lease",  "drain"};
      return fmt::format("stop {}.{} {}", Number(c.trial.trial), Number(c.launch),
                         kWhy[static_cast<std::size_t>(c.reason)]);
    }
    std::string operator()(const Evict& c) const {
      return fmt::format("evict {}", Number(c.trial.trial));
    }
    std::string operator()(const WakeAt& c) const {
      return fmt::format("wake {}", static_cast<double>(Micros(c.time)) / 1e6);
    }
    std::string operator()(const StudyFinished&) const { return "finished"; }
  };
  return std::visit(Visitor{}, command);
}

inline std::vector<std::string> Describe(const std::vector<Command>& commands) {
  std::vector<std::string> lines;
  for (const Command& command : commands) lines.push_back(Describe(command));
  return lines;
}

// One study in one engine. Every call is one event at the time `now`. It returns the commands that
// the event causes.
class TestEngine {
 public:
  using Lines = std::vector<std::string>;

  explicit TestEngine(const std::string& study, Node node = NodeOf(2 * kWhole))
      : node_(std::move(node)) {
    created_ = {.study = kStudy,
                .source = SourceOf(study),
                .folder = "/",
                .seed = 1,
                .spec = SpecOf(study)};
    engine_ = NewEngine();
    Happen(created_);
    Happen(ControllerStarted{{node_}});
  }

  template <typename Body>
  Lines Happen(Body body) {
    history_.push_back({At(now), std::move(body)});
    return Describe(engine_->Apply(history_.back()));
  }

  Lines Propose(std::uint64_t counter, double x = 0.5) {
    return Happen(Proposed{kStudy, counter, Point{x}});
  }
  // The first n proposals.
  void Propose(int n) {
    for (int i = 0; i < n; ++i) Propose(static_cast<std::uint64_t>(i));
  }
  Lines Report(int trial, Work work, double loss) {
    return Report(trial, work, Metrics{{"loss", loss}});
  }
  Lines Report(int trial, Work work, Metrics metrics) {
    return Happen(MakeReport(trial, work, std::move(metrics)));
  }
  Reported MakeReport(int trial, Work work, Metrics metrics) {
    return {.trial = Key(trial),
            .launch = Trial(trial).launch.id,
            .position = Next(trial),
            .work = work,
            .metrics = std::move(metrics)};
  }
  Lines End(int trial, Ending ending = Ending::kDone, std::string reason = "",
            std::int64_t bytes = -1) {
    return Happen(LaunchEnded{.trial = Key(trial),
                              .launch = Trial(trial).launch.id,
                              .position = {},
                              .ending = ending,
                              .reason = std::move(reason),
                              .checkpoint_bytes = bytes});
  }
  Lines Save(int trial, Work work, std::int64_t bytes) {
    return Happen(CheckpointSaved{.trial = Key(trial),
                                  .launch = Trial(trial).launch.id,
                                  .position = Next(trial),
                                  .work = work,
                                  .bytes = bytes});
  }
  Lines Expire(int trial) { return Happen(LeaseExpired{Key(trial), Trial(trial).launch.id}); }
  Lines Wake() { return Happen(Woken{}); }
  Lines Drain() { return Happen(DrainAsked{}); }
  Lines Restart() { return Happen(ControllerStarted{{node_}}); }
  Lines Retry(int trial) { return Happen(RetryAsked{Key(trial)}); }
  Lines Enqueue(std::vector<Point> points) {
    return Happen(PointsEnqueued{kStudy, std::move(points)});
  }

  static TrialKey Key(int trial) { return {kStudy, TrialId(static_cast<std::uint32_t>(trial))}; }
  const sluice::Trial& Trial(int trial) const { return *engine_->trial(Key(trial)); }
  TrialState State(int trial) const { return Trial(trial).state; }
  const sluice::Study& Study() const { return *engine_->study(kStudy); }
  Engine& engine() { return *engine_; }
  const StudyCreated& created() const { return created_; }
  const std::vector<Event>& history() const { return history_; }
  Position Next(int trial) const { return {.seq = Trial(trial).launch.seq + 1, .offset = 0}; }

  double now = 0;  // seconds

 private:
  Node node_;
  StudyCreated created_;
  std::vector<Event> history_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sluice
