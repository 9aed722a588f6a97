#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace sluice {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Maximise the objective over x >= 0, with every row's sum between its limits and every column at most its
// upper limit. Columns are added with their entries; rows are there from the start.
class LinearProgram {
 public:
  struct Row {
    double least = -kUnbounded;
    double most = kUnbounded;
  };
  struct Entry {
    std::size_t row = 0;
    double factor = 0;
  };

  explicit LinearProgram(std::vector<Row> rows) : rows_(std::move(rows)), starts_{0} {}
  // Its number, from 0 on. No row twice among the entries.
  std::size_t AddColumn(double objective, double most, const std::vector<Entry>& entries);

  const std::vector<Row>& rows() const { return rows_; }
  std::size_t columns() const { return objective_.size(); }
  // By column; the entries of column i are those from starts()[i] to starts()[i + 1].
  const std::vector<double>& objective() const { return objective_; }
  const std::vector<double>& most() const { return most_; }
  const std::vector<int>& starts() const { return starts_; }
  const std::vector<int>& entry_rows() const { return entry_rows_; }
  const std::vector<double>& entry_factors() const { return entry_factors_; }

 private:
  std::vector<Row> rows_;
  std::vector<double> objective_;
  std::vector<double> most_;
  std::vector<int> starts_;
  std::vector<int> entry_rows_;
  std::vector<double> entry_factors_;
};

struct LinearSolution {
  bool optimal = false;  // or there is none, or the solver gave up: nothing below is of use
  double value = 0;
  std::vector<double> x;  // by column
  std::vector<double>
      prices;  // by row: what one more of its upper limit would be worth, never below 0
};

// By Clp, in the simplex algorithm: the same program gives the same answer.
LinearSolution SolveLinear(const LinearProgram& program);

struct IntegerLimits {
  double seconds =
      kUnbounded;       // by the solver's own clock; once it binds, answers differ from run to run
  int nodes = 100'000;  // of its tree
  double gap = 0;       // of the value: it may stop this near to what could still be reached
};

struct IntegerSolution {
  bool found = false;   // nothing below is of use if not
  bool proven = false;  // no better one exists, up to the gap
  std::vector<double>
      x;  // by column, rounded to whole numbers; rows hold up to the solver's tolerance
};

// The same with whole numbers, by CBC, on the caller's thread and silently. One call at a time in a process:
// CBC has state of its own.
IntegerSolution SolveInteger(const LinearProgram& program, const IntegerLimits& limits);

}  // namespace sluice
