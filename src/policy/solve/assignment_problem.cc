#include "policy/solve/assignment_problem.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/check.h"
#include "policy/solve/linear_program.h"
#include "policy/solve/packing_pattern.h"

// The plain integer program has a variable for each class and bin. Bins that are alike make it
// symmetric, and its relaxation fills bins with fractions of jobs. With 24 classes and 16 bins, CBC
// has a gap of 0.3 to 3 % after 20 seconds, whether or not alike bins are put in an order. So the
// program here is that of Dantzig and Wolfe. Its variable z(p) says how many bins of a sort are
// filled as pattern p says:
//
//   maximise  sum of value(p) z(p)
//   with      sum of count(p, c) z(p) <= jobs of c        for each class c
//             sum of z(p) <= bins of s, for p of sort s   for each sort s of bins
//             sum of cpus(p) z(p) <= cpus of n            for each node n
//
// 1. A greedy solution comes first: bin after bin, the best pattern of the jobs that are left.
// 2. The relaxation is solved by column generation. Clp prices jobs and processors. The best
//    pattern of each sort at these prices (policy/solve/packing_pattern.h) becomes a column. This
//    repeats until no column is missing. Any prices give a bound: the cost of all jobs and
//    processors, plus the profit of the best pattern for each bin.
// 3. CBC solves the program on these columns.
// 4. The loss of a pattern is the profit, at these prices, of the best pattern of its sort, less
//    its own profit. A pattern that loses more than the gap between the best solution and the bound
//    is in no better solution. CBC solves the program on all other patterns: the optimum is that of
//    the whole problem. CBC first gets only the patterns that lose least, since a better solution
//    leaves fewer patterns to consider.
//
// Most problems of that size take some milliseconds. Where jobs are tiny or processors are short, a
// gap of 0.2 to 1 % may remain after seconds.

namespace sluice {
namespace {

// kOptimal allows a thousandth: half of it for the patterns that step 4 leaves out, half for the
// gap at which CBC may stop.
constexpr double kHalfGap = 0.0005;
// Column generation ends once its value is this near to the bound. That is a hundredth of the half
// gap, so nearly the whole half gap is left to CBC.
constexpr double kColumnsGap = kHalfGap / 100;
// The limits below bound the time of a plan by counts, so that it does not depend on the machine.
// Larger limits prove more plans optimal and take longer. At these, hypersack-sp4 takes about a
// millisecond a plan, 11 ms at most, and every plan is proved optimal (bench/results/policies.md).
constexpr int kSearches = 3;                           // of CBC: step 3, and two lists in step 4
constexpr std::size_t kMostListed[] = {1'000, 5'000};  // patterns, of all sorts together
constexpr int kMostHalvings = 10;                      // of the largest loss of a listed pattern
constexpr int kMostRounds = 400;                       // of column generation
// Limits of the pattern search, in looks at an item. It makes some 100 million looks in a second.
constexpr std::int64_t kGreedyWork = 1'000'000;   // for one bin
constexpr std::int64_t kPricingWork = 2'000'000;  // for one pattern
constexpr std::int64_t kMostPricingWork = 100'000'000;
constexpr std::int64_t kMostListingWork = 50'000'000;
// Of processors: more than any bin can use, and far below what 64 bits can hold.
constexpr Milli kPlenty = 1'000'000'000 * kWhole;
// Tolerances for numbers that come from the solvers. kAlmostAll: a node is short of processors if
// its bins could use more than this part of them. kLeastGain: a new column must gain more than this
// part of the value. kAlmostWhole: a number of bins that is this near below a whole number counts
// as that number.
constexpr double kAlmostAll = 0.999;
constexpr double kLeastGain = 1e-9;
constexpr double kAlmostWhole = 1e-6;

Amounts Takes(const PackingClass& job, std::size_t kind) {
  return {.share = job.on_kinds[kind].share,
          .bandwidth = job.on_kinds[kind].bandwidth,
          .memory_bytes = job.memory_bytes,
          .clients = 1,
          .cpus = job.cpus};
}

Amounts RoomOf(const PackingBin& bin, Milli cpus) {
  return AtLeastNothing({.share = bin.share,
                         .bandwidth = bin.bandwidth,
                         .memory_bytes = bin.memory_bytes,
                         .clients = bin.clients,
                         .cpus = cpus});
}

bool IsAlike(const PackingBin& a, const PackingBin& b) {
  return a.kind == b.kind && a.share == b.share && a.bandwidth == b.bandwidth &&
         a.memory_bytes == b.memory_bytes && a.clients == b.clients;
}

// Bins that are identical.
struct Sort {
  PackingBin like;
  bool short_of_cpus = false;  // all its bins are then on one node
  std::vector<std::size_t> bins;
};

// A pattern for bins of one sort.
struct BinFilling {
  std::size_t sort = 0;
  std::vector<int> counts;  // by class
  friend auto operator<=>(const BinFilling&, const BinFilling&) = default;
};

struct Filled {
  BinFilling filling;
  int bins = 0;
};

// Prices of jobs by class and of processors by node, and what follows from them.
struct Prices {
  std::vector<double> jobs;
  std::vector<double> cpus;
  std::vector<double> best;  // the highest profit of a pattern, by sort
  double bound = 0;
};

struct FillingList {
  bool complete = false;  // no other filling is in a better solution (up to kHalfGap)
  std::vector<BinFilling> fillings;
};

class Packer {
 public:
  Packer(const PackingProblem& problem, const PackingLimits& limits)
      : problem_(problem),
        limits_(limits),
        jobs_(problem.classes.size(), std::vector<int>(problem.bins.size())) {
    CheckProblem();
    SortBins();
  }

