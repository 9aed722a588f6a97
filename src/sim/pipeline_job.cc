#include "sim/pipeline_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice {
namespace {

constexpr int kMostStages = 1024;
constexpr int kMostMicroBatches = 4096;
constexpr std::int64_t kMostPasses = 200'000;
constexpr Duration kLongestPass = std::chrono::hours(24);

std::vector<PipelineSchedule::Pass> OrderOf(int stage, int stages, int micro_batches) {
  std::vector<PipelineSchedule::Pass> order;
  int forward = 0;
  int backward = 0;
  const auto add = [&](int& number, bool is_backward) {
    order.push_back({.micro_batch = number++, .backward = is_backward});
  };
  // The last stage turns to backward passes after one forward pass.
  while (forward < std::min(micro_batches, stages - stage)) add(forward, false);
  while (backward < micro_batches) {
    add(backward, true);
    if (forward < micro_batches) add(forward, false);
  }
  return order;
}

Status CheckTimes(const PipelineSpec& spec, const std::vector<Duration>& times,
                  std::string_view what) {
  if (times.size() != static_cast<std::size_t>(spec.stages)) {
    return InvalidArgument(fmt::format("{}: expected one for each of {} stages, found {}", what,
                                       spec.stages, times.size()));
  }
  if (!std::ranges::all_of(
          times, [](Duration time) { return time > Duration(0) && time <= kLongestPass; }))
    return InvalidArgument(fmt::format("{}: expected times above 0 and within a day", what));
  return {};
}

}  // namespace

Result<PipelineSchedule> PipelineSchedule::Make(PipelineSpec spec) {
  if (spec.stages < 1 || spec.stages > kMostStages) {
    return InvalidArgument(
        fmt::format("stages: expected 1 to {}, found {}", kMostStages, spec.stages));
  }
  if (spec.micro_batches < 1 || spec.micro_batches > kMostMicroBatches) {
    return InvalidArgument(fmt::format("micro_batches: expected 1 to {}, found {}",
                                       kMostMicroBatches, spec.micro_batches));
  }
  if (static_cast<std::int64_t>(spec.stages) * spec.micro_batches > kMostPasses) {
    return InvalidArgument(
        fmt::format("expected at most {} stages times micro-batches, found {}", kMostPasses,
                    static_cast<std::int64_t>(spec.stages) * spec.micro_batches));
  }
  SLUICE_TRY(CheckTimes(spec, spec.forward, "forward"));
  SLUICE_TRY(CheckTimes(spec, spec.backward, "backward"));
  for (const Duration time : {spec.transfer, spec.update}) {
    if (time < Duration(0) || time > kLongestPass)
      return InvalidArgument("transfer and update: expected times from 0 to a day");
  }
  spec.free_bytes.resize(static_cast<std::size_t>(spec.stages),
                         spec.free_bytes.empty() ? 0 : spec.free_bytes.back());
  PipelineSchedule schedule(std::move(spec));
  schedule.Run();
  schedule.FindWindows();
  return schedule;
}

// Goes over the stages again and again. Each stage does the passes that have their inputs.
// Every round does at least one pass, since the dependencies of 1F1B have no cycle.
void PipelineSchedule::Run() {
  const auto stages = static_cast<std::size_t>(spec_.stages);
  const auto batches = static_cast<std::size_t>(spec_.micro_batches);
  constexpr Duration kNotYet = Duration::min();
  std::vector<std::vector<Duration>> forward_done(stages, std::vector(batches, kNotYet));
  auto backward_done = forward_done;
  std::vector<std::size_t> next(stages, 0);
  std::vector<Duration> free_at(stages, Duration(0));
  for (std::size_t s = 0; s < stages; ++s)
    passes_.push_back(OrderOf(static_cast<int>(s), spec_.stages, spec_.micro_batches));

  const auto ready = [&](std::size_t s, const Pass& pass) -> Duration {
    const auto batch = static_cast<std::size_t>(pass.micro_batch);
    if (pass.backward && s + 1 == stages) return forward_done[s][batch];
    if (!pass.backward && s == 0) return Duration(0);
    const Duration done = pass.backward ? backward_done[s + 1][batch] : forward_done[s - 1][batch];
    return done == kNotYet ? kNotYet : done + spec_.transfer;
  };
  std::size_t left = stages * batches * 2;
  while (left > 0) {
    const std::size_t before = left;
    for (std::size_t s = 0; s < stages; ++s) {
      while (next[s] < passes_[s].size()) {
        Pass& pass = passes_[s][next[s]];
        const Duration begin = ready(s, pass);
        if (begin == kNotYet) break;
        pass.begins = std::max(begin, free_at[s]);
        pass.ends = pass.begins + (pass.backward ? spec_.backward[s] : spec_.forward[s]);
        const auto batch = static_cast<std::size_t>(pass.micro_batch);
        (pass.backward ? backward_done : forward_done)[s][batch] = pass.ends;
        free_at[s] = pass.ends;
        ++next[s];
        --left;
      }
    }
    SLUICE_CHECK(left < before, "a pipeline's passes do not wait for each other in a circle");
  }
  step_ = std::ranges::max(free_at) + spec_.update;
}

void PipelineSchedule::FindWindows() {
  for (int stage = 0; stage < spec_.stages; ++stage) {
    const std::vector<Pass>& order = passes(stage);
    const auto add = [&](Duration opens, Duration closes) {
      if (closes > opens) {
        windows_.push_back({.stage = stage,
                            .opens = opens,
                            .closes = closes,
                            .free_bytes = spec_.free_bytes[static_cast<std::size_t>(stage)]});
      }
    };
    for (std::size_t i = 1; i < order.size(); ++i) add(order[i - 1].ends, order[i].begins);
    add(order.back().ends + spec_.update, step_ + order.front().begins);
  }
}

double PipelineSchedule::idle_share(int stage) const {
  double idle_s = 0;
  for (const BubbleWindow& window : windows_) {
    if (window.stage == stage) idle_s += Seconds(window.length());
  }
  return idle_s / Seconds(step_);
}

double PipelineSchedule::usable_share(int stage, Duration segment) const {
  double used_s = 0;
  for (const BubbleWindow& window : windows_) {
    const Duration open = window.length() - spec_.gate;
    if (window.stage != stage || open <= Duration(0)) continue;
    used_s += segment > Duration(0) ? Seconds(segment) * static_cast<double>(open / segment)
                                    : Seconds(open);
  }
  return used_s / Seconds(step_);
}

double PipelineSchedule::bubble_share() const {
  double idle_s = 0;
  for (const BubbleWindow& window : windows_) idle_s += Seconds(window.length());
  return idle_s / (Seconds(step_) * spec_.stages);
}

}  // namespace sluice
