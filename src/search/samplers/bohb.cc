#include "search/samplers/bohb.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "space/draw.h"

namespace sluice {
namespace {

constexpr double kRandomPart = 1.0 / 3;
constexpr std::size_t kGoodPercent = 15;
constexpr std::size_t kBohbCandidates = 64;
constexpr std::size_t kBohbDraws = 64;  // for each candidate, if constraints refuse some draws
constexpr int kBohbPoints = 16;         // whole points, if constraints between groups refuse some
constexpr double kWider = 3;
// The weight of all kernels of a density together, beside a prior of weight 1. It is the same for
// the good and the bad density, however many trials they have. Otherwise l / g would be large where
// no trial was.
constexpr double kWeight = 50;
// The most kernels of one density. If there are more trials, kernels are made of trials at even
// distances in the ranking.
constexpr std::size_t kMostKernels = 1024;

template <typename T>
std::vector<T> Thinned(const std::vector<T>& all) {
  if (all.size() <= kMostKernels) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < kMostKernels; ++i) some.push_back(all[i * all.size() / kMostKernels]);
  return some;
}

// Scott's rule for values in [0, 1], with a lower bound that depends on the number of trials. The
// published bound of 0.001 is too narrow: once the good trials are close together, it keeps
// proposals there.
double BandwidthOf(const std::vector<double>& rows, std::size_t axis, std::size_t axes) {
  const std::size_t trials = rows.size() / axes;
  const auto count = static_cast<double>(trials);
  double mean = 0;
  for (std::size_t i = axis; i < rows.size(); i += axes) mean += rows[i] / count;
  double squares = 0;
  for (std::size_t i = axis; i < rows.size(); i += axes)
    squares += (rows[i] - mean) * (rows[i] - mean) / count;
  const double shrink = std::pow(count, -1 / (4 + static_cast<double>(axes)));
  const double narrowest = 1 / std::min(100.0, 2 + count);
  return std::clamp(1.06 * std::sqrt(squares) * shrink, narrowest, 1.0);
}

}  // namespace

BohbSampler::BohbSampler(const SamplerSpec& spec, const Space& space, std::uint64_t seed)
    : space_(space),
      stream_(Random(seed).Fork("bohb")),
      levels_(spec.levels.empty() ? std::vector<Work>{std::numeric_limits<Work>::max()}
                                  : spec.levels),
      ranked_(levels_.size()) {
  for (const auto& parameters : space.groups()) {
    if (parameters.empty()) continue;
    Group group{.parameters = parameters, .axes = {}};
    for (const std::size_t index : parameters) group.axes.push_back(AxisOf(space, index));
    groups_.push_back(std::move(group));
  }
}

// The number of levels that a trial counts at.
std::size_t BohbSampler::ReachedBy(const Observation& observation) const {
  if (observation.outcome == Outcome::kComplete) return levels_.size();
  const auto passed = static_cast<std::size_t>(std::ranges::upper_bound(levels_, observation.work) -
                                               levels_.begin());
  // A trial that has ended counts at the first level at least.
  return observation.outcome == Outcome::kRunning || observation.outcome == Outcome::kPaused
             ? passed
             : std::max<std::size_t>(passed, 1);
}

void BohbSampler::Observe(const Observation& observation) {
  const auto [at, fresh] = known_.try_emplace(observation.trial);
  Known& known = at->second;
  if (fresh) known.unit = space_.ToUnit(observation.point);
  for (std::size_t level = 0; level < known.reached; ++level)
    ranked_[level].erase({known.loss, observation.trial});
  const bool bad = std::isnan(observation.value) || observation.outcome == Outcome::kFailed;
  known.loss = bad ? std::numeric_limits<double>::infinity() : observation.value;
  known.reached = ReachedBy(observation);
  for (std::size_t level = 0; level < known.reached; ++level)
    ranked_[level].insert({known.loss, observation.trial});
}

std::optional<Point> BohbSampler::Propose(std::uint64_t counter) {
  Random random = stream_.Fork(counter);
  if (!random.Chance(kRandomPart)) {
    if (auto point = Suggest(random)) return point;
  }
  return DrawPoint(space_, random);
}

// The trials of the largest budget that enough trials have reached.
const std::set<BohbSampler::Rank>* BohbSampler::Chosen() const {
  for (std::size_t level = levels_.size(); level-- > 0;) {
    if (ranked_[level].size() >= space_.size() + 2) return &ranked_[level];
  }
  return nullptr;
}