  PackingSolution Solve() {
    Keep(FillUp({}));
    Keep(FillUp(GenerateColumns()));
    if (!IsNearBound()) Search(fillings_);
    for (const std::size_t most : kMostListed) {
      if (IsNearBound() || !std::isfinite(bound_)) break;
      const FillingList list = FillingsWorthTrying(most);
      if (Search(list.fillings) && list.complete)
        bound_ = std::min(bound_, value_ * (1 + 2 * kHalfGap));
    }
    return {.proof = IsNearBound() ? Proof::kOptimal : Proof::kFeasible,
            .jobs = jobs_,
            .value = value_,
            .bound = std::max(bound_, value_)};
  }

 private:
  std::size_t classes() const { return problem_.classes.size(); }
  Milli Cpus(std::size_t node) const { return std::max<Milli>(problem_.node_cpus[node], 0); }
  bool IsNearBound() const { return value_ >= bound_ * (1 - 2 * kHalfGap); }

  void CheckProblem() const {
    for (const PackingBin& bin : problem_.bins) {
      SLUICE_CHECK(bin.node < problem_.node_cpus.size(), "a bin is on a node of the problem");
      for (const PackingClass& job : problem_.classes)
        SLUICE_CHECK(bin.kind < job.on_kinds.size(), "a class knows every kind of bins");
    }
    for (const PackingClass& job : problem_.classes) {
      SLUICE_CHECK(job.jobs >= 0 && job.memory_bytes >= 0 && job.cpus >= 0, "no needs below 0");
      for (const PackingNeed& need : job.on_kinds) {
        SLUICE_CHECK(need.share >= 0 && need.bandwidth >= 0, "no needs below 0");
        SLUICE_CHECK(!std::isinf(need.value), "a job has a value, and no end of it");
      }
    }
  }

  std::vector<int> AllJobs() const {
    std::vector<int> jobs;
    for (const PackingClass& job : problem_.classes) jobs.push_back(job.jobs);
    return jobs;
  }

  // The problem of finding patterns for a bin. The profit of a job depends on its class and on its
  // value in the bin.
  template <typename Profit>
  PatternProblem Patterns(const PackingBin& bin, Milli cpus, const std::vector<int>& jobs,
                          const Profit& profit) const {
    PatternProblem patterns{.room = RoomOf(bin, cpus), .items = {}};
    for (std::size_t c = 0; c < classes(); ++c) {
      const PackingClass& job = problem_.classes[c];
      const double value = job.on_kinds[bin.kind].value;
      const bool runs = value > 0;
      patterns.items.push_back({.takes = Takes(job, bin.kind),
                                .profit = runs ? profit(c, value) : 0,
                                .most = runs ? jobs[c] : 0});
    }
    return patterns;
  }

