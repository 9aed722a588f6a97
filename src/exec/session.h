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

// What a controller shows of itself while it runs. Called on the controller's thread: return
// quickly.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // At most ten times a second while things change, once a second otherwise, and once at the end.
  virtual void Tick(const Study& study, Time now) = 0;
  // Something a user should know at once: draining, a trial that failed for good.
  virtual void Say(std::string_view line) = 0;
};

enum class RunEnd {
  kFinished,     // the study is done
  kDrained,      // Ctrl-C: what ran has saved and left; resume goes on
  kInterrupted,  // Ctrl-C twice: what ran was killed; resume goes on from the checkpoints
  kPaused,       // the machine could not go on (StudyInfo::pause says why); resume does
};

struct TuneRequest {
  StorePaths paths;
  StudySpec spec;      // read from
  std::string source;  // this text,
  std::string folder;  // which lay here
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
  std::optional<File> file;  // edited since the study was made
};

// Makes a new study and runs it to its end in this process. Fails with failed_precondition if the
// name is taken, if another controller holds the store, or if a trial needs more than this machine
// has.
Result<RunEnd> Tune(const TuneRequest& request, Watcher& watcher);

// Runs a study that exists: adopts what still runs of it, and goes on.
Result<RunEnd> Resume(const ResumeRequest& request, Watcher& watcher);

// Ends a study: through its controller if one lives (returns once the controller has written it
// down), otherwise by writing it down and ending what still runs.
Status StopStudy(const StorePaths& paths, const std::string& study);

// Ends one trial: through the controller if one lives, otherwise by writing it down; then what still
// runs of it ends when the study is resumed.
Status StopTrial(const StorePaths& paths, const std::string& study, TrialId trial);

// Gives a failed or stopped trial another chance: at once if a controller lives, else when the
// study is resumed.
Status RetryTrial(const StorePaths& paths, const std::string& study, TrialId trial);

// What came of points that were enqueued.
struct EnqueueEnd {
  int added = 0;
  int known = 0;         // of those added: tried or enqueued before
  int waiting = 0;       // in the queue, with those of before
  int room = 0;          // trials that the study may still make
  int total = 0;         // of trials, so that all that wait are tried
  bool at_once = false;  // a controller runs the study
};

// Gives a study points to try before those its sampler proposes: all of them, or none and the
// reason. Each is a JSON object with some or all of the parameters; the others are drawn.
Result<EnqueueEnd> EnqueuePoints(const StorePaths& paths, const std::string& study,
                                 const std::vector<std::string>& points);

// Removes a study and all its files. Fails while a controller runs it.
Status DeleteStudy(const StorePaths& paths, const std::string& study);

// The real time.
Time WallNow();

}  // namespace sluice
