#include "ledger/optuna/optuna_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "base/text.h"
#include "ledger/optuna/optuna_codec.h"
#include "ledger/optuna/optuna_file.h"
#include "ledger/optuna/optuna_schema.h"
#include "ledger/optuna/optuna_space.h"

namespace sluice {
namespace {

constexpr std::int64_t kMaxTrials = 10'000'000;
constexpr std::size_t kMaxParameters = 1000;
constexpr std::size_t kLongestOptunaName = 512;  // Optuna's own limit

// Reads a time as SQLAlchemy writes it, "2026-01-31 12:00:00.250000", in UTC; nullopt if the text
// is no time.
std::optional<Time> ParseOptunaTime(std::string_view text) {
  constexpr std::size_t kSeconds = 19;
  if (text.size() < kSeconds) return std::nullopt;
  const auto time = ParseTime(fmt::format("{}Z", text.substr(0, kSeconds)));
  if (!time || *time < Time{}) return std::nullopt;
  std::int64_t micros = 0;
  std::int64_t unit = 100'000;
  for (std::size_t i = kSeconds + 1; i < text.size() && unit > 0; ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    micros += (text[i] - '0') * unit;
  }
  return *time + Duration(micros);
}

// A number from two columns: the second has a word for values that the first cannot hold.
double NumberOfType(const Statement& row, int number, int type) {
  const std::string_view word = row.Text(type);
  if (word == "INF_POS") return std::numeric_limits<double>::infinity();
  if (word == "INF_NEG") return -std::numeric_limits<double>::infinity();
  return word == "FINITE" ? row.Number(number) : std::numeric_limits<double>::quiet_NaN();
}

// The first names, as many as a message should list.
std::string Listed(std::span<const std::string> names) {
  constexpr std::size_t kMost = 20;
  return Join(names.first(std::min(names.size(), kMost))) + (names.size() > kMost ? ", ..." : "");
}

// Reads one study table by table. Messages begin with the file.
class StudyReader {
 public:
  explicit StudyReader(OptunaFile file) : file_(std::move(file)) {}

  Result<OptunaStudy> Read(const std::optional<std::string>& name) {
    SLUICE_TRY(ChooseStudy(name));
    SLUICE_TRY(ReadDirection());
    SLUICE_TRY(ReadMetric());
    SLUICE_TRY(ReadTrials());
    SLUICE_TRY(ReadParams());
    SLUICE_TRY(ReadFixedParams());
    SLUICE_TRY(ReadValues());
    SLUICE_TRY(ReadIntermediate());
    SLUICE_TRY(ReadAttributes());
    return std::move(study_);
  }

 private:
  std::unexpected<Error> Damaged(std::string_view what) const {
    return Corruption(fmt::format("{}: study '{}': {}", file_.path(), study_.name, what));
  }

  // A query on the study that was chosen.
  Result<Statement> OfStudy(std::string_view sql) {
    SLUICE_ASSIGN(Statement query, file_.Prepare(sql));
    query.Bind(1, id_);
    return query;
  }

  // Calls visit with each row and the index of its trial. Rows of unknown trials are skipped.
  template <typename Visit>
  Status EachOfTrials(std::string_view columns, std::string_view table, std::string_view more,
                      Visit&& visit) {
    SLUICE_ASSIGN(Statement query,
                  OfStudy(fmt::format("SELECT trial_id, {} FROM {} WHERE trial_id IN (SELECT "
                                      "trial_id FROM trials WHERE study_id = ?) {}",
                                      columns, table, more)));
    while (true) {
      SLUICE_ASSIGN(const bool row, file_.Step(query));
      if (!row) return {};
      const auto place = places_.find(query.Integer(0));
      if (place != places_.end()) SLUICE_TRY(visit(query, place->second));
    }
  }

  Status ChooseStudy(const std::optional<std::string>& name) {
    SLUICE_ASSIGN(Statement query, file_.Prepare("SELECT study_id, study_name FROM studies ORDER "
                                                 "BY study_id"));
    std::vector<std::int64_t> ids;
    std::vector<std::string> names;
    while (true) {
      SLUICE_ASSIGN(const bool row, file_.Step(query));
      if (!row) break;
      ids.push_back(query.Integer(0));
      names.emplace_back(query.Text(1).substr(0, kLongestOptunaName));
    }
    if (ids.empty()) return NotFound(fmt::format("{}: expected a study, found none", file_.path()));
    if (!name && ids.size() > 1) {
      return InvalidArgument(fmt::format(
          "{}: expected one study, found {}: {}: say which one (--study NAME, or study: NAME in a "
          "study file)",
          file_.path(), ids.size(), Listed(names)));
    }
    const auto found = name ? std::ranges::find(names, *name) - names.begin() : std::ptrdiff_t{0};
    if (found == std::ssize(names)) {
      return NotFound(fmt::format("{}: no study '{}'{}: it has {}", file_.path(), *name,
                                  DidYouMean(*name, names), Listed(names)));
    }
    id_ = ids[static_cast<std::size_t>(found)];
    study_.name = names[static_cast<std::size_t>(found)];
    return {};
  }