  // Groups identical bins. If a node has enough processors however its bins are filled, its bins
  // may share a sort with those of other such nodes.
  void SortBins() {
    const auto cpus = [&](std::size_t c, double) { return 1.0 * problem_.classes[c].cpus; };
    std::vector<double> needed(problem_.node_cpus.size());
    for (const PackingBin& bin : problem_.bins) {
      std::int64_t no_work = 0;  // no search: the bound is enough
      needed[bin.node] += FindBestPattern(Patterns(bin, kPlenty, AllJobs(), cpus), no_work).bound;
    }
    for (std::size_t i = 0; i < problem_.bins.size(); ++i) {
      const PackingBin& bin = problem_.bins[i];
      const bool short_of_cpus =
          needed[bin.node] > kAlmostAll * static_cast<double>(Cpus(bin.node));
      const auto alike = std::ranges::find_if(sorts_, [&](const Sort& sort) {
        return IsAlike(sort.like, bin) && sort.short_of_cpus == short_of_cpus &&
               (!short_of_cpus || sort.like.node == bin.node);
      });
      if (alike != sorts_.end()) {
        alike->bins.push_back(i);
      } else {
        sorts_.push_back({.like = bin, .short_of_cpus = short_of_cpus, .bins = {i}});
      }
    }
  }

  double Value(const BinFilling& filling) const {
    double value = 0;
    for (std::size_t c = 0; c < classes(); ++c) {
      if (filling.counts[c] == 0) continue;
      const std::size_t kind = sorts_[filling.sort].like.kind;
      value += filling.counts[c] * problem_.classes[c].on_kinds[kind].value;
    }
    return value;
  }

  // The processors that the filling counts with; 0 if they are not short for its bins.
  Milli CountedCpus(const BinFilling& filling) const {
    Milli cpus = 0;
    if (!sorts_[filling.sort].short_of_cpus) return cpus;
    for (std::size_t c = 0; c < classes(); ++c)
      cpus += filling.counts[c] * problem_.classes[c].cpus;
    return cpus;
  }

  bool AddColumn(const BinFilling& filling) {
    if (!known_.insert(filling).second) return false;
    fillings_.push_back(filling);
    return true;
  }

  // Makes this the best solution, if it keeps to the limits and is better than the one so far.
  void Keep(const std::vector<Filled>& all) {
    std::vector<std::vector<int>> jobs(classes(), std::vector<int>(problem_.bins.size()));
    std::vector<std::size_t> used(sorts_.size());
    double value = 0;
    for (const auto& [filling, bins] : all) {
      const std::vector<std::size_t>& like = sorts_[filling.sort].bins;
      for (int i = 0; i < bins; ++i) {
        if (used[filling.sort] == like.size()) return;
        const std::size_t bin = like[used[filling.sort]++];
        for (std::size_t c = 0; c < classes(); ++c) jobs[c][bin] = filling.counts[c];
      }
      value += bins * Value(filling);
    }
    if (value <= value_ || !HoldsToLimits(problem_, jobs)) return;
    jobs_ = std::move(jobs);
    value_ = value;
  }

  // Adds a pattern for each bin that `all` leaves empty. Each bin, one after the other, gets the
  // best pattern that still fits.
  std::vector<Filled> FillUp(std::vector<Filled> all) {
    std::vector<int> jobs = AllJobs();
    std::vector<Milli> cpus;
    for (std::size_t n = 0; n < problem_.node_cpus.size(); ++n) cpus.push_back(Cpus(n));
    std::vector<std::size_t> used(sorts_.size());
    const auto take = [&](const Filled& filled) {
      const auto& [filling, bins] = filled;
      for (std::size_t c = 0; c < classes(); ++c) jobs[c] -= bins * filling.counts[c];
      cpus[sorts_[filling.sort].like.node] -= bins * CountedCpus(filling);
      used[filling.sort] += static_cast<std::size_t>(bins);
    };
    std::ranges::for_each(all, take);
    const auto worth = [](std::size_t, double value) { return value; };
    for (std::size_t s = 0; s < sorts_.size(); ++s) {
      const auto& [like, short_of_cpus, bins] = sorts_[s];
      while (used[s] < bins.size()) {
        std::int64_t work = kGreedyWork;
        const Milli room = short_of_cpus ? cpus[like.node] : kPlenty;
        BestPattern best = FindBestPattern(Patterns(like, room, jobs, worth), work);
        all.push_back({.filling = {s, std::move(best.pattern.counts)}, .bins = 1});
        take(all.back());
        AddColumn(all.back().filling);
      }
    }
    return all;
  }

