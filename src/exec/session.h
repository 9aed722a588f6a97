#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "ledger/store.h"

namespace sluice {

// Shows a user what a controller does. Its functions are called on the controller's thread, and
// must return quickly.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Called at most ten times a second while the study changes, once a second while it does not, and
  // once at the end.
  virtual void Tick(const Study& study, Time now) = 0;
  // Called with something that the user should know immediately, such as that the study pauses.
  virtual void Say(std::string_view line) = 0;
};

enum class RunEnd {
  kFinished,     // the study is done
  kDrained,      // Ctrl-C: running trials have saved and left
  kInterrupted,  // Ctrl-C twice: running trials were killed; Resume continues from checkpoints
  kPaused,       // trials could not be started (StudyInfo::pause says why)
};

struct TuneRequest {
  StorePaths paths;
  StudySpec spec;      // read from `source`
  std::string source;  // the text of the study file
  std::string folder;  // of the study file
  std::uint64_t seed = 0;
};

struct ResumeRequest {
  StorePaths paths;
  std::string study;
  std::optional<int> trials;  // a new total
  std::optional<Time> deadline;
  struct File {
    std::string name;  // as it was given
    std::string source;
    StudySpec spec;
  };
  std::optional<File> file;  // the study file, if the changes that were made to it are to apply
};

// Makes a new study and runs it to its end in this process. Keeps the world of this process for the
// study's programs (exec/study_world.h). Fails with failed_precondition if the name is taken, if
// another controller holds the store, or if a trial needs more than this machine has.
Result<RunEnd> Tune(const TuneRequest& request, Watcher& watcher);

// Continues an existing study in this process. Launches of the study that still run are adopted.
// New launches get the world of this process, which replaces the one that was kept.
Result<RunEnd> Resume(const ResumeRequest& request, Watcher& watcher);

// Ends a study. If a controller lives, asks it, and returns once the controller has recorded the
// stop. Otherwise records the stop and ends the launches that still run.
Status StopStudy(const StorePaths& paths, const std::string& study);

// Ends one trial. If a controller lives, asks it. Otherwise records the stop; a launch of the trial
// that still runs ends when the study is resumed.
Status StopTrial(const StorePaths& paths, const std::string& study, TrialId trial);

// Makes a failed or stopped trial run again: when there is room if a controller lives, else when
// the study is resumed.
Status RetryTrial(const StorePaths& paths, const std::string& study, TrialId trial);

// The result of enqueueing points.
struct EnqueueEnd {
  int added = 0;
  int known = 0;         // added points that were tried or enqueued before
  int waiting = 0;       // points in the queue, including points that were enqueued earlier
  int room = 0;          // trials that the study may still make
  int total = 0;         // trials the study needs to try all points in the queue
  bool at_once = false;  // a controller runs the study
};

// Gives a study points to try before those that its sampler proposes. If one of the points is
// wrong, fails and takes none. Each point is a JSON object with some or all of the parameters;
// missing parameters are drawn.
Result<EnqueueEnd> EnqueuePoints(const StorePaths& paths, const std::string& study,
                                 const std::vector<std::string>& points);

// Removes a study and all its files. Fails while a controller holds the store; otherwise launches
// of the study that still run are ended first.
Status DeleteStudy(const StorePaths& paths, const std::string& study);

// The time of the wall clock.
Time WallNow();

}  // namespace sluice
