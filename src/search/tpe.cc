#include "search/tpe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "base/check.h"
#include "base/digest.h"

namespace sluice {
namespace {

constexpr std::size_t kFirst = 10;
constexpr std::size_t kFirstOfGroup = 4;
constexpr std::size_t kMostGood = 25;
constexpr std::size_t kMostKernels = 1024;
constexpr std::size_t kRecent = 25;  // trials that count in full
constexpr int kTriesForNew = 32;

double Env(const char* n, double d) { const char* v = std::getenv(n); return v ? atof(v) : d; }

std::size_t GoodOf(std::size_t trials) {
  static const double f = Env("TPE_GAMMA", 0.1);
  static const double m = Env("TPE_MOST", kMostGood);
  return std::min((std::size_t)std::ceil(f * trials), (std::size_t)m);
}

bool IsSampled(TrialId trial, int level) {
  const std::uint64_t hash = Digest().Add(std::uint64_t{Number(trial)}).Value();
  return (hash & ((std::uint64_t{1} << level) - 1)) == 0;
}

int LevelOf(std::size_t trials) {
  return trials <= kMostKernels ? 0 : std::bit_width((trials - 1) / kMostKernels);
}

std::uint64_t DigestOf(const Point& point) {
  Digest digest;
  for (const double value : point) digest.Add(value);
  return digest.Value();
}

}  // namespace

bool TpeSampler::Rank::operator<(const Rank& other) const {
  return std::tuple(kind, -work, loss, Number(trial)) <
         std::tuple(other.kind, -other.work, other.loss, Number(other.trial));
}

TpeSampler::TpeSampler(const Space& space, std::uint64_t seed)
    : space_(space),
      stream_(Random(seed).Fork("tpe")),
      first_(space, seed),
      points_(space.Cardinality()) {
  if (auto all = GridSampler::Make(space); all && points_) all_ = std::move(*all);
  for (const auto& parameters : space.groups()) {
    Group group;
    group.parameters = parameters;
    for (const std::size_t index : parameters) group.axes.push_back(AxisOf(space, index));
    groups_.push_back(std::move(group));
  }
}

bool TpeSampler::Has(const Group& group, const Known& known) const {
  return !std::isnan(known.unit[group.parameters.front()]);
}

void TpeSampler::Observe(const Observation& observation) {
  const auto [at, fresh] = known_.try_emplace(observation.trial);
  Known& known = at->second;
  if (fresh) {
    known.unit = space_.ToUnit(observation.point);
    if (points_) tried_.insert(DigestOf(observation.point));
    std::erase_if(pending_, [&](const auto& pending) {
      return DigestOf(pending.second) == DigestOf(observation.point);
    });
  } else {
    Remove(observation.trial, known);
  }
  const bool has_value = !std::isnan(observation.value);
  known.rank.reset();
  if (observation.outcome == Outcome::kFailed ||
      (!has_value && observation.outcome != Outcome::kRunning)) {
    known.rank = Rank{.kind = 2, .work = 0, .loss = 0, .trial = observation.trial};
  } else if (observation.outcome == Outcome::kComplete) {
    known.rank = Rank{.kind = 0, .work = 0, .loss = observation.value, .trial = observation.trial};
  } else if (has_value) {
    known.rank = Rank{
        .kind = 1, .work = observation.work, .loss = observation.value, .trial = observation.trial};
  }
  Add(observation.trial, known);
}

void TpeSampler::Add(TrialId trial, const Known& known) {
  ranked_ += known.rank ? 1 : 0;
  for (Group& group : groups_) {
    if (!Has(group, known)) continue;
    if (!known.rank) {
      group.running.insert(trial);
      continue;
    }
    group.ranked.insert(*known.rank);
    if (LevelOf(group.ranked.size()) != group.level) {
      Resample(group);
    } else if (IsSampled(trial, group.level)) {
      group.sampled.insert(trial);
    }
  }
}

void TpeSampler::Remove(TrialId trial, const Known& known) {
  ranked_ -= known.rank ? 1 : 0;
  for (Group& group : groups_) {
    if (!Has(group, known)) continue;
    group.running.erase(trial);
    if (!known.rank) continue;
    group.ranked.erase(*known.rank);
    group.sampled.erase(trial);
    if (LevelOf(group.ranked.size()) != group.level) Resample(group);
  }
}

void TpeSampler::Resample(Group& group) {
  group.level = LevelOf(group.ranked.size());
  group.sampled.clear();
  for (const Rank& rank : group.ranked)
    if (IsSampled(rank.trial, group.level)) group.sampled.insert(rank.trial);
}

std::optional<Point> TpeSampler::Propose(std::uint64_t counter) {
  Random random = stream_.Fork(counter);
  std::optional<Point> point;
  if (ranked_ < kFirst) {
    point = first_.Propose(counter);
    if (point && Tried(*point)) point = Untried(random);
  } else {
    point = Suggest(random);
  }
  if (!point) point = first_.Propose(counter);
  if (point) pending_[counter] = *point;
  return point;
}

bool TpeSampler::Tried(const Point& point) const {
  if (!points_ || tried_.size() >= *points_) return false;
  const std::uint64_t digest = DigestOf(point);
  return tried_.contains(digest) ||
         std::ranges::any_of(pending_, [&](const auto& pending) {
           return DigestOf(pending.second) == digest;
         });
}

std::optional<Point> TpeSampler::Suggest(Random& random) {
  std::optional<Point> last;
  for (int attempt = 0; attempt < kTriesForNew; ++attempt) {
    Point point(space_.size(), std::nan(""));
    bool good = true;
    for (const Group& group : groups_) {
      if (!space_.IsActive(point, group.parameters.front())) continue;
      good = SuggestGroup(group, random, point);
      if (!good) break;
    }
    if (!good) continue;
    last = point;
    if (!Tried(point)) return point;
  }
  if (last && points_) {
    if (auto untried = Untried(random)) return untried;
  }
  return last;
}

std::optional<Point> TpeSampler::Untried(Random& random) {
  if (!all_) return std::nullopt;
  const std::uint64_t start = random.Below(*points_);
  for (std::uint64_t i = 0; i < *points_; ++i) {
    auto point = all_->Propose((start + i) % *points_);
    if (point && !Tried(*point)) return point;
  }
  return std::nullopt;
}

TpeSampler::Densities TpeSampler::MakeDensities(const Group& group) const {
  const std::size_t trials = group.ranked.size();
  const std::size_t good_count = GoodOf(trials);
  std::vector<TrialId> good;
  for (auto at = group.ranked.begin(); good.size() < good_count; ++at) good.push_back(at->trial);
  std::ranges::sort(good);

  std::vector<double> good_rows;
  std::vector<double> bad_rows;
  std::vector<double> bad_weights;
  const auto put = [&](std::vector<double>& rows, const std::vector<double>& unit) {
    for (const std::size_t index : group.parameters) rows.push_back(unit[index]);
  };
  for (const TrialId trial : good) put(good_rows, known_.at(trial).unit);
  std::vector<TrialId> bad;
  std::ranges::set_difference(group.sampled, good, std::back_inserter(bad));
  const std::size_t all_bad = trials - good_count;
  const double each = bad.empty() ? 1 : static_cast<double>(all_bad) / static_cast<double>(bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    put(bad_rows, known_.at(bad[i]).unit);
    // The older, the less: linearly, but for the latest.
    const double age = static_cast<double>(all_bad) - (static_cast<double>(i) + 0.5) * each;
    bad_weights.push_back(
        each * (age <= kRecent ? 1.0 : (static_cast<double>(all_bad) - age) / static_cast<double>(all_bad)));
    bad_weights.back() = std::max(bad_weights.back(), 1e-9);
  }
  for (const TrialId trial : group.running) {
    put(bad_rows, known_.at(trial).unit);
    bad_weights.push_back(1);
  }
  for (const auto& [counter, point] : pending_) {
    if (std::isnan(point[group.parameters.front()])) continue;
    for (const std::size_t index : group.parameters) bad_rows.push_back(space_.ToUnit(index, point[index]));
    bad_weights.push_back(1);
  }
  const std::vector<double> good_weights(good.size(), 1.0);
  const auto dims = static_cast<double>(group.axes.size());
  const auto width = [&](double count, double base) {
    return base * std::pow(std::max(count, 1.0), -1 / (dims + 4));
  };
  static const double tc = Env("TPE_C", 0), te = Env("TPE_E", 0.5);
  static const double gw = Env("TPE_GW", 0.2), bw = Env("TPE_BW", 0.2), gg = Env("TPE_GG", 1), bg = Env("TPE_BG", 0), nn = Env("TPE_NARROW", 100), gs = Env("TPE_GS", 1);
  (void)gs;
  const auto narrowest = [&](std::size_t kernels) { return 1.0 / std::min(nn, 2.0 + kernels); };
  return {Parzen(group.axes, {.rows = good_rows, .weights = good_weights, .width = width(good.size(), gw), .gaps = gg > 0, .narrowest = narrowest(good.size())}),
          Parzen(group.axes, {.rows = bad_rows, .weights = bad_weights, .width = tc > 0 ? std::clamp(tc * std::pow(bad_weights.size(), -te), 0.05, 0.4) : width(bad_weights.size(), bw), .gaps = bg > 0, .narrowest = narrowest(bad_weights.size())})};
}

bool TpeSampler::SuggestGroup(const Group& group, Random& random, Point& point) {
  static const std::size_t kCandidates = Env("TPE_CAND", 24);
  const std::size_t axes = group.axes.size();
  const bool known = group.ranked.size() >= kFirstOfGroup;
  std::optional<Densities> densities;
  if (known) densities = MakeDensities(group);
  std::vector<double> rows;
  std::vector<std::vector<double>> values;
  std::vector<double> row(axes);
  for (std::size_t tries = 0; tries < 64 * kCandidates && values.size() < (known ? kCandidates : 1); ++tries) {
    if (known) {
      densities->good.Sample(random, row);
    } else {
      for (double& coordinate : row) coordinate = random.Uniform();
    }
    std::vector<double> value(axes);
    for (std::size_t i = 0; i < axes; ++i) {
      value[i] = space_.FromUnit(group.parameters[i], row[i]);
      row[i] = space_.ToUnit(group.parameters[i], value[i]);
      point[group.parameters[i]] = value[i];
    }
    if (!space_.Satisfies(point)) continue;
    rows.insert(rows.end(), row.begin(), row.end());
    values.push_back(std::move(value));
  }
  if (values.empty()) return false;
  std::size_t chosen = 0;
  if (known) {
    std::vector<float> good(values.size());
    std::vector<float> bad(values.size());
    densities->good.LogDensity(rows, good);
    densities->bad.LogDensity(rows, bad);
    float most = -INFINITY;
    const bool last = group.parameters == groups_.back().parameters;
    bool any_new = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float worth = good[i] - bad[i];
      bool fresh = true;
      if (points_ && last) {
        for (std::size_t a = 0; a < axes; ++a) point[group.parameters[a]] = values[i][a];
        fresh = !Tried(point);
      }
      if (fresh && !any_new) { any_new = true; most = -INFINITY; }
      else if (!fresh && any_new) continue;
      if (worth > most) {
        most = worth;
        chosen = i;
      }
    }
  }
  for (std::size_t i = 0; i < axes; ++i) point[group.parameters[i]] = values[chosen][i];
  return true;
}

}  // namespace sluice
