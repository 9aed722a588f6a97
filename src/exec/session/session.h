#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "exec/session/link.h"
#include "ledger/store.h"

namespace sluice {

// How a run of a study ended, for those who looked on.
enum class RunEnd {
  kFinished,     // the study is done
  kDrained,      // it was paused: running trials have saved and left
  kInterrupted,  // Ctrl-C twice: running trials were killed; Resume continues from checkpoints
  kPaused,       // trials could not be started (StudyInfo::pause says why)
};

// Tells the user something while a command works.
using Say = std::function<void(std::string_view)>;

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

// Makes a new study and hands it to the store's controller, which is started if there is none.
// Returns the connection to the controller. Keeps the world of this process for the study's
// programs (exec/study_world.h). Fails with failed_precondition if the name is taken, if another
// process holds the store, or if a trial needs more than this machine has.
Result<Link> Tune(const TuneRequest& request, const Say& say);

// Hands over an existing study, or changes one that runs. Launches of the study that still run are
// adopted. New launches get the world of this process, which replaces the one that was kept; but a
// study that runs keeps the GPUs that it was opened with.
Result<Link> Resume(const ResumeRequest& request, const Say& say);

// Asks the controller to pause a study: running trials save and leave, or are killed. Returns once
// that is recorded.
Status PauseStudy(const StorePaths& paths, const std::string& study, bool kill);

// Ends a study. If a controller runs it, returns once the controller has recorded the stop. If its
// controller has died, a controller is started, and ends the launches that still run.
Status StopStudy(const StorePaths& paths, const std::string& study);

// Ends one trial. If no controller runs the study, records the stop; a launch of the trial that
// still runs ends when the study is resumed.
Status StopTrial(const StorePaths& paths, const std::string& study, TrialId trial);

// Makes a failed or stopped trial run again. Returns true if a controller runs the study: the trial
// runs when there is room. Otherwise it runs when the study is resumed.
Result<bool> RetryTrial(const StorePaths& paths, const std::string& study, TrialId trial);

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

// Removes a study and all its files. Launches that run are killed first.
Status DeleteStudy(const StorePaths& paths, const std::string& study);

}  // namespace sluice