  LinearProgram Master(const std::vector<BinFilling>& fillings) const {
    std::vector<LinearProgram::Row> rows;
    for (const PackingClass& job : problem_.classes) rows.push_back({.most = 1.0 * job.jobs});
    for (const Sort& sort : sorts_) rows.push_back({.most = 1.0 * sort.bins.size()});
    for (std::size_t n = 0; n < problem_.node_cpus.size(); ++n)
      rows.push_back({.most = static_cast<double>(Cpus(n)) / kWhole});
    LinearProgram master(std::move(rows));
    for (const BinFilling& filling : fillings) {
      const Sort& sort = sorts_[filling.sort];
      std::vector<LinearProgram::Entry> entries;
      for (std::size_t c = 0; c < classes(); ++c)
        if (filling.counts[c] > 0) entries.push_back({c, 1.0 * filling.counts[c]});
      entries.push_back({classes() + filling.sort, 1});
      if (const Milli cpus = CountedCpus(filling); cpus > 0) {
        entries.push_back(
            {classes() + sorts_.size() + sort.like.node, static_cast<double>(cpus) / kWhole});
      }
      master.AddColumn(Value(filling), 1.0 * sort.bins.size(), entries);
    }
    return master;
  }

  PatternProblem PricedPatterns(const Sort& sort, const Prices& prices) const {
    const std::size_t node = sort.like.node;
    const double cpu_price = sort.short_of_cpus ? prices.cpus[node] / kWhole : 0;
    const auto gain = [&](std::size_t c, double value) {
      return value - prices.jobs[c] - cpu_price * static_cast<double>(problem_.classes[c].cpus);
    };
    return Patterns(sort.like, sort.short_of_cpus ? Cpus(node) : kPlenty, AllJobs(), gain);
  }

  // Sets `prices` to those of a relaxed solution, and adds the best pattern of each sort to the
  // columns. Returns whether any of them is new.
  bool Price(const LinearSolution& relaxed, std::int64_t& work_left, Prices& prices) {
    const auto row = [&](std::size_t i) {
      return relaxed.prices.begin() + static_cast<std::ptrdiff_t>(i);
    };
    const std::size_t first_cpus = classes() + sorts_.size();
    prices.jobs.assign(row(0), row(classes()));
    prices.cpus.assign(row(first_cpus), relaxed.prices.end());
    for (std::size_t c = 0; c < classes(); ++c)
      prices.bound += prices.jobs[c] * problem_.classes[c].jobs;
    for (std::size_t n = 0; n < prices.cpus.size(); ++n)
      prices.bound += prices.cpus[n] * static_cast<double>(Cpus(n)) / kWhole;
    bool added = false;
    for (std::size_t s = 0; s < sorts_.size(); ++s) {
      std::int64_t work = std::min(work_left, kPricingWork);
      work_left -= work;
      BestPattern best = FindBestPattern(PricedPatterns(sorts_[s], prices), work);
      work_left += work;
      prices.best.push_back(best.bound);
      prices.bound += best.bound * static_cast<double>(sorts_[s].bins.size());
      if (best.pattern.profit > *row(classes() + s) + kLeastGain * relaxed.value)
        added |= AddColumn({s, std::move(best.pattern.counts)});
    }
    return added;
  }

  // Solves the relaxation and returns its solution, rounded down.
  std::vector<Filled> GenerateColumns() {
    LinearSolution relaxed;
    std::int64_t work_left = kMostPricingWork;
    for (int round = 0; round < kMostRounds; ++round) {
      LinearSolution next = SolveLinear(Master(fillings_));
      if (!next.optimal) break;
      relaxed = std::move(next);
      Prices prices;
      const bool added = Price(relaxed, work_left, prices);
      if (prices.bound < bound_) {
        bound_ = prices.bound;
        prices_ = std::move(prices);
      }
      if (!added || bound_ <= relaxed.value * (1 + kColumnsGap)) break;
    }
    std::vector<Filled> whole;
    for (std::size_t i = 0; i < relaxed.x.size(); ++i)
      if (const int bins = static_cast<int>(relaxed.x[i] + kAlmostWhole); bins > 0)
        whole.push_back({.filling = fillings_[i], .bins = bins});
    return whole;
  }

