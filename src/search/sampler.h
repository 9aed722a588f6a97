#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "space/space.h"

namespace sluice {

// The state of a trial, as far as a sampler needs it. kPaused: the trial runs again only if its
// stopper resumes it.
enum class Outcome { kRunning, kComplete, kStopped, kFailed, kPaused };

// What a sampler is told about a trial. Values of a metric that is maximised come negated, so that
// smaller is better. NaN is the worst.
struct Observation {
  TrialId trial{};
  Point point = {};
  Outcome outcome = Outcome::kRunning;
  Work work = 0;     // that the trial has reported so far
  double value = 0;  // the trial's result; NaN when nothing was reported
  // The trial's value when it passed each of the levels (SamplerSpec::levels). Empty for a trial of
  // an earlier study, of which only the last value is known.
  std::vector<double> by_level = {};
};

// Proposes points. A sampler lives outside the engine, and only one thread uses it at a time. A
// proposal becomes an event, so a replay never asks the sampler again. The counter numbers the
// proposals of a study from 0. Together with the seed and the observations, the counter determines
// the proposal. So a restart continues the same sequence.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Returns nothing once the space is exhausted (grid), also for every later counter.
  virtual std::optional<Point> Propose(std::uint64_t counter) = 0;
  virtual void Observe(const Observation& observation) = 0;
};

// Trials of earlier studies (warm_start) are observed with ids from here on.
constexpr TrialId kFirstKnownTrial{1U << 31};

struct SamplerSpec {
  std::string name = "tpe";
  // tpe and bohb: the work at which trials are compared, rising, the full budget included.
  // ReadStudy derives the levels from the stopper. Empty: trials are compared at their ends.
  std::vector<Work> levels = {};
};

// All samplers, in the order in which they are listed to users.
const std::vector<std::string>& SamplerNames();

// Whether a sampler's proposals depend on what it observes.
bool Learns(std::string_view sampler);

// Fails on an unknown name (suggesting the nearest), and if sampler and space do not go together:
// grid with a continuous parameter, or with more than 2^53 points.
Result<std::unique_ptr<Sampler>> MakeSampler(const SamplerSpec& spec, const Space& space,
                                             std::uint64_t seed);

}  // namespace sluice
