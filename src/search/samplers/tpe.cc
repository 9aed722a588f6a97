#include "search/samplers/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/digest.h"

namespace sluice {
namespace {

constexpr std::size_t kFirst = 8;         // ranked trials before anything is learned
constexpr std::size_t kFirstOfGroup = 4;  // the same for a group
constexpr std::size_t kTpeCandidates = 24;
// kTpeDraws: the most draws for each candidate, if constraints refuse some. kTpePoints: the most
// whole points that are drawn before a discrete space is searched for a point that was not tried.
constexpr std::size_t kTpeDraws = 64;
constexpr int kTpePoints = 16;

std::uint64_t DigestOf(const Point& point) {
  Digest digest;
  for (const double value : point) digest.Add(std::isnan(value) ? kInactive : value);
  return digest.Value();
}

void Put(const std::vector<std::size_t>& parameters, const std::vector<double>& values,
         Point& point) {
  for (std::size_t i = 0; i < parameters.size(); ++i) point[parameters[i]] = values[i];
}

}  // namespace

TpeSampler::TpeSampler(const SamplerSpec& spec, const Space& space, std::uint64_t seed)
    : space_(space),
      levels_(spec.levels),
      stream_(Random(seed).Fork("tpe")),
      first_(space, seed),
      discrete_(std::ranges::all_of(space.parameters(), [](const Parameter& parameter) {
        return parameter.Cardinality().has_value();
      })) {
  for (const auto& parameters : space.groups())
    if (!parameters.empty()) groups_.emplace_back(space, parameters, levels_.size());
}

void TpeSampler::Observe(const Observation& observation) {
  const auto [at, fresh] = known_.try_emplace(observation.trial);
  TpeTrial& known = at->second;
  const auto active = [&](const TpeGroup& group) {
    return !std::isnan(known.unit[group.parameters().front()]);
  };
  TpeTrial now = TrialOf(observation, levels_);
  if (fresh) {
    now.unit = space_.ToUnit(observation.point);
    const std::uint64_t digest = DigestOf(observation.point);
    if (discrete_) tried_.insert(digest);
    const auto proposed = std::ranges::find_if(
        pending_, [&](const auto& pending) { return pending.second.digest == digest; });
    if (proposed != pending_.end()) pending_.erase(proposed);
  } else {
    // Most reports pass no level, so nothing has changed.
    if (now.runs == known.runs && now.failed == known.failed && now.losses == known.losses) return;
    ranked_ -= known.IsRanked() ? 1 : 0;
    for (TpeGroup& group : groups_)
      if (active(group)) group.Remove(known);
    now.unit = std::move(known.unit);
  }
  known = std::move(now);
  ranked_ += known.IsRanked() ? 1 : 0;
  for (TpeGroup& group : groups_)
    if (active(group)) group.Add(known);
}

std::optional<Point> TpeSampler::Propose(std::uint64_t counter) {
  Random random = stream_.Fork(counter);
  std::optional<Point> point = ranked_ < kFirst ? first_.Propose(counter) : Suggest(random);
  if (!point || Tried(*point)) {
    if (auto untried = Untried(random)) point = std::move(untried);
  }
  if (!point) point = first_.Propose(counter);
  if (point) pending_[counter] = {.digest = DigestOf(*point), .unit = space_.ToUnit(*point)};
  return point;
}

bool TpeSampler::Tried(const Point& point) const {
  if (!discrete_) return false;
  const std::uint64_t digest = DigestOf(point);
  return tried_.contains(digest) || std::ranges::any_of(pending_, [&](const auto& pending) {
           return pending.second.digest == digest;
         });
}

std::optional<Point> TpeSampler::Untried(Random& random) {
  // Counting the points of a space with constraints takes a while, and most studies never need it.
  if (discrete_ && !looked_) {
    if (auto all = GridSampler::Make(space_)) all_ = std::move(*all);
    looked_ = true;
  }
  if (!all_ || tried_.size() >= all_->size()) return std::nullopt;
  const std::uint64_t start = random.Below(all_->size());
  for (std::uint64_t i = 0; i < all_->size(); ++i) {
    auto point = all_->Propose((start + i) % all_->size());
    if (point && !Tried(*point)) return point;
  }
  return std::nullopt;
}

// Returns a point that was tried before only if none of kTpePoints draws gives another.
std::optional<Point> TpeSampler::Suggest(Random& random) {
  std::optional<Point> last;
  for (int drawn = 0; drawn < kTpePoints; ++drawn) {
    Point point(space_.size(), kInactive);
    const bool whole = std::ranges::all_of(groups_, [&](const TpeGroup& group) {
      return !space_.IsActive(point, group.parameters().front()) ||
             SuggestGroup(group, random, point);
    });
    if (!whole) continue;
    last = point;
    if (!Tried(point)) break;
  }
  return last;
}

// Points of the group, drawn from the density `good`, or one point, drawn uniformly, if that is
// null. Each point satisfies the constraints as far as they can be checked with this group and the
// groups before it.
TpeSampler::Candidates TpeSampler::Draw(const TpeGroup& group, const Parzen* good, Random& random,
                                        Point& point) const {
  const std::size_t axes = group.parameters().size();
  const std::size_t wanted = good != nullptr ? kTpeCandidates : 1;
  Candidates candidates;
  std::vector<double> row(axes);
  std::vector<double> values(axes);
  for (std::size_t i = 0; i < kTpeCandidates * kTpeDraws && candidates.values.size() < wanted;
       ++i) {
    if (good != nullptr) {
      good->Sample(random, row);
    } else {
      for (double& coordinate : row) coordinate = random.Uniform();
    }
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::size_t index = group.parameters()[axis];
      values[axis] = space_.FromUnit(index, row[axis]);
      // The coordinate of the value, not the coordinate that was drawn.
      row[axis] = space_.ToUnit(index, values[axis]);
    }
    Put(group.parameters(), values, point);
    if (!space_.Satisfies(point)) continue;
    candidates.rows.insert(candidates.rows.end(), row.begin(), row.end());
    candidates.values.push_back(values);
  }
  return candidates;
}

bool TpeSampler::SuggestGroup(const TpeGroup& group, Random& random, Point& point) const {
  std::optional<TpeGroup::Densities> densities;
  if (group.ranked() >= kFirstOfGroup) {
    std::vector<std::vector<double>> pending;
    for (const auto& [counter, proposed] : pending_) pending.push_back(proposed.unit);
    densities = group.MakeDensities(pending);
  }
  const Candidates drawn = Draw(group, densities ? &densities->good : nullptr, random, point);
  if (drawn.values.empty()) return false;
  std::vector<std::size_t> best_first(drawn.values.size());
  std::iota(best_first.begin(), best_first.end(), std::size_t{0});
  if (densities) {
    std::vector<float> worth(drawn.values.size());
    std::vector<float> bad(drawn.values.size());
    densities->good.LogDensity(drawn.rows, worth);
    densities->bad.LogDensity(drawn.rows, bad);
    for (std::size_t i = 0; i < worth.size(); ++i) worth[i] -= bad[i];
    std::ranges::stable_sort(best_first, std::ranges::greater{},
                             [&](std::size_t i) { return worth[i]; });
  }
  // A point that still lacks groups does not count as tried.
  for (const std::size_t candidate : best_first) {
    Put(group.parameters(), drawn.values[candidate], point);
    if (!Tried(point)) return true;
  }
  // All candidates were tried before. One is taken at random, so that it is not the same each time.
  Put(group.parameters(), drawn.values[random.Below(drawn.values.size())], point);
  return true;
}

}  // namespace sluice