  // All columns, and the patterns that do not lose too much. If there are more than `most` such
  // patterns, only those that lose least.
  FillingList FillingsWorthTrying(std::size_t most) const {
    std::set<BinFilling> all;
    std::int64_t work = kMostListingWork;
    const double between = bound_ - value_ * (1 + kHalfGap);
    double loss = between;
    bool listed = ListFillings(loss, most, work, all);
    for (int i = 0; i < kMostHalvings && !listed; ++i) {
      loss /= 2;
      listed = ListFillings(loss, most, work, all);
    }
    const bool complete = listed && loss == between;
    all.insert(fillings_.begin(), fillings_.end());
    return {.complete = complete, .fillings = {all.begin(), all.end()}};
  }

  // Lists the patterns that lose at most `loss`. Returns false if the list is incomplete: there are
  // more than `most`, or `work` was used up.
  bool ListFillings(double loss, std::size_t most, std::int64_t& work,
                    std::set<BinFilling>& all) const {
    all.clear();
    for (std::size_t s = 0; s < sorts_.size(); ++s) {
      PatternList list = ListPatterns(PricedPatterns(sorts_[s], prices_), prices_.best[s] - loss,
                                      most + 1 - all.size(), work);
      if (!list.complete) return false;
      for (Pattern& pattern : list.patterns) all.insert({s, std::move(pattern.counts)});
    }
    return true;
  }

  // Lets CBC combine these patterns. Returns whether no combination is better than the best
  // solution that is then known.
  bool Search(const std::vector<BinFilling>& fillings) {
    if (limits_.nodes <= 0 || limits_.seconds <= 0) return false;
    const IntegerSolution found = SolveInteger(
        Master(fillings),
        {.seconds = limits_.seconds / kSearches, .nodes = limits_.nodes, .gap = kHalfGap});
    if (!found.found) return false;
    std::vector<Filled> all;
    double value = 0;
    for (std::size_t i = 0; i < fillings.size(); ++i) {
      const int bins = static_cast<int>(found.x[i]);
      if (bins <= 0) continue;
      all.push_back({.filling = fillings[i], .bins = bins});
      value += bins * Value(fillings[i]);
    }
    Keep(all);
    // Because of rounding errors, what CBC found may break a limit. Keep has then ignored it.
    return found.proven && value_ >= value;
  }

  const PackingProblem& problem_;
  const PackingLimits& limits_;
  std::vector<Sort> sorts_;
  std::vector<BinFilling> fillings_;  // columns
  std::set<BinFilling> known_;        // the same, for look-up
  double bound_ = std::numeric_limits<double>::infinity();
  Prices prices_;                       // the prices that give the bound
  std::vector<std::vector<int>> jobs_;  // the best solution
  double value_ = 0;
};

}  // namespace

PackingSolution SolvePacking(const PackingProblem& problem, const PackingLimits& limits) {
  return Packer(problem, limits).Solve();
}

bool HoldsToLimits(const PackingProblem& problem, const std::vector<std::vector<int>>& jobs) {
  std::vector<Milli> cpus(problem.node_cpus.size());
  std::vector<std::int64_t> placed(problem.classes.size());
  for (std::size_t b = 0; b < problem.bins.size(); ++b) {
    const PackingBin& bin = problem.bins[b];
    Amounts used;
    for (std::size_t c = 0; c < problem.classes.size(); ++c) {
      const int count = jobs[c][b];
      if (count == 0) continue;
      if (count < 0 || !(problem.classes[c].on_kinds[bin.kind].value > 0)) return false;
      placed[c] += count;
      used += count * Takes(problem.classes[c], bin.kind);
    }
    cpus[bin.node] += used.cpus;
    if (!Fits(used, RoomOf(bin, used.cpus))) return false;
  }
  for (std::size_t n = 0; n < cpus.size(); ++n)
    if (cpus[n] > std::max<Milli>(problem.node_cpus[n], 0)) return false;
  for (std::size_t c = 0; c < placed.size(); ++c)
    if (placed[c] > problem.classes[c].jobs) return false;
  return true;
}

}  // namespace sluice
