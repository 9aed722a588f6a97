#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/text/display_text.h"
#include "engine/engine.h"
#include "engine/trial.h"
#include "ledger/reader.h"
#include "space/space.h"

namespace sluice {

// The active parameters of a trial, in the order of the space.
using Params = std::vector<std::pair<std::string, Value>>;

// What a view shows of a study at one moment.
struct Progress {
  struct Best {
    TrialId trial{};
    double value = 0;
    Work work = 0;
    Params params;
  };
  struct Running {
    TrialId trial{};
    Work work = 0;
    std::optional<Work> target;
    // The latest. If it is NaN and `reported` is set, NaN was reported.
    double value = std::numeric_limits<double>::quiet_NaN();
    bool reported = false;
    Time since{};
    Params params;
  };

  std::string study;
  std::string unit;
  std::string metric;
  bool maximize = false;
  int trials_wanted = 0;
  std::array<int, kTrialStates> counts{};
  Time now{};
  Time created{};
  Time deadline = kNever;
  bool ending = false;  // no new work, for the reason below
  bool finished = false;
  std::string reason;
  Duration elapsed{0};  // since it was made, until it finished
  std::optional<Best> best;
  std::vector<Running> running;  // in order of starting, kMaxRunningKept at most; counts has all
  std::optional<double> trials_per_minute;
  std::optional<std::int64_t> reports;       // so far; nothing for very large studies
  std::optional<double> reports_per_second;  // filled in by a view, which sees several of these
  std::optional<Duration> left;              // an estimate, at most until the deadline
  bool left_is_deadline = false;             // the deadline comes first, or nothing else is known

  int count(TrialState state) const { return counts[static_cast<std::size_t>(state)]; }
  // Trials that have no more work to do for now: complete, stopped, failed or paused.
  int done() const;
  // Trials that are still to be made, or were made and wait.
  int to_start() const;
};

constexpr std::size_t kMaxRunningKept = 64;

// The cost is bounded, whatever the size of the study.
Progress MakeProgress(const Study& study, Time now);
Result<Progress> MakeProgress(Reader& reader, const StudyInfo& study, Time now);

// The live region: no line wider than `columns`, at most `rows` - 2 lines (one, if there are so few
// rows), no control characters but colours. Without `utf8` all is ASCII.
std::vector<std::string> RenderProgress(const Progress& progress, int columns, int rows,
                                        bool colour, bool utf8 = true);

// The same on one line without an end, for logs: "14/24 trials (58%), 2 running, ...".
std::string ProgressLine(const Progress& progress, bool utf8 = true);

// "accuracy 0.8731 (trial 9, epoch 9)  lr=0.0123 width=64"; "" before there is one.
std::string BestLine(const Progress& progress, bool utf8 = true);

// One JSON object on one line, without its end.
std::string ProgressJson(const Progress& progress);
// {"event": "message", "time": ..., "message": ...}
std::string MessageJson(std::string_view message, Time now);

// Reads the JSON object of TrialInfo::params; what is not one gives nothing.
Params ParamsFromJson(std::string_view json);

// Five significant digits; NaN and infinities in words.
std::string FormatMetric(double value);
// "lr=0.0123 width=64 act=relu", numbers of four significant digits.
std::string FormatParams(const Params& params);

}  // namespace sluice
