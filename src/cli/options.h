#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/trial.h"

namespace sluice {

// What was asked for on the command line, a struct for each verb. A study that is not named is the
// one changed last.

struct TuneOptions {
  std::string file;
  std::optional<std::string> name;
  std::optional<int> trials;
  std::optional<std::uint64_t> seed;
  bool quiet = false;
  bool plain = false;
  bool replace = false;  // an earlier study of the same name
};

struct CheckOptions {
  std::string file;
  std::optional<int> trials;
};

struct ResumeOptions {
  std::string study;
  std::optional<int> trials;
  std::optional<std::string> deadline;  // a duration from now, or a time
  bool quiet = false;
  bool plain = false;
};

struct RunOptions {
  std::optional<std::string> study;
  TrialId trial{};  // 0: the best
};

struct StudiesOptions {};

struct StatusOptions {
  std::optional<std::string> study;
};

struct WatchOptions {
  std::optional<std::string> study;
  bool plain = false;
};

enum class TrialOrder { kId, kValue };

struct TrialsOptions {
  std::optional<std::string> study;
  std::optional<TrialState> state;
  TrialOrder order = TrialOrder::kId;
  std::optional<int> limit;
};

struct BestOptions {
  std::optional<std::string> study;
  int top = 1;
};

struct LogsOptions {
  TrialId trial{};
  std::optional<std::string> study;
  std::optional<LaunchId> launch;
  bool follow = false;
  bool standard_error = false;
};

struct RetryOptions {
  TrialId trial{};
  std::optional<std::string> study;
};

struct EnqueueOptions {
  std::string study;
  std::vector<std::string> values;  // "lr=0.1": one point
  std::optional<std::string> file;  // of points
};

struct StopOptions {
  std::optional<std::string> study;
  TrialId trial{};  // only this one; 0: all
};

struct DeleteOptions {
  std::string study;
  bool yes = false;
};

enum class ExportFormat { kCsv, kJsonl, kOptuna };

struct ExportOptions {
  std::optional<std::string> study;
  std::optional<ExportFormat> format;
  bool reports = false;
  std::optional<std::string> file;
};

struct ImportOptions {
  std::string file;                  // an Optuna storage
  std::optional<std::string> study;  // its name there; the only one, if not given
  std::optional<std::string> name;   // its name here; the same, if not given
};

struct DoctorOptions {
  std::optional<std::string> replay;  // a study whose ledger is replayed and compared
};

struct SimulateOptions {
  std::string file;                   // a scenario
  std::vector<std::string> policies;  // or labels of the scenario; empty: those it names itself
  std::string cluster;                // of the scenario's; empty: the first
  std::optional<int> seeds;
  std::optional<std::string> gantt;  // an SVG that is to be made
};

struct PlanOptions {
  std::string file;  // a study
  std::optional<int> trials;
  std::optional<std::string> on;      // a scenario, for its nodes; this machine, if not given
  std::string cluster;                // of that scenario's; empty: the first
  std::vector<std::string> policies;  // empty: all that can
  std::optional<int> seeds;
  std::optional<std::string> like;  // an earlier study to take times and curves from
  std::optional<Duration> unit_time;
  std::optional<Duration> start_up;
  std::string workload;  // YAML: keys of a scenario's workload; may be empty
};

enum class ModelAction { kShow, kShrink, kZoo };

struct ModelOptions {
  ModelAction action = ModelAction::kShow;
  std::string file;  // an archive of torch.export, or zoo:NAME; empty: that of the study
  std::vector<std::string> pins;  // "NAME:AXIS": what is to stay
  std::optional<double> scale;
  std::int64_t min_width = 8;
  std::optional<std::int64_t> parameters;  // how many are to be left, instead of a scale
  std::vector<std::string> widths;         // "w1=64"
  std::string rule = "mup";
  std::string decay = "scaled";
  bool keep_readout = false;
  // A study file, for its network and for the parameters that do not carry over.
  std::optional<std::string> study;
  bool explain = false;
};

// Print the help of a verb, or of all if it is empty, and do nothing.
struct HelpOptions {
  std::string verb;
};

struct VersionOptions {};

struct Options {
  std::optional<std::string> store;
  bool json = false;
  std::variant<HelpOptions, VersionOptions, TuneOptions, CheckOptions, ResumeOptions, RunOptions,
               StudiesOptions, StatusOptions, WatchOptions, TrialsOptions, BestOptions, LogsOptions,
               RetryOptions, EnqueueOptions, StopOptions, DeleteOptions, ExportOptions,
               ImportOptions, DoctorOptions, SimulateOptions, PlanOptions, ModelOptions>
      verb;
};

// Fails with invalid_argument, suggesting the nearest verb or flag where one was mistyped. The
// first argument is the program's name.
Result<Options> ParseOptions(int argc, const char* const* argv);

// The flags a verb takes, such as "--store", for the test that the help names them all.
std::vector<std::string> FlagsOf(std::string_view verb);

}  // namespace sluice
