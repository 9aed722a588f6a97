#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace sluice {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// A linear program: maximise the objective over x >= 0. Each column is one x, and is at most its
// upper limit. The sum of each row is between the row's limits. Rows exist from the start; columns
// are added with their entries.
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
  // Returns the number of the column, counted from 0. No row may occur twice among the entries.
  std::size_t AddColumn(double objective, double most, const std::vector<Entry>& entries);

  const std::vector<Row>& rows() const { return rows_; }
  std::size_t columns() const { return objective_.size(); }
  // By column; the entries of column i are those from starts()[i] to starts()[i + 1] - 1.
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
  bool optimal = false;  // false: no optimum exists, or the solver gave up; ignore the rest
  double value = 0;
  std::vector<double> x;  // by column
  // By row: what one more unit of its upper limit would be worth, never below 0.
  std::vector<double> prices;
};

// Solved by Clp with the simplex algorithm. The same program gives the same answer.
LinearSolution SolveLinear(const LinearProgram& program);

struct IntegerLimits {
  // By the solver's own clock. If this limit ends the search, answers differ from run to run.
  double seconds = kUnbounded;
  int nodes = 100'000;  // of the search tree
  // The solver may stop once its value is this near to the best value that is still possible. As a
  // fraction of the value.
  double gap = 0;
};

struct IntegerSolution {
  bool found = false;   // false: ignore the rest
  bool proven = false;  // no better solution exists, up to the gap
  // By column, rounded to whole numbers. The limits of rows are kept up to the solver's tolerance.
  std::vector<double> x;
};

// The same with whole numbers, solved by CBC on the caller's thread, without output. A process may
// make only one call at a time, because CBC has global state.
IntegerSolution SolveInteger(const LinearProgram& program, const IntegerLimits& limits);

}  // namespace sluice
