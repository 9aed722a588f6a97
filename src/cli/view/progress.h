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
#include "cli/study_state.h"
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
    // The latest value; NaN if nothing was reported (`reported` is false), or if NaN was reported.
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
  bool ending = false;  // no new trials are made; `reason` says why
  bool finished = false;
  bool paused = false;    // not finished, and no controller is to run it
  std::string reason;     // why it ends or ended, or why the machine could not go on with it
  std::string waits_for;  // the study whose end it waits for, and how that stands; "": none
  Duration elapsed{0};    // from when the study was made until now, or until it finished
  std::optional<Best> best;
  std::vector<Running> running;  // the first kMaxRunningKept running trials, in order of starting
  std::optional<double> trials_per_minute;
  std::optional<std::int64_t> reports;       // so far; not set for very large studies
  std::optional<double> reports_per_second;  // set by a view, from several Progress in sequence
  std::optional<Duration> left;              // estimated time until the end or the deadline
  bool left_is_deadline = false;             // `left` is the time until the deadline

  StudyState state() const;
  int count(TrialState state) const { return counts[static_cast<std::size_t>(state)]; }
  // Trials that have no work to do now: complete, stopped, failed or paused.
  int done() const;
  // Trials that are not made yet, or that are made and wait.
  int to_start() const;
};

constexpr std::size_t kMaxRunningKept = 64;

// The progress of a study. Making it has a bounded cost, whatever the size of the study.
Progress MakeProgress(const Study& study, Time now);
Result<Progress> MakeProgress(Reader& reader, const StudyInfo& study, Time now);

// The lines of the live region. No line is wider than `columns`. There are at most `rows` - 2
// lines, but at least one. The only control characters are those for colours. Without `utf8` the
// lines are ASCII.
std::vector<std::string> RenderProgress(const Progress& progress, int columns, int rows,
                                        bool colour, bool utf8 = true);

// The same on one line without a line break, for logs: "14/24 trials (58%), 2 running, ...".
std::string ProgressLine(const Progress& progress, bool utf8 = true);

// The best trial, as in "accuracy 0.8731 (trial 9, epoch 9)  lr=0.0123 width=64"; "" if there is
// none yet.
std::string BestLine(const Progress& progress, bool utf8 = true);

// The same without the parameters. There must be a best trial.
std::string BestText(const Progress& progress);
// The time left, why the study ends or has ended, or that it is paused.
std::string OutlookText(const Progress& progress, bool utf8 = true);

// The progress as a JSON object on one line, without a line break.
std::string ProgressJson(const Progress& progress);
// {"event": "message", "time": ..., "message": ...}
std::string MessageJson(std::string_view message, Time now);

// Reads the JSON object of TrialInfo::params. Empty if the text is not a JSON object.
Params ParamsFromJson(std::string_view json);

// A number with five significant digits; NaN and infinities in words.
std::string FormatMetric(double value);
// Parameters as in "lr=0.0123 width=64 act=relu". Numbers have four significant digits.
std::string FormatParams(const Params& params);

}  // namespace sluice
