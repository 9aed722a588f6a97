#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/study.h"
#include "space/space.h"

namespace sluice {

enum class OptunaState { kRunning, kComplete, kPruned, kFail, kWaiting };

struct OptunaTrial {
  OptunaState state = OptunaState::kWaiting;
  // Only the parameters that the trial has: a conditional parameter, or one that the trial did not
  // reach, may be missing. For a waiting trial, the values it was enqueued with; they need not lie
  // in any range.
  std::map<std::string, Value> params = {};
  std::optional<double> value = {};  // may be infinite, is never NaN
  // Steps and values, in order of steps. No step is below 0. Values may be NaN or infinite.
  std::vector<std::pair<std::int64_t, double>> intermediate = {};
  std::optional<Time> started = {};
  std::optional<Time> ended = {};
  std::string attributes = "{}";  // set by the user, a JSON object
};

// One study of an Optuna storage, with one objective.
struct OptunaStudy {
  std::string name;
  Direction direction = Direction::kMinimize;
  std::string metric;  // name of the objective; "": it has none
  // In order of first use. Each is wide enough for every value in `params` of trials that were run.
  // A parameter fixed to one value is a choice of that value.
  std::vector<Parameter> parameters;
  std::vector<OptunaTrial> trials;  // trial n of Optuna is at n
};

// Reads a study from an SQLite file of Optuna (3.2 to 5). Without a name, reads the only study in
// the file. Fails with
// - invalid_argument: the file is no Optuna storage; it holds several studies and none is named;
//   the study has several objectives; a parameter has distributions that cannot be joined;
// - not_found: no such file, no study in it, or none of this name;
// - failed_precondition: Optuna has to upgrade the file first, or is newer than this program knows;
// - corruption: the file is damaged, or holds what Optuna would not write.
// Python's None becomes the text "None". The file is not written to.
Result<OptunaStudy> ReadOptunaStudy(const std::string& path,
                                    const std::optional<std::string>& name);

}  // namespace sluice
