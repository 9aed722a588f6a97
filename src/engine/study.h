#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/cluster.h"
#include "search/sampler.h"
#include "search/stopper.h"
#include "space/point_part.h"
#include "space/space.h"

namespace sluice {

enum class Direction { kMinimize, kMaximize };

// Which report of a trial is its result: to samplers, stoppers, whoever asks for the best trial, and in
// exports.
enum class Of { kBest, kLast };

struct Objective {
  std::string metric;
  Direction direction = Direction::kMinimize;
  Of of = Of::kBest;
  // Turned so that smaller is better, as samplers and stoppers want it.
  double Loss(double value) const { return direction == Direction::kMinimize ? value : -value; }
};

// End the study once a trial reports a metric at least this good.
struct StopAt {
  std::string metric;
  double threshold = 0;
  Direction direction = Direction::kMinimize;
  bool Reached(double value) const {
    return direction == Direction::kMinimize ? value <= threshold : value >= threshold;
  }
};

struct Timeouts {
  Duration trial{0};   // of one launch; 0: none
  Duration report{0};  // between two reports of a launch, or start and the first; 0: none
  Duration grace = std::chrono::seconds(10);  // between SIGTERM and SIGKILL
  Duration lease = std::chrono::seconds(60);  // a worker silent for longer is dead
};

// A budget so large that no trial reaches it.
constexpr Work kMaxBudget = 1'000'000'000'000;

// What only a study that was written as a sweep of W&B has.
struct SweepSpec {
  // The keys, outermost first, of each parameter inside another; its name joins them with dots.
  std::map<std::string, std::vector<std::string>> paths;
  // Parameters whose choices are JSON texts, since some are lists, maps or null.
  std::set<std::string> structured;
  bool real_wandb = false;  // trials import the package itself, not what stands in for it
};

// Trials of an earlier study that the sampler is to know of before it proposes anything. Where they
// are is only written down here: reading them is left to whoever makes the study.
struct WarmStart {
  enum class Missing { kSkip, kFill, kRefuse };  // trials without one of our parameters

  std::string study;                       // may be empty with `optuna`: the only one there
  std::string store;                       // another store than our own
  std::string optuna;                      // or an Optuna file
  std::optional<int> best;                 // so many of them; nothing: all
  std::map<std::string, std::string> map;  // their names of parameters to ours
  Missing missing = Missing::kSkip;
};

// What a short run of one trial, alone on a device of this kind, has shown.
struct KindProfile {
  std::string kind;
  double seconds_per_unit = 0;  // of work; 0: not said
};

// The network that the program trains. What the file says of it is right as a text; whether the network fits is for those
// to say who read networks.
struct ModelSpec {
  std::string network;  // an archive of torch.export, seen from the study file, or zoo:NAME
  std::string loss = "returned";  // a function of what the network returns, or that itself
  double scale = 1;               // so much narrower is the network that is tuned
};

// Everything a study file says. Made by ReadStudy; what it does not say has its default here.
struct StudySpec {
  std::string name;
  std::vector<std::string> program;  // with {templates}
  std::map<std::string, std::string> environment;
  Space space;
  Objective objective;
  SamplerSpec sampler;
  StopperSpec stopper;
  std::string policy = "fifo";
  std::string unit = "epoch";
  int trials = 0;
  std::vector<StopAt> stop_at;
  std::optional<Duration> deadline_after;  // since the study was made
  std::optional<Time> deadline_at;
  int parallelism = 0;  // 0: as many as fit
  double weight = 1;    // of its part of the devices, beside those of other studies
  Demand demand;
  std::vector<KindProfile> profile;
  std::optional<ModelSpec> model;
  std::string transfer;  // the study whose best its trials are, and nothing else; empty: none
  Timeouts timeouts;
  int retries = 1;
  int max_failures = 0;  // so many trials that failed for good end the study; 0: see Engine
  Duration backoff = std::chrono::seconds(1);  // before the first retry; doubles
  std::optional<std::uint64_t> seed;
  std::int64_t output_cap_bytes = 16 << 20;        // of each launch
  std::int64_t checkpoint_cap_bytes = 10LL << 30;  // of all trials together
  std::optional<SweepSpec> sweep;
  bool endless = false;            // the file sets no end, so `trials` is the most there can be
  std::vector<std::string> notes;  // what the file says that has no effect
  std::vector<PointPart> enqueue;  // points to try first
  std::optional<WarmStart> warm_start;
};

// Reads a study, or a sweep of W&B (sweep_reader.h), from YAML text. `file` is what messages call it
// ("study.yaml:12: lr: expected ..."). A study without a name takes `default_name`. Everything the
// text can say wrongly is said here, all of it at once, one message a line; a spec that is returned
// can be run, unless its constraints leave no point (new_study.h). At most 1 MiB.
Result<StudySpec> ReadStudy(std::string_view text, std::string_view file,
                            std::string_view default_name);

// Names become folders: letters, digits, '.', '_' and '-', at most 100, not starting with '.' or
// '-'.
Status CheckStudyName(std::string_view name);
// The nearest name to a text that a study may have; "" if there is none.
std::string StudyNameOf(std::string_view text);

}  // namespace sluice
