#include "engine/warm_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"

namespace sluice {
namespace {

// Why trials were left out, and how many for each reason. The reasons are in order of first use.
class Losses {
 public:
  void Count(const std::string& reason) {
    const auto found = std::ranges::find(reasons_, reason, &Reason::first);
    if (found == reasons_.end()) {
      reasons_.emplace_back(reason, 1);
    } else {
      ++found->second;
    }
  }
  // "20 have lr outside [0, 1], 1 has no result"
  std::string Describe() const {
    std::vector<std::string> parts;
    for (const auto& [reason, count] : reasons_)
      parts.push_back(fmt::format("{} {} {}", count, count == 1 ? "has" : "have", reason));
    return Join(parts);
  }
  bool empty() const { return reasons_.empty(); }

 private:
  using Reason = std::pair<std::string, int>;
  std::vector<Reason> reasons_;
};

std::string Outside(const Parameter& parameter, const Value& value) {
  if (parameter.has_choices()) {
    std::vector<std::string> choices;
    for (const Choice& choice : parameter.choices) choices.push_back(FormatValue(choice));
    return fmt::format("{} other than {}", parameter.name, Join(choices));
  }
  const double* number = std::get_if<double>(&value);
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (number == nullptr && whole == nullptr)
    return fmt::format("{} that is no number", parameter.name);
  const double at = number != nullptr ? *number : static_cast<double>(*whole);
  if (parameter.low <= at && at <= parameter.high)
    return fmt::format("{} off its steps of {}", parameter.name,
                       parameter.step == 0 ? 1 : parameter.step);
  return fmt::format("{} outside [{}, {}]", parameter.name, parameter.low, parameter.high);
}

// Makes points of this study out of earlier trials.
class Matcher {
 public:
  Matcher(const Space& space, const WarmStart& wish, std::uint64_t seed)
      : space_(space), wish_(wish), stream_(Random(seed).Fork("warm start")) {
    for (const auto& [theirs, ours] : wish.map) taken_.insert(ours);
  }

  // The index of this study's parameter for a parameter name of the earlier study; nothing if this
  // study has no such parameter.
  std::optional<std::size_t> Ours(const std::string& theirs) const {
    const auto mapped = wish_.map.find(theirs);
    if (mapped != wish_.map.end()) return space_.Find(mapped->second);
    return taken_.contains(theirs) ? std::nullopt : space_.Find(theirs);
  }

  // Fails with the reason if the trial cannot be used. The draws depend on the trial's `number`.
  Result<Point> Match(const NamedValues& params, std::uint64_t number) {
    PointPart part(space_.size());
    for (const auto& [name, value] : params) {
      const auto index = Ours(name);
      if (!index) continue;
      const Parameter& parameter = space_.parameters()[*index];
      const auto coordinate = CoordinateOf(parameter, value);
      if (!coordinate) return InvalidArgument(Outside(parameter, value));
      part[*index] = *coordinate;
    }
    Random draws = stream_.Fork(number);
    Point point(space_.size(), std::numeric_limits<double>::quiet_NaN());
    for (const std::vector<std::size_t>& group : space_.groups()) {
      for (const std::size_t i : group) {
        const double unit = draws.Uniform();
        if (!space_.IsActive(point, i)) continue;
        if (!part[i] && wish_.missing != WarmStart::Missing::kFill)
          return NotFound(fmt::format("no {}", space_.parameters()[i].name));
        point[i] = part[i] ? *part[i] : space_.FromUnit(i, unit);
      }
    }
    if (!space_.Satisfies(point)) return InvalidArgument("parameters that break a constraint");
    return point;
  }