  Status ReadDirection() {
    SLUICE_ASSIGN(Statement query,
                  OfStudy("SELECT direction FROM study_directions WHERE study_id = ? ORDER BY "
                          "objective LIMIT 100"));
    std::vector<std::string> directions;
    while (true) {
      SLUICE_ASSIGN(const bool row, file_.Step(query));
      if (!row) break;
      directions.emplace_back(query.Text(0));
    }
    if (directions.size() > 1) {
      return InvalidArgument(
          fmt::format("{}: expected a study with one objective, found '{}' with {}: only studies "
                      "with one objective can be used",
                      file_.path(), study_.name, directions.size()));
    }
    // Optuna has NOT_SET for a study that was never given a direction.
    const std::string direction = directions.empty() ? "" : directions.front();
    if (direction == "MINIMIZE" || direction == "MAXIMIZE") {
      study_.direction = direction == "MINIMIZE" ? Direction::kMinimize : Direction::kMaximize;
      return {};
    }
    return Damaged(fmt::format("expected MINIMIZE or MAXIMIZE, found '{}'", direction));
  }

  Status ReadMetric() {
    SLUICE_ASSIGN(Statement query,
                  OfStudy("SELECT value_json FROM study_system_attributes WHERE study_id = ? AND "
                          "\"key\" = 'study:metric_names'"));
    SLUICE_ASSIGN(const bool row, file_.Step(query));
    if (row) study_.metric = DecodeFirstText(query.Text(0));
    return {};
  }

  Status ReadTrials() {
    SLUICE_ASSIGN(Statement query,
                  OfStudy("SELECT trial_id, state, datetime_start, datetime_complete FROM trials "
                          "WHERE study_id = ? ORDER BY number, trial_id"));
    while (true) {
      SLUICE_ASSIGN(const bool row, file_.Step(query));
      if (!row) return {};
      if (std::ssize(study_.trials) == kMaxTrials)
        return Damaged(fmt::format("expected at most {} trials, found more", kMaxTrials));
      const auto state = std::ranges::find(kOptunaStates, query.Text(1));
      if (state == kOptunaStates.end()) {
        return Damaged(fmt::format("trial {}: expected a state such as COMPLETE, found '{}'",
                                   study_.trials.size(), query.Text(1).substr(0, 32)));
      }
      places_.emplace(query.Integer(0), study_.trials.size());
      study_.trials.push_back({.state = static_cast<OptunaState>(state - kOptunaStates.begin()),
                               .started = ParseOptunaTime(query.Text(2)),
                               .ended = ParseOptunaTime(query.Text(3))});
    }
  }

  Status ReadParams() {
    SLUICE_TRY(EachOfTrials("param_name, param_value, distribution_json", "trial_params",
                            "ORDER BY param_id",
                            [&](const Statement& row, std::size_t trial) -> Status {
                              return ReadParam(trial, row.Text(1), row.Number(2), row.Text(3));
                            }));
    for (Parameter& parameter : study_.parameters) parameter = AsInSpace(std::move(parameter));
    return {};
  }

  Status ReadParam(std::size_t trial, std::string_view name, double number,
                   std::string_view distribution) {
    if (name.empty() || name.size() > kLongestOptunaName)
      return Damaged(fmt::format("trial {}: a parameter has no name", trial));
    // All trials share a few distributions: each text is decoded once.
    const auto key = std::pair(std::string(name), std::string(distribution));
    auto known = distributions_.find(key);
    if (known == distributions_.end()) {
      auto parameter = DecodeDistribution(key.first, distribution);
      if (!parameter) return Refused(parameter.error());
      known = distributions_.emplace(key, std::move(*parameter)).first;
      if (const Status joined = AddDistribution(known->second); !joined)
        return Refused(joined.error());
    }
    const Parameter& own = known->second;
    const bool whole = own.kind != ParameterKind::kFloat;
    if (!std::isfinite(number) || (whole && number != std::floor(number)) ||
        std::abs(number) >= (whole ? 0x1.0p53 : std::numeric_limits<double>::infinity()) ||
        (own.has_choices() && !(number >= 0 && number < static_cast<double>(own.choices.size())))) {
      return Damaged(fmt::format("trial {}: {}: expected a value of its distribution, found {}",
                                 trial, name, number));
    }
    Widen(study_.parameters[indices_.at(key.first)], number);
    study_.trials[trial].params[key.first] =
        own.has_choices()                 ? own.choices[static_cast<std::size_t>(number)]
        : own.kind == ParameterKind::kInt ? Value(static_cast<std::int64_t>(number))
                                          : Value(number);
    return {};
  }

