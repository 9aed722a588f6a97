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
  // The value turned so that smaller is better, as samplers and stoppers want it.
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
  // From being asked to leave to SIGTERM, for a worker that can be asked; then to SIGKILL.
  Duration grace = std::chrono::seconds(10);
  Duration lease = std::chrono::seconds(60);  // a worker silent for longer is dead
};

// A budget so large that no trial reaches it.
constexpr Work kMaxBudget = 1'000'000'000'000;

// What only a study has that was written as a sweep of W&B.
struct SweepSpec {
  // The keys of each nested parameter, outermost first; its name joins them with dots.
  std::map<std::string, std::vector<std::string>> paths;
  // Parameters whose choices are JSON texts, since some are lists, maps or null.
  std::set<std::string> structured;
  bool real_wandb = false;  // trials import the real wandb package, not its stand-in
};

// Trials of an earlier study that the sampler is to know of before it proposes anything. This only
// says where they are; the code that makes the study reads them.
struct WarmStart {
  enum class Missing { kSkip, kFill, kRefuse };  // for trials that lack one of our parameters

  std::string study;                       // may be empty with `optuna`: the only study there
  std::string store;                       // another store than our own
  std::string optuna;                      // or an Optuna file
  std::optional<int> best;                 // only so many of the best; nothing: all
  std::map<std::string, std::string> map;  // the earlier study's parameter names to ours
  Missing missing = Missing::kSkip;
};

// What a short run of one trial, alone on a device of this kind, has shown.
struct KindProfile {
  std::string kind;
  double seconds_per_unit = 0;  // of work; 0: not said
};

// The network that the program trains. The reader checks only the text of this section. The command
// line reads the network itself and checks that it fits (cli/study_model.cc).
struct ModelSpec {
  std::string network;  // an archive of torch.export, seen from the study file, or zoo:NAME
  // A function of the network's first output and the targets; "returned": the output is the loss.
  std::string loss = "returned";
  double scale = 1;  // the network that is tuned is narrower by this factor
};

// Everything a study file says. Made by ReadStudy; what the file does not say has its default here.
struct StudySpec {
  std::string name;
  std::vector<std::string> program;  // with {templates}
  std::map<std::string, std::string> environment;
  Space space;
  Objective objective;
  SamplerSpec sampler;
  StopperSpec stopper;
  std::string policy{kDefaultPolicy};
  std::string unit = "epoch";
  int trials = 0;
  std::vector<StopAt> stop_at;
  std::optional<Duration> deadline_after;  // since the study was made
  std::optional<Time> deadline_at;
  int parallelism = 0;  // 0: as many as fit
  double weight = 1;    // of its share of the devices, relative to other studies
  Demand demand;
  // Names of parameters that may not differ within a bundle: trials that agree in them have one
  // shape. Empty: all trials have.
  std::vector<std::string> shape;
  std::vector<KindProfile> profile;
  std::optional<ModelSpec> model;
  // The study whose best point this study trains, and nothing else; empty: none.
  std::string transfer;
  Timeouts timeouts;
  int retries = 1;
  int max_failures = 0;  // the study ends after so many failed trials; 0: see Judge::CountOver
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

// Reads a study, or a sweep of W&B (read/sweep), from YAML text. `file` is what messages
// call it ("study.yaml:12: lr: expected ..."). A study without a name takes `default_name`.
// Everything the text can say wrongly is reported here, all of it at once, one message a line. A
// spec that is returned can be run, unless its constraints leave no point (read/new_study.h). At
// most 1 MiB.
Result<StudySpec> ReadStudy(std::string_view text, std::string_view file,
                            std::string_view default_name);

// Names become folders: letters, digits, '.', '_' and '-', at most 100, not starting with '.' or
// '-'.
Status CheckStudyName(std::string_view name);
// The valid study name that is nearest to a text; "" if there is none.
std::string StudyNameOf(std::string_view text);

}  // namespace sluice
