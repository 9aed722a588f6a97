#include "space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "space/enumeration.h"
#include "space/law.h"

namespace sluice {
namespace {}  // namespace

Result<Space> Space::Make(std::vector<Parameter> parameters, std::vector<std::string> constraints) {
  std::set<std::string_view> names;
  for (const Parameter& parameter : parameters) {
    SLUICE_TRY(CheckParameter(parameter));
    if (!names.insert(parameter.name).second) {
      return InvalidArgument(
          fmt::format("{}: expected different names, found this one twice", parameter.name));
    }
  }
  Space space;
  space.parameters_ = std::move(parameters);
  space.constraints_ = std::move(constraints);
  SLUICE_TRY(space.ReadConditions());
  SLUICE_TRY(space.PutInOrder());
  space.PutInGroups();
  return space;
}

Status Space::ReadConditions() {
  const Symbols symbols(parameters_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    conditions_.emplace_back();
    if (parameter.when.empty()) continue;
    auto condition = Expression::Parse(parameter.when, symbols);
    if (!condition) {
      return InvalidArgument(fmt::format("{}: when '{}': {}", parameter.name, Shown(parameter.when),
                                         condition.error().message));
    }
    const bool always = condition->is_constant() && condition->Evaluate({}) == Truth::kTrue;
    if (!always) conditions_[i] = std::move(*condition);
  }
  for (const std::string& constraint : constraints_) {
    auto rule = Expression::Parse(constraint, symbols);
    if (!rule) {
      return InvalidArgument(
          fmt::format("constraints: '{}': {}", Shown(constraint), rule.error().message));
    }
    rules_.push_back(std::move(*rule));
  }
  return {};
}

// Among the parameters that could come next, always takes the one that is listed first. A parameter
// that is left over at the end depends on a circle of conditions.
Status Space::PutInOrder() {
  std::vector<std::size_t> waits_for(size());
  std::vector<std::vector<std::size_t>> waiting(size());
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!conditions_[i] || conditions_[i]->is_constant()) {
      ready.insert(i);
      continue;
    }
    waits_for[i] = conditions_[i]->mentions().size();
    for (const std::size_t other : conditions_[i]->mentions()) waiting[other].push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t next = ready.extract(ready.begin()).value();
    order_.push_back(next);
    for (const std::size_t other : waiting[next]) {
      if (--waits_for[other] == 0) ready.insert(other);
    }
  }
  if (order_.size() == size()) return {};
  std::size_t at = static_cast<std::size_t>(
      std::ranges::find_if(waits_for, [](std::size_t count) { return count > 0; }) -
      waits_for.begin());
  std::vector<std::size_t> way;
  while (std::ranges::find(way, at) == way.end()) {
    way.push_back(at);
    at = *std::ranges::find_if(conditions_[at]->mentions(),
                               [&](std::size_t other) { return waits_for[other] > 0; });
  }
  way.erase(way.begin(), std::ranges::find(way, at));
  const Parameter& first = parameters_[at];
  if (way.size() == 1) {
    return InvalidArgument(
        fmt::format("{}: when '{}': expected a condition on other parameters, "
                    "found one on itself",
                    first.name, Shown(first.when)));
  }
  std::vector<std::string> names;
  for (const std::size_t index : way) names.push_back(parameters_[index].name);
  return InvalidArgument(
      fmt::format("{}: when '{}': expected conditions that do not go round in a circle, found {} "
                  "-> {}, each depending on the next; remove one of them",
                  first.name, Shown(first.when), Join(names, " -> "), first.name));
}

void Space::PutInGroups() {
  groups_.emplace_back();
  for (const std::size_t i : order_) {
    const auto same = [&](const std::vector<std::size_t>& group) {
      return !group.empty() && conditions_[group.front()] == conditions_[i];
    };
    if (!conditions_[i]) {
      groups_.front().push_back(i);
    } else if (const auto group = std::find_if(groups_.begin() + 1, groups_.end(), same);
               group != groups_.end()) {
      group->push_back(i);
    } else {
      groups_.push_back({i});
    }
  }
}

