#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What one job of a class takes of a device of one kind, and its run time.
struct BoundNeed {
  double seconds = std::numeric_limits<double>::infinity();  // infinite: the job cannot run there
  Milli share = 0;
  Milli bandwidth = 0;
};

// Identical jobs.
struct BoundClass {
  double jobs = 0;
  std::int64_t memory_bytes = 0;  // of each, on its device
  Milli cpus = 0;                 // of each
  std::vector<BoundNeed> on_kinds;
};

// Identical, empty devices.
struct BoundKind {
  double devices = 0;
  std::int64_t memory_bytes = 0;  // of each
  int clients = kMostClients;     // jobs on each at once
};

struct BoundProblem {
  std::vector<BoundClass> classes;
  std::vector<BoundKind> kinds;  // in the order of on_kinds
  Milli cpus = 0;                // of the whole cluster
};

// A lower bound on the makespan, in seconds: no schedule that runs every job on one device ends
// sooner. Infinite if some job fits nowhere, 0 without jobs.
double PackingBound(const BoundProblem& problem);

}  // namespace sluice
