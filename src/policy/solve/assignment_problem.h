#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What one job of a class takes of a device of one kind, and what placing it there is worth.
struct PackingNeed {
  Milli share = 0;
  Milli bandwidth = 0;
  double value = 0;  // 0 or less, or NaN: the job cannot run there
};

// Identical jobs: the size of the problem grows with classes, not with jobs.
struct PackingClass {
  int jobs = 0;
  std::int64_t memory_bytes = 0;  // of each, on its device
  Milli cpus = 0;                 // of each, on its node
  std::vector<PackingNeed> on_kinds;
};

// What is free of a device. A negative amount, where a device is overfull already, counts as 0.
struct PackingBin {
  std::size_t kind = 0;  // index in on_kinds
  std::size_t node = 0;  // index in node_cpus
  Milli share = 0;
  Milli bandwidth = 0;
  std::int64_t memory_bytes = 0;
  int clients = 0;  // how many more jobs the device may have
};

struct PackingProblem {
  std::vector<PackingClass> classes;
  std::vector<PackingBin> bins;
  std::vector<Milli> node_cpus;  // what is free on each node
};

// Limits of the search. The steps before the search are bounded by counts.
struct PackingLimits {
  int nodes = 200;  // of each search tree; there are at most three trees; 0: no search
  // By the solver's own clock; 0: no search. If this limit ends a search, two runs may differ.
  double seconds = std::numeric_limits<double>::infinity();
};

// What is known of a solution.
enum class Proof {
  kOptimal,   // no solution has a value that is higher by more than a thousandth
  kFeasible,  // there may be better solutions
};

struct PackingSolution {
  Proof proof = Proof::kFeasible;
  std::vector<std::vector<int>> jobs;  // [class][bin]
  double value = 0;
  double bound = 0;  // no solution has a higher value; infinite if nothing is known
};

// HyperSack's GPU Assignment Problem: which jobs to place, and where, so that the placed jobs have
// the highest total value. Limits are the share, bandwidth, memory and clients of each bin, and the
// processors of each node. There is always a solution. It keeps to the limits exactly, in whole
// numbers. A process may make only one call at a time, because CBC has global state.
PackingSolution SolvePacking(const PackingProblem& problem, const PackingLimits& limits);

// Whether these jobs, by class and bin, exist, can run in their bins, and fit.
bool HoldsToLimits(const PackingProblem& problem, const std::vector<std::vector<int>>& jobs);

}  // namespace sluice
