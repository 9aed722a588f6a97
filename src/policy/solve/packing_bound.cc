#include "policy/solve/packing_bound.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "policy/solve/linear_program.h"

// A schedule that ends at T uses no more of a device's share than the device offers during T. The
// same holds for all other resources. So T is at least the least T of this program:
//
//   minimise T over x >= 0
//   with      sum over k of x(c, k) = jobs of c                                 for each class c
//             sum over c of share(c, k) seconds(c, k) x(c, k) <= devices(k) T   for each kind k
//             the same with memory, bandwidth, and clients
//             sum over c and k of cpus(c) seconds(c, k) x(c, k) <= cpus T
//             T >= seconds(c, k) on the best k that c fits on                   for each class c
//
// x(c, k) is the number of jobs of class c that run on devices of kind k. It may be a fraction.
//
// Aggregating devices into kinds and jobs into classes does not weaken the bound. Consider the
// detailed program, with a variable for each job and device. Both programs have solutions for the
// same values of T. From a detailed solution, sum up the variables over the jobs of a class and the
// devices of a kind. The sums keep to the limits here, because these are the sums of the detailed
// limits. From a solution here, divide each x(c, k) into equal parts, one for each job of c and
// device of k. The parts keep to the detailed limits. Processors are counted for all nodes
// together. If the nodes are identical, this makes no difference either, by the same argument. If
// they differ, the bound is weaker, but never wrong.
//
// The number of rows grows only with kinds and classes, so the simplex algorithm takes well under a
// millisecond.

namespace sluice {
namespace {

// What a job takes of a device, as fractions of the whole.
struct Parts {
  double share = 0;
  double bandwidth = 0;
  double memory = 0;
  double client = 0;
};

constexpr std::size_t kRowsOfKind = 4;  // one for each of the parts

double PartOf(double amount, double whole) {
  if (amount <= 0) return 0;
  return whole > 0 ? amount / whole : std::numeric_limits<double>::infinity();
}

Parts PartsOf(const BoundClass& job, const BoundNeed& need, const BoundKind& kind) {
  return {.share = PartOf(static_cast<double>(need.share), kWhole),
          .bandwidth = PartOf(static_cast<double>(need.bandwidth), kWhole),
          .memory =
              PartOf(static_cast<double>(job.memory_bytes), static_cast<double>(kind.memory_bytes)),
          .client = PartOf(1, kind.clients)};
}

bool CanRunOn(const BoundProblem& problem, const BoundClass& job, std::size_t k) {
  const Parts parts = PartsOf(job, job.on_kinds[k], problem.kinds[k]);
  return std::isfinite(job.on_kinds[k].seconds) && problem.kinds[k].devices > 0 &&
         job.cpus <= problem.cpus &&
         std::max({parts.share, parts.bandwidth, parts.memory, parts.client}) <= 1;
}

// The time of the longest job, each job alone on the kind where it is fastest.
double LongestJob(const BoundProblem& problem) {
  double longest_s = 0;
  for (const BoundClass& job : problem.classes) {
    SLUICE_CHECK(job.on_kinds.size() == problem.kinds.size(),
                 "a class knows every kind of devices");
    if (job.jobs <= 0) continue;
    double quickest_s = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < problem.kinds.size(); ++k)
      if (CanRunOn(problem, job, k)) quickest_s = std::min(quickest_s, job.on_kinds[k].seconds);
    longest_s = std::max(longest_s, quickest_s);
  }
  return longest_s;
}

// Rows: one for each class, kRowsOfKind for each kind, one for the processors, one for the longest
// job. Column 0 is T, in units of the longest job, so that numbers are near 1 whatever the size of
// the jobs.
LinearProgram ProgramOf(const BoundProblem& problem, double unit_seconds) {
  const std::size_t classes = problem.classes.size();
  const std::size_t kinds = problem.kinds.size();
  const std::size_t cpus_row = classes + kRowsOfKind * kinds;
  std::vector<LinearProgram::Row> rows;
  for (const BoundClass& job : problem.classes) {
    const double jobs = std::max(job.jobs, 0.0);
    rows.push_back({.least = jobs, .most = jobs});
  }
  rows.resize(cpus_row + 1, {.most = 0});
  rows.push_back({.least = 1});
  LinearProgram program(std::move(rows));

  const double cpus = static_cast<double>(problem.cpus) / kWhole;
  std::vector<LinearProgram::Entry> time{{cpus_row, -cpus}, {cpus_row + 1, 1}};
  for (std::size_t k = 0; k < kinds; ++k)
    for (std::size_t i = 0; i < kRowsOfKind; ++i)
      time.push_back({classes + kRowsOfKind * k + i, -problem.kinds[k].devices});
  program.AddColumn(-1, kUnbounded, time);

  for (std::size_t c = 0; c < classes; ++c) {
    const BoundClass& job = problem.classes[c];
    for (std::size_t k = 0; k < kinds; ++k) {
      if (!CanRunOn(problem, job, k)) continue;
      const double time_units = job.on_kinds[k].seconds / unit_seconds;
      const Parts parts = PartsOf(job, job.on_kinds[k], problem.kinds[k]);
      const std::size_t row = classes + kRowsOfKind * k;
      const double job_cpus = static_cast<double>(job.cpus) / kWhole;
      program.AddColumn(0, kUnbounded,
                        {{c, 1},
                         {row, parts.share * time_units},
                         {row + 1, parts.bandwidth * time_units},
                         {row + 2, parts.memory * time_units},
                         {row + 3, parts.client * time_units},
                         {cpus_row, job_cpus * time_units}});
    }
  }
  return program;
}

}  // namespace

double PackingBound(const BoundProblem& problem) {
  const double longest_s = LongestJob(problem);
  if (longest_s <= 0 || !std::isfinite(longest_s)) return longest_s;
  const LinearSolution solution = SolveLinear(ProgramOf(problem, longest_s));
  // Without a solution the longest job is still a bound.
  return solution.optimal ? longest_s * std::max(1.0, solution.x[0]) : longest_s;
}

}  // namespace sluice