std::optional<Point> BohbSampler::Suggest(Random& random) const {
  const std::set<Rank>* ranked = Chosen();
  if (ranked == nullptr) return std::nullopt;
  for (int drawn = 0; drawn < kBohbPoints; ++drawn) {
    Point point(space_.size(), kInactive);
    const bool whole = std::ranges::all_of(groups_, [&](const Group& group) {
      return !space_.IsActive(point, group.parameters.front()) ||
             SuggestGroup(group, *ranked, random, point);
    });
    if (whole) return point;
  }
  return std::nullopt;
}

BohbSampler::Rows BohbSampler::MakeRows(const Group& group,
                                        const std::vector<const Known*>& trials) const {
  Rows rows;
  for (const Known* trial : trials) {
    for (const std::size_t index : group.parameters) rows.coordinates.push_back(trial->unit[index]);
  }
  rows.weights.assign(trials.size(), kWeight / static_cast<double>(trials.size()));
  const std::size_t axes = group.axes.size();
  for (std::size_t axis = 0; axis < axes; ++axis)
    rows.widths.push_back(BandwidthOf(rows.coordinates, axis, axes));
  return rows;
}

// Draws points of the group from the density `from`, or uniformly if it is null. Each point
// satisfies the constraints as far as they can be checked with this group and the groups before it.
// Returns false if no such point was drawn.
bool BohbSampler::DrawGroup(const Group& group, const Parzen* from, std::size_t wanted,
                            Random& random, Point& point, std::vector<double>& rows,
                            std::vector<std::vector<double>>& values) const {
  const std::size_t axes = group.axes.size();
  std::vector<double> row(axes);
  std::vector<double> candidate(axes);
  for (std::size_t i = 0; i < wanted * kBohbDraws && values.size() < wanted; ++i) {
    if (from != nullptr) {
      from->Sample(random, row);
    } else {
      for (double& coordinate : row) coordinate = random.Uniform();
    }
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::size_t index = group.parameters[axis];
      point[index] = candidate[axis] = space_.FromUnit(index, row[axis]);
      // The coordinate of the value, not the coordinate that was drawn.
      row[axis] = space_.ToUnit(index, candidate[axis]);
    }
    if (!space_.Satisfies(point)) continue;
    rows.insert(rows.end(), row.begin(), row.end());
    values.push_back(candidate);
  }
  return !values.empty();
}

bool BohbSampler::SuggestGroup(const Group& group, const std::set<Rank>& ranked, Random& random,
                               Point& point) const {
  std::vector<const Known*> active;  // best first
  for (const auto& [loss, trial] : ranked) {
    const Known& known = known_.at(trial);
    if (!std::isnan(known.unit[group.parameters.front()])) active.push_back(&known);
  }
  std::vector<double> rows;
  std::vector<std::vector<double>> values;
  const std::size_t least = group.parameters.size() + 2;
  if (active.size() < least) return DrawGroup(group, nullptr, 1, random, point, rows, values);

  const std::size_t good = std::max(least, active.size() * kGoodPercent / 100);
  const std::size_t bad = std::max(least, active.size() - std::min(good, active.size()));
  const Rows good_rows = MakeRows(
      group,
      Thinned(std::vector(active.begin(), active.begin() + static_cast<std::ptrdiff_t>(good))));
  const Rows bad_rows = MakeRows(
      group, Thinned(std::vector(active.end() - static_cast<std::ptrdiff_t>(bad), active.end())));
  std::vector<double> wide;
  for (const double width : good_rows.widths) wide.push_back(std::min(1.0, width * kWider));
  const auto density = [&](const Rows& from, const std::vector<double>& widths) {
    return Parzen(group.axes,
                  {.rows = from.coordinates, .weights = from.weights, .axis_widths = widths});
  };
  const Parzen drawn_from = density(good_rows, wide);
  if (!DrawGroup(group, &drawn_from, kBohbCandidates, random, point, rows, values)) return false;

  std::vector<float> worth(values.size());
  std::vector<float> against(values.size());
  density(good_rows, good_rows.widths).LogDensity(rows, worth);
  density(bad_rows, bad_rows.widths).LogDensity(rows, against);
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    worth[i] -= against[i];
    if (worth[i] > worth[best]) best = i;
  }
  for (std::size_t axis = 0; axis < group.parameters.size(); ++axis)
    point[group.parameters[axis]] = values[best][axis];
  return true;
}

}  // namespace sluice
