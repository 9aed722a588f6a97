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
#include "policy/policy_table.h"
#include "recipe/recipe.h"
#include "search/sampler.h"
#include "search/stopper.h"
#include "space/point_part.h"
#include "space/space.h"

namespace sluice {

enum class Direction { kMinimize, kMaximize };

// Which report of a trial is its result, for samplers, stoppers, exports and the choice of the best
// trial.
enum class Of { kBest, kLast };

struct Objective {
  std::string metric;
  Direction direction = Direction::kMinimize;
  Of of = Of::kBest;
  // The value with its sign chosen so that smaller is better, as samplers and stoppers need it.
  double Loss(double value) const { return direction == Direction::kMinimize ? value : -value; }
};

// The study ends once a trial reports a value of this metric that is at least this good.
struct StopAt {
  std::string metric;
  double threshold = 0;
  Direction direction = Direction::kMinimize;
  bool Reached(double value) const {
    return direction == Direction::kMinimize ? value <= threshold : value >= threshold;
  }
};

struct Timeouts {
  Duration trial{0};   // the longest that a launch may run; 0: no limit
  Duration report{0};  // the longest from a start or report to the next report; 0: no limit
  // The time between asking a worker to leave and SIGTERM, and again between SIGTERM and SIGKILL. A
  // program that cannot be asked gets SIGTERM immediately.
  Duration grace = std::chrono::seconds(10);
  Duration lease = std::chrono::seconds(60);  // a worker silent for longer is dead
};

// A budget so large that no trial reaches it.
constexpr Work kMaxBudget = 1'000'000'000'000;

// What only studies have that were written as W&B sweeps.
struct SweepSpec {
  // The keys of each nested parameter, outermost first. The parameter's name is these keys, joined
  // with dots.
  std::map<std::string, std::vector<std::string>> paths;
  // Parameters whose choices are kept as JSON texts, since some choices are lists, maps or null.
  std::set<std::string> structured;
  bool real_wandb = false;  // trials import the real wandb package, not its stand-in
};

// Trials of an earlier study that the sampler is to know of before it proposes anything. This
// struct only says where these trials are. The code that makes the study reads them.
struct WarmStart {
  enum class Missing { kSkip, kFill, kRefuse };  // for trials that lack one of our parameters

  std::string study;        // may be empty with `optuna`, if the file has only one study
  std::string store;        // the store to read; empty: the store of the new study
  std::string optuna;       // an Optuna file to read instead of a store
  std::optional<int> best;  // use only so many of the best trials; not set: use all
  std::map<std::string, std::string> map;  // from the earlier study's parameter names to ours
  Missing missing = Missing::kSkip;
};

// What a short run of one trial, alone on a device of this kind, has shown.
struct KindProfile {
  std::string kind;
  double seconds_per_unit = 0;  // seconds per unit of work; 0: not stated
};

// The network that the program trains. The reader checks only the text of this section. The command
// line reads the network itself and checks that it fits (cli/inspect/study_model.cc).
struct ModelSpec {
  std::string network;  // zoo:NAME, or a torch.export archive: a path relative to the study file
  // A function of the network's first output and the targets; "returned": the output is the loss.
  std::string loss = "returned";
  double scale = 1;  // the network that is tuned is narrower by this factor
};

// Everything a study file says. Made by ReadStudy; what the file does not say has its default here.
struct StudySpec {
  std::string name;
  std::vector<std::string> program;  // with {templates}; empty if `training` is there
  std::map<std::string, std::string> environment;
  Space space;
  Objective objective;
  SamplerSpec sampler;
  StopperSpec stopper;
  std::string policy{kDefaultPolicy};
  std::string unit = "epoch";
  int trials = 0;
  std::vector<StopAt> stop_at;
  std::optional<Duration> deadline_after;  // counted from when the study was made
  std::optional<Time> deadline_at;
  int parallelism = 0;  // 0: as many as fit
  double weight = 1;    // the study's share of the devices, relative to other studies
  Demand demand;
  // The names of the parameters that determine a trial's shape: trials that agree in all of them
  // have the same shape. Empty: all trials have the same shape.
  std::vector<std::string> shape;
  // The same for parameters of which only that matters whether they are active.
  std::vector<std::string> shape_by_presence;
  std::vector<KindProfile> profile;
  std::optional<ModelSpec> model;  // of a program; what `training` trains is in its settings
  // What sluice-trainer trains in place of a program. Paths are as in the file, relative to the
  // study's folder. The seed is not in it (TrainingOf).
  std::optional<recipe::Recipe> training;
  // The study whose best point this study trains. This study then trains nothing else. Empty: none.
  std::string transfer;
  Timeouts timeouts;
  int retries = 1;
  int max_failures = 0;  // after so many failed trials the study ends; 0: see Judge::CountOver
  Duration backoff = std::chrono::seconds(1);  // before the first retry; doubles with each retry
  std::optional<std::uint64_t> seed;
  std::int64_t output_cap_bytes = 16 << 20;        // of each launch
  std::int64_t checkpoint_cap_bytes = 10LL << 30;  // of all trials together
  std::optional<SweepSpec> sweep;
  bool endless = false;  // the file sets no end, so `trials` is the largest number possible
  std::vector<std::string> notes;  // what the file says that has no effect
  std::vector<PointPart> enqueue;  // points to try first
  std::optional<WarmStart> warm_start;
};

// Reads a study, or a W&B sweep (read/sweep), from YAML text of at most 1 MiB. `file` is what
// messages call the text ("study.yaml:12: lr: expected ..."). A study without a name takes
// `default_name`. All mistakes in the text are reported together, one message per line. A spec that
// is returned can be run, unless its constraints leave no point (read/new_study.h).
Result<StudySpec> ReadStudy(std::string_view text, std::string_view file,
                            std::string_view default_name);

// Checks that a name can be the name of a folder: letters, digits, '.', '_' and '-', at most 100
// characters, not starting with '.' or '-'.
Status CheckStudyName(std::string_view name);
// The valid study name that is nearest to a text; "" if there is none.
std::string StudyNameOf(std::string_view text);

}  // namespace sluice
