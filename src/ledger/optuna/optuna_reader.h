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
  // Those it has: a trial lacks parameters that are conditional, and those it never came to. Of a
  // waiting trial, what it was enqueued with, which need not lie in any range.
  std::map<std::string, Value> params = {};
  std::optional<double> value = {};  // may be infinite, is never NaN
  // By rising step, from 0 or more. NaN and the infinities are possible.
  std::vector<std::pair<std::int64_t, double>> intermediate = {};
  std::optional<Time> started = {};
  std::optional<Time> ended = {};
  std::string attributes = "{}";  // those of the user, a JSON object
};

// One study of an Optuna storage, with one objective.
struct OptunaStudy {
  std::string name;
  Direction direction = Direction::kMinimize;
  std::string metric;  // what the objective is called; "": nobody said
  // In order of first use, each wide enough for every value in `params` of trials that were run.
  // What was fixed to one value is a choice of that value.
  std::vector<Parameter> parameters;
  std::vector<OptunaTrial> trials;  // trial n of Optuna is at n
};

// Reads a study from an SQLite file of Optuna's (3.2 to 5). Without a name, the only one there is.
// - invalid_argument: the file is not Optuna's; it holds several studies and none is named; the
//   study has several objectives; one parameter has distributions that cannot be joined;
// - not_found: no such file, no study in it, or none of this name;
// - failed_precondition: Optuna has to upgrade the file first, or is newer than this program knows;
// - corruption: the file is damaged, or says what Optuna would not.
// None (Python's) becomes the text "None". The file is not written to.
Result<OptunaStudy> ReadOptunaStudy(const std::string& path,
                                    const std::optional<std::string>& name);

}  // namespace sluice