 private:
  const Space& space_;
  const WarmStart& wish_;
  Random stream_;
  std::set<std::string> taken_;
};

std::string Describe(const Objective& objective) {
  const std::string direction =
      objective.direction == Direction::kMinimize ? "minimizes" : "maximizes";
  return objective.metric.empty() ? direction : direction + " " + objective.metric;
}

// Fails if the earlier study is of no use to this one. Adds notes on what differs.
Status CheckCommon(const StudySpec& spec, const WarmStart& wish, const EarlierStudy& earlier,
                   const Matcher& matcher, Knowledge& knowledge) {
  const Objective theirs{.metric = earlier.metric, .direction = earlier.direction};
  if (theirs.direction != spec.objective.direction) {
    return InvalidArgument(
        fmt::format("expected a study with the same direction, found that {} {} and this one {}",
                    earlier.source, Describe(theirs), Describe(spec.objective)));
  }
  std::set<std::string> names;
  for (const EarlierTrial& trial : earlier.trials) {
    for (const auto& [name, value] : trial.params) names.insert(name);
  }
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, ours] : wish.map) {
    if (!names.contains(name)) {
      return InvalidArgument(fmt::format("map: no parameter '{}' in {}{}", name, earlier.source,
                                         DidYouMean(name, known)));
    }
  }
  std::vector<std::string> extra;
  for (const std::string& name : known) {
    if (!matcher.Ours(name)) extra.push_back(name);
  }
  if (extra.size() == known.size()) {
    return InvalidArgument(
        fmt::format("expected a study with some of the same parameters, found none of them in {}, "
                    "which has {}: say which is which with 'map: {{theirs: ours}}'",
                    earlier.source, known.empty() ? "no parameters at all" : Join(known)));
  }
  if (!extra.empty())
    knowledge.notes.push_back(fmt::format("its {} {} not in this space and ignored", Join(extra),
                                          extra.size() == 1 ? "is" : "are"));
  if (!earlier.metric.empty() && earlier.metric != spec.objective.metric)
    knowledge.notes.push_back(
        fmt::format("its {} is taken for {}", earlier.metric, spec.objective.metric));
  if (!earlier.unit.empty() && earlier.unit != spec.unit)
    knowledge.notes.push_back(
        fmt::format("its work is counted in {}, taken for {}", earlier.unit, spec.unit));
  return {};
}

// Keeps only the best `count` trials, in the order they had.
void KeepBest(std::vector<KnownTrial>& trials, const Objective& objective, std::size_t count) {
  if (trials.size() <= count) return;
  std::vector<std::size_t> order(trials.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return objective.Loss(trials[i].value); });
  order.resize(count);
  std::ranges::sort(order);
  std::vector<KnownTrial> best;
  for (const std::size_t i : order) best.push_back(std::move(trials[i]));
  trials = std::move(best);
}

}  // namespace

Result<Knowledge> Learn(const StudySpec& spec, const WarmStart& wish, const EarlierStudy& earlier,
                        std::uint64_t seed) {
  if (earlier.trials.empty())
    return InvalidArgument(fmt::format("expected trials in {}, found none", earlier.source));
  Matcher matcher(spec.space, wish, seed);
  Knowledge knowledge;
  SLUICE_TRY(CheckCommon(spec, wish, earlier, matcher, knowledge));
  Losses losses;
  for (std::size_t i = 0; i < earlier.trials.size(); ++i) {
    const EarlierTrial& trial = earlier.trials[i];
    if (!std::isfinite(trial.value)) {
      losses.Count("no result");
      continue;
    }
    auto point = matcher.Match(trial.params, i);
    if (point) {
      knowledge.trials.push_back({.point = std::move(*point),
                                  .outcome = trial.outcome,
                                  .work = trial.work,
                                  .value = trial.value});
    } else if (point.error().code == ErrorCode::kNotFound &&
               wish.missing == WarmStart::Missing::kRefuse) {
      return InvalidArgument(fmt::format(
          "expected every parameter in the trials of {}, found trial {} of {} with {}: "
          "'missing: skip' leaves such trials out, 'missing: fill' draws what they lack",
          earlier.source, i + 1, earlier.trials.size(), point.error().message));
    } else {
      losses.Count(point.error().message);
    }
  }
  if (knowledge.trials.empty()) {
    return InvalidArgument(
        fmt::format("expected trials of {} that this study can use, found {}: {}", earlier.source,
                    earlier.trials.size(), losses.Describe()));
  }
  const std::size_t usable = knowledge.trials.size();
  const std::size_t most = wish.best ? static_cast<std::size_t>(*wish.best) : kMostKnown;
  KeepBest(knowledge.trials, spec.objective, std::min(most, kMostKnown));
  knowledge.summary =
      fmt::format("{}{} of {} trials of {}", knowledge.trials.size() < usable ? "the best " : "",
                  knowledge.trials.size(), earlier.trials.size(), earlier.source);
  if (!losses.empty()) knowledge.summary += "; " + losses.Describe();
  return knowledge;
}

}  // namespace sluice