std::optional<std::size_t> Space::Find(std::string_view name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Space::Cardinality() const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  if (!is_plain()) return CountPoints(*this);
  std::uint64_t product = 1;
  for (const Parameter& parameter : parameters_) {
    const std::optional<std::uint64_t> count = parameter.Cardinality();
    if (!count || *count > kMost / product) return std::nullopt;
    product *= *count;
  }
  return product;
}

const Expression* Space::condition(std::size_t index) const {
  return conditions_[index] ? &*conditions_[index] : nullptr;
}

bool Space::IsActive(const Point& point, std::size_t index) const {
  const Expression* condition = this->condition(index);
  if (condition == nullptr) return true;
  const auto inactive = [&](std::size_t other) { return std::isnan(point[other]); };
  return std::ranges::none_of(condition->mentions(), inactive) &&
         condition->Evaluate(point) == Truth::kTrue;
}

bool Space::Satisfies(const Point& point) const {
  return std::ranges::all_of(rules_,
                             [&](const Expression& rule) { return Satisfies(point, rule); });
}

bool Space::Satisfies(const Point& point, const Expression& rule) const {
  const auto inactive = [&](std::size_t other) { return std::isnan(point[other]); };
  return std::ranges::any_of(rule.mentions(), inactive) || rule.Evaluate(point) == Truth::kTrue;
}

Value Space::ValueAt(const Point& point, std::size_t index) const {
  SLUICE_CHECK(point.size() == parameters_.size(), "a point has a value for each parameter");
  SLUICE_CHECK(index < parameters_.size(), "a parameter's index is in the space");
  const Parameter& parameter = parameters_[index];
  const double value = point[index];
  SLUICE_CHECK(ContainsValue(parameter, value), "a value lies in its parameter's range");
  if (parameter.has_choices()) return parameter.choices[static_cast<std::size_t>(value)];
  if (parameter.kind == ParameterKind::kInt) return static_cast<std::int64_t>(value);
  return value;
}

double Space::Nth(std::size_t index, std::uint64_t number) const {
  SLUICE_CHECK(index < parameters_.size(), "a parameter's index is in the space");
  const std::optional<std::uint64_t> count = parameters_[index].Cardinality();
  SLUICE_CHECK(count && number < *count, "the number of a value is below the cardinality");
  return NthValue(parameters_[index], number);
}

Point Space::FromUnit(const std::vector<double>& unit) const {
  SLUICE_CHECK(unit.size() == parameters_.size(), "there is a coordinate for each parameter");
  Point point(unit.size());
  for (const std::size_t i : order_) {
    point[i] = IsActive(point, i) ? sluice::FromUnit(parameters_[i], unit[i]) : kInactive;
  }
  return point;
}

std::vector<double> Space::ToUnit(const Point& point) const {
  SLUICE_CHECK(point.size() == parameters_.size(), "a point has a value for each parameter");
  std::vector<double> unit(point.size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (std::isnan(point[i]) && conditions_[i]) {
      unit[i] = kInactive;
      continue;
    }
    SLUICE_CHECK(ContainsValue(parameters_[i], point[i]), "a value lies in its parameter's range");
    unit[i] = sluice::ToUnit(parameters_[i], point[i]);
  }
  return unit;
}

double Space::FromUnit(std::size_t index, double unit) const {
  SLUICE_CHECK(index < parameters_.size(), "a parameter's index is in the space");
  return sluice::FromUnit(parameters_[index], unit);
}

double Space::ToUnit(std::size_t index, double value) const {
  SLUICE_CHECK(index < parameters_.size(), "a parameter's index is in the space");
  return sluice::ToUnit(parameters_[index], value);
}

bool Space::Contains(const Point& point) const {
  if (point.size() != parameters_.size()) return false;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (!(std::isnan(point[i]) && conditions_[i]) && !ContainsValue(parameters_[i], point[i]))
      return false;
  }
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (IsActive(point, i) == std::isnan(point[i])) return false;
  }
  return Satisfies(point);
}

}  // namespace sluice
