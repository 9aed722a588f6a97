#include "ledger/earlier_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/check.h"
#include "ledger/optuna/optuna_reader.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

constexpr double kNoResult = std::numeric_limits<double>::quiet_NaN();

std::string PathFrom(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

Result<EarlierTrial> FromTrial(const TrialInfo& info) {
  EarlierTrial trial{
      .params = {},
      .outcome = info.state == TrialState::kComplete ? Outcome::kComplete : Outcome::kStopped,
      .work = info.work,
      .value = info.result};
  const bool judged = info.state == TrialState::kComplete || info.state == TrialState::kStopped ||
                      info.state == TrialState::kPaused;
  if (!judged) trial.value = kNoResult;
  SLUICE_ASSIGN(trial.params, DecodeNamedValues(info.params));
  return trial;
}

Result<EarlierStudy> FromStore(const WarmStart& wish, const StudyPlace& place) {
  const bool elsewhere = !wish.store.empty();
  const std::string path = elsewhere ? PathFrom(place.folder, wish.store) : place.store;
  SLUICE_ASSIGN(const auto reader, Reader::Open(path));
  SLUICE_ASSIGN(const StudyInfo info, reader->FindStudy(wish.study));
  SLUICE_ASSIGN(const std::vector<TrialInfo> trials, reader->Trials(info.id));
  EarlierStudy study{
      .source = fmt::format("study '{}'{}", info.name, elsewhere ? " in " + path : ""),
      .metric = info.metric,
      .unit = info.unit,
      .direction = info.maximize ? Direction::kMaximize : Direction::kMinimize,
      .trials = {}};
  for (const TrialInfo& row : trials) {
    SLUICE_ASSIGN(EarlierTrial trial, FromTrial(row));
    study.trials.push_back(std::move(trial));
  }
  return study;
}

EarlierTrial FromTrial(const OptunaTrial& optuna) {
  EarlierTrial trial{
      .params = {optuna.params.begin(), optuna.params.end()},
      .outcome = optuna.state == OptunaState::kComplete ? Outcome::kComplete : Outcome::kStopped,
      .work = 1,
      .value = kNoResult};
  if (!optuna.intermediate.empty())
    trial.work = std::max<Work>(1, optuna.intermediate.back().first);
  if (optuna.state != OptunaState::kComplete && optuna.state != OptunaState::kPruned) return trial;
  // A trial without a value of its own, such as a pruned one, has its last intermediate value.
  if (optuna.value) {
    trial.value = *optuna.value;
  } else if (!optuna.intermediate.empty()) {
    trial.value = optuna.intermediate.back().second;
  }
  return trial;
}

Result<EarlierStudy> FromOptuna(const WarmStart& wish, const StudyPlace& place) {
  const std::string path = PathFrom(place.folder, wish.optuna);
  SLUICE_ASSIGN(
      const OptunaStudy optuna,
      ReadOptunaStudy(path, wish.study.empty() ? std::nullopt : std::optional(wish.study)));
  EarlierStudy study{.source = fmt::format("study '{}' in {}", optuna.name, path),
                     .metric = optuna.metric,
                     .unit = "",
                     .direction = optuna.direction,
                     .trials = {}};
  for (const OptunaTrial& trial : optuna.trials) study.trials.push_back(FromTrial(trial));
  return study;
}

}  // namespace

Result<EarlierStudy> ReadEarlierStudy(const WarmStart& wish, const StudyPlace& place) {
  return wish.optuna.empty() ? FromStore(wish, place) : FromOptuna(wish, place);
}

Result<Knowledge> GatherKnowledge(const StudySpec& spec, const StudyPlace& place,
                                  std::uint64_t seed) {
  SLUICE_CHECK(spec.warm_start.has_value(), "there is a warm_start to carry out");
  const auto fail = [](const Error& error) {
    return Fail(error.code, "warm_start: " + error.message);
  };
  const auto earlier = ReadEarlierStudy(*spec.warm_start, place);
  if (!earlier) return fail(earlier.error());
  auto knowledge = Learn(spec, *spec.warm_start, *earlier, seed);
  if (!knowledge) return fail(knowledge.error());
  if (!Learns(spec.sampler.name)) {
    knowledge->notes.push_back(
        fmt::format("the sampler {} does not learn from trials: warm_start has no effect on it",
                    spec.sampler.name));
  }
  return knowledge;
}

}  // namespace sluice