  std::unexpected<Error> Refused(const Error& error) const {
    return Fail(error.code,
                fmt::format("{}: study '{}': {}", file_.path(), study_.name, error.message));
  }

  Status AddDistribution(const Parameter& parameter) {
    const auto [index, is_new] = indices_.try_emplace(parameter.name, study_.parameters.size());
    if (!is_new) return Widen(study_.parameters[index->second], parameter);
    if (study_.parameters.size() == kMaxParameters) {
      return InvalidArgument(
          fmt::format("expected at most {} parameters, found more", kMaxParameters));
    }
    study_.parameters.push_back(parameter);
    return {};
  }

  Status ReadFixedParams() {
    return EachOfTrials("value_json", "trial_system_attributes", "AND \"key\" = 'fixed_params'",
                        [&](const Statement& row, std::size_t trial) -> Status {
                          OptunaTrial& waiting = study_.trials[trial];
                          if (waiting.state != OptunaState::kWaiting) return {};
                          auto values = DecodeValues(row.Text(1));
                          if (!values) {
                            return Damaged(fmt::format("trial {}: fixed_params: {}", trial,
                                                       values.error().message));
                          }
                          waiting.params = std::move(*values);
                          return {};
                        });
  }

  Status ReadValues() {
    return EachOfTrials("value, value_type", "trial_values", "AND objective = 0",
                        [&](const Statement& row, std::size_t trial) -> Status {
                          const double value = NumberOfType(row, 1, 2);
                          if (!std::isnan(value)) study_.trials[trial].value = value;
                          return {};
                        });
  }

  Status ReadIntermediate() {
    return EachOfTrials(
        "step, intermediate_value, intermediate_value_type", "trial_intermediate_values",
        "ORDER BY trial_id, step", [&](const Statement& row, std::size_t trial) -> Status {
          auto& values = study_.trials[trial].intermediate;
          const std::int64_t step = row.Integer(1);
          constexpr std::int64_t kLastStep = 1'000'000'000'000;
          if (step < 0 || step > kLastStep || (!values.empty() && values.back().first >= step)) {
            return Damaged(fmt::format("trial {}: expected rising steps from 0 to {}, found {}",
                                       trial, kLastStep, step));
          }
          values.emplace_back(step, NumberOfType(row, 2, 3));
          return {};
        });
  }

  Status ReadAttributes() {
    std::map<std::size_t, std::vector<std::pair<std::string, std::string>>> members;
    SLUICE_TRY(EachOfTrials("\"key\", value_json", "trial_user_attributes",
                            "ORDER BY trial_user_attribute_id",
                            [&](const Statement& row, std::size_t trial) -> Status {
                              members[trial].emplace_back(row.Text(1), row.Text(2));
                              return {};
                            }));
    for (const auto& [trial, its] : members) {
      auto object = EncodeMembers(its);
      if (!object) {
        return Damaged(
            fmt::format("trial {}: its user attributes: {}", trial, object.error().message));
      }
      study_.trials[trial].attributes = std::move(*object);
    }
    return {};
  }

  OptunaFile file_;
  OptunaStudy study_;
  std::int64_t id_ = 0;
  std::map<std::int64_t, std::size_t> places_;  // from a trial_id to the index in study_.trials
  std::map<std::string, std::size_t> indices_;  // from a name to the index in study_.parameters
  std::map<std::pair<std::string, std::string>, Parameter> distributions_;
};

}  // namespace

Result<OptunaStudy> ReadOptunaStudy(const std::string& path,
                                    const std::optional<std::string>& name) {
  SLUICE_ASSIGN(OptunaFile file, OptunaFile::Open(path));
  return StudyReader(std::move(file)).Read(name);
}

}  // namespace sluice
