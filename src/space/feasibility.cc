#include "space/feasibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/text.h"
#include "space/cost.h"
#include "space/enumeration.h"

namespace sluice {
namespace {

constexpr std::uint64_t kDraws = 200'000;
constexpr std::uint64_t kMostWork = 40'000'000;  // cost of all draws (cost.h)
constexpr std::uint64_t kEnumeratedSteps = 400'000;
constexpr std::uint64_t kEnoughToRefuse = 50'000;  // draws, if few of them satisfy
constexpr std::uint64_t kEnoughInVain = 1'000;     // draws, if none of them satisfies
constexpr std::uint64_t kEnoughToStop = 20'000;    // draws, if plenty of them satisfy
constexpr double kNearlyNone = 1e-4;
constexpr double kFew = 0.01;
constexpr std::size_t kMaskBits = 64;

class Examiner {
 public:
  explicit Examiner(const Space& space)
      : space_(space), seen_active_(space.groups().size()), needed_(space.size()) {
    found_.rules.resize(space.rules().size());
    const auto need = [&](const Expression& expression) {
      for (const std::size_t index : expression.mentions()) needed_[index] = true;
      cost_ += expression.size();
    };
    for (const Expression& rule : space.rules()) need(rule);
    for (const auto& group : space.groups()) {
      if (!group.empty() && space.condition(group.front()) != nullptr)
        need(*space.condition(group.front()));
    }
    for (std::size_t i = 0; i < space.size(); ++i) {
      if (needed_[i]) cost_ += CostOfValue(space.parameters()[i]);
    }
  }

  Feasibility Run() {
    if (!LookAtAll()) Draw();
    for (std::size_t i = 1; i < space_.groups().size(); ++i) {
      const auto& group = space_.groups()[i];
      if (!seen_active_[i])
        found_.never_active.insert(found_.never_active.end(), group.begin(), group.end());
    }
    std::ranges::sort(found_.never_active);
    if (found_.exact) {
      found_.points = found_.satisfying;
    } else if (found_.share() < kNearlyNone) {
      found_.points = CountPoints(space_);
    }
    return std::move(found_);
  }

 private:
  bool LookAtAll() {
    const auto discrete = [](const Parameter& parameter) {
      return parameter.Cardinality().has_value();
    };
    if (!std::ranges::all_of(space_.parameters(), discrete)) return false;
    const Space all = Space::Make(space_.parameters()).value();
    if (all.is_plain() && all.Cardinality().value_or(kEnumeratedSteps) >= kEnumeratedSteps)
      return false;
    PointEnumerator points(all, std::min(kEnumeratedSteps, kMostWork / (cost_ + 1)));
    while (points.Next()) LookAt(points.point());
    found_.exact = !points.gave_up();
    if (found_.exact) return true;
    found_ = {};
    found_.rules.resize(space_.rules().size());
    return false;
  }

  // Draws only the parameters that expressions mention.
  void Draw() {
    Random random = Random(0).Fork("feasibility");
    const std::uint64_t draws = std::clamp<std::uint64_t>(kMostWork / (cost_ + 1), 1, kDraws);
    Point point(space_.size(), std::numeric_limits<double>::quiet_NaN());
    while (found_.looked_at < draws) {
      for (const std::size_t i : space_.order()) {
        if (!needed_[i]) continue;
        const double unit = random.Uniform();
        point[i] = space_.IsActive(point, i) ? space_.FromUnit(i, unit)
                                             : std::numeric_limits<double>::quiet_NaN();
      }
      LookAt(point);
      if (found_.looked_at >= kEnoughToStop && found_.share() >= 2 * kFew &&
          std::ranges::all_of(seen_active_.begin() + 1, seen_active_.end(), std::identity()))
        break;
    }
  }

  void LookAt(const Point& point) {
    ++found_.looked_at;
    for (std::size_t i = 1; i < seen_active_.size(); ++i) {
      if (!seen_active_[i]) seen_active_[i] = space_.IsActive(point, space_.groups()[i].front());
    }
    bool all = true;
    std::uint64_t held = 0;
    for (std::size_t i = 0; i < space_.rules().size(); ++i) {
      const bool holds = space_.Satisfies(point, space_.rules()[i]);
      if (holds && i < kMaskBits) held |= std::uint64_t{1} << i;
      if (!holds) NoteFailure(point, i);
      all = all && holds;
    }
    for (std::size_t i = 0; i < std::min(kMaskBits, found_.rules.size()); ++i) {
      if ((held >> i & 1) != 0) found_.rules[i].held_with |= held;
    }
    if (all) ++found_.satisfying;
  }

  void NoteFailure(const Point& point, std::size_t index) {
    Feasibility::Rule& rule = found_.rules[index];
    ++rule.failed;
    const Expression& expression = space_.rules()[index];
    if (expression.Evaluate(point) != Truth::kUndefined || rule.undefined++ > 0) return;
    std::vector<std::string> values;
    for (const std::size_t i : expression.mentions()) {
      values.push_back(
          fmt::format("{}={}", space_.parameters()[i].name, FormatValue(space_.ValueAt(point, i))));
    }
    rule.undefined_at = Shown(Join(values));
  }

  const Space& space_;
  std::vector<bool> seen_active_;  // by group
  std::vector<bool> needed_;       // by parameter
  std::uint64_t cost_ = 0;         // of one point
  Feasibility found_;
};

std::string Quoted(const Space& space, std::size_t rule) {
  return fmt::format("'{}'", Shown(space.constraints()[rule]));
}

// Why no point satisfies the constraints.
std::string Reason(const Space& space, const Feasibility& found) {
  std::vector<std::string> never;
  for (std::size_t i = 0; i < found.rules.size(); ++i) {
    if (found.rules[i].failed == found.looked_at) never.push_back(Quoted(space, i));
  }
  if (!never.empty())
    return fmt::format("{} never hold{}", Join(never), never.size() == 1 ? "s" : "");
  for (std::size_t i = 0; i < std::min(kMaskBits, found.rules.size()); ++i) {
    for (std::size_t j = i + 1; j < std::min(kMaskBits, found.rules.size()); ++j) {
      if ((found.rules[i].held_with >> j & 1) == 0) {
        return fmt::format("{} and {} never hold together", Quoted(space, i), Quoted(space, j));
      }
    }
  }
  return "each holds somewhere, but never all of them together";
}

// "; blocks is from 1 to 4": the ranges of the numbers that a parameter's condition mentions.
std::string RangesIn(const Space& space, std::size_t index) {
  std::string ranges;
  const Expression* condition = space.condition(index);
  if (condition == nullptr) return ranges;
  for (const std::size_t i : condition->mentions()) {
    const Parameter& parameter = space.parameters()[i];
    if (!parameter.has_choices())
      ranges += fmt::format("; {} is from {:.6g} to {:.6g}", parameter.name, parameter.low,
                            parameter.high);
  }
  return ranges;
}

// Whether a constraint demands that real numbers be equal, which drawn numbers hardly ever are.
bool IsEquality(const Space& space, std::size_t rule) {
  const std::string& text = space.constraints()[rule];
  const auto real = [&](std::size_t i) {
    const Parameter& parameter = space.parameters()[i];
    return parameter.kind == ParameterKind::kFloat && parameter.step == 0;
  };
  return text.contains("==") && std::ranges::any_of(space.rules()[rule].mentions(), real);
}

std::string LookedAt(const Feasibility& found) {
  return found.exact ? fmt::format("all {} points", found.looked_at)
                     : fmt::format("{} points drawn at random", found.looked_at);
}

}  // namespace

Feasibility Examine(const Space& space) {
  if (space.is_plain()) return {};
  return Examiner(space).Run();
}

std::optional<std::size_t> HardestRule(const Feasibility& found) {
  if (found.rules.empty()) return std::nullopt;
  const auto worst = std::ranges::max_element(found.rules, {}, &Feasibility::Rule::failed);
  return static_cast<std::size_t>(worst - found.rules.begin());
}

Status CheckFeasible(const Space& space, const Feasibility& found) {
  const bool none = found.satisfying == 0 && found.points.value_or(0) == 0 && !found.rules.empty();
  const bool sure =
      found.exact || found.points || found.looked_at >= (none ? kEnoughInVain : kEnoughToRefuse);
  if (none && sure) {
    return InvalidArgument(
        fmt::format("expected a point at which all constraints hold, found none among {}: {}; {}",
                    LookedAt(found), Reason(space, found),
                    IsEquality(space, HardestRule(found).value())
                        ? "floats are hardly ever equal: leave room, as in 'abs(a + b - 1) < 0.02'"
                        : "change the constraints or widen the ranges"));
  }
  if (found.exact || found.points || !sure || found.share() >= kNearlyNone) return {};
  return InvalidArgument(fmt::format(
      "nearly unsatisfiable: expected at least 1 in {} points at which all constraints hold, found "
      "{} of {}; {} fails most. Narrow the ranges, or say with 'when' what depends on what",
      std::round(1 / kNearlyNone), found.satisfying, LookedAt(found),
      Quoted(space, HardestRule(found).value())));
}

std::vector<std::string> Remarks(const Space& space, const Feasibility& found) {
  std::vector<std::string> remarks;
  if (!found.rules.empty() && found.share() < kFew) {
    remarks.push_back(
        fmt::format("constraints: only {:.3g} % of the space satisfies them ({} of {}); {} fails "
                    "most",
                    found.share() * 100, found.satisfying, LookedAt(found),
                    Quoted(space, HardestRule(found).value())));
  }
  for (const std::size_t index : found.never_active) {
    remarks.push_back(fmt::format("{}: is never active among {}: its condition is {}{}",
                                  space.parameters()[index].name, LookedAt(found),
                                  Shown(space.parameters()[index].when), RangesIn(space, index)));
  }
  for (std::size_t i = 0; i < found.rules.size(); ++i) {
    if (found.rules[i].undefined == 0) continue;
    remarks.push_back(fmt::format(
        "constraints: {} cannot be computed at {} of {}, such as {}, and so does not hold there",
        Quoted(space, i), found.rules[i].undefined, LookedAt(found), found.rules[i].undefined_at));
  }
  return remarks;
}

}  // namespace sluice
