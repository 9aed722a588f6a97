#include "policy/solve/linear_program.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <string>

#include "base/check.h"

namespace sluice {
namespace {

// Clp and CBC treat a limit this large as none. They do not accept infinity.
constexpr double kCoinInfinity = 1e50;

// Both solvers minimise. So the objective is negated for them, and their prices are negated again.
struct CoinForm {
  std::vector<double> cost;
  std::vector<double> column_least;
  std::vector<double> column_most;
  std::vector<double> row_least;
  std::vector<double> row_most;
};

double Coin(double limit) { return std::clamp(limit, -kCoinInfinity, kCoinInfinity); }

CoinForm FormOf(const LinearProgram& program) {
  CoinForm form;
  for (double objective : program.objective()) form.cost.push_back(-objective);
  form.column_least.assign(program.columns(), 0);
  for (double most : program.most()) form.column_most.push_back(Coin(most));
  for (const LinearProgram::Row& row : program.rows()) {
    form.row_least.push_back(Coin(row.least));
    form.row_most.push_back(Coin(row.most));
  }
  return form;
}

template <typename Model, typename Load>
void LoadInto(Model* model, const LinearProgram& program, Load load) {
  const CoinForm form = FormOf(program);
  load(model, static_cast<int>(program.columns()), static_cast<int>(program.rows().size()),
       program.starts().data(), program.entry_rows().data(), program.entry_factors().data(),
       form.column_least.data(), form.column_most.data(), form.cost.data(), form.row_least.data(),
       form.row_most.data());
}

// CBC takes SIGINT as a request to end its search early. Here SIGINT is meant for the whole
// program. So it is blocked until CBC is done, and then handled as before.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &mask_);
    sigaction(SIGINT, nullptr, &action_);
  }
  ~WithoutInterrupts() {
    sigaction(SIGINT, &action_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  sigset_t mask_{};
  struct sigaction action_{};
};

// Whether a program without columns has a solution. The solvers are not called for such a program.
bool ZeroFits(const LinearProgram& program) {
  return std::ranges::all_of(program.rows(),
                             [](const auto& row) { return row.least <= 0 && row.most >= 0; });
}

LinearSolution SolveByClp(const LinearProgram& program) {
  LinearSolution solution;
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model(Clp_newModel(),
                                                                       &Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  LoadInto(model.get(), program, &Clp_loadProblem);
  Clp_primal(model.get(), 0);
  if (Clp_status(model.get()) != 0) return solution;
  solution.optimal = true;
  solution.value = -Clp_objectiveValue(model.get());
  const double* x = Clp_primalColumnSolution(model.get());
  solution.x.assign(x, x + program.columns());
  const double* duals = Clp_dualRowSolution(model.get());
  for (std::size_t i = 0; i < program.rows().size(); ++i)
    solution.prices.push_back(std::max(0.0, -duals[i]));
  return solution;
}

IntegerSolution SolveByCbc(const LinearProgram& program, const IntegerLimits& limits) {
  IntegerSolution solution;
  const WithoutInterrupts without_interrupts;
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(),
                                                                     &Cbc_deleteModel);
  const auto set = [&](const char* name, const std::string& value) {
    Cbc_setParameter(model.get(), name, value.c_str());
  };
  Cbc_setLogLevel(model.get(), 0);
  set("log", "0");
  LoadInto(model.get(), program, &Cbc_loadProblem);
  for (std::size_t i = 0; i < program.columns(); ++i)
    Cbc_setInteger(model.get(), static_cast<int>(i));
  set("ratioGap", fmt::format("{}", limits.gap));
  set("maxNodes", fmt::format("{}", std::max(limits.nodes, 0)));
  if (std::isfinite(limits.seconds)) {
    set("timeMode", "elapsed");
    set("seconds", fmt::format("{}", std::max(limits.seconds, 0.0)));
  }
  Cbc_solve(model.get());
  const double* x =
      Cbc_numberSavedSolutions(model.get()) > 0 ? Cbc_bestSolution(model.get()) : nullptr;
  if (x == nullptr) return solution;
  solution.found = true;
  solution.proven = Cbc_isProvenOptimal(model.get()) != 0;
  for (std::size_t i = 0; i < program.columns(); ++i) solution.x.push_back(std::round(x[i]));
  return solution;
}

}  // namespace

std::size_t LinearProgram::AddColumn(double objective, double most,
                                     const std::vector<Entry>& entries) {
  objective_.push_back(objective);
  most_.push_back(most);
  for (const Entry& entry : entries) {
    SLUICE_CHECK(entry.row < rows_.size(), "a column's entries are in rows that exist");
    entry_rows_.push_back(static_cast<int>(entry.row));
    entry_factors_.push_back(entry.factor);
  }
  starts_.push_back(static_cast<int>(entry_rows_.size()));
  return objective_.size() - 1;
}

// If a solver throws, it counts as having found no solution.
LinearSolution SolveLinear(const LinearProgram& program) {
  if (program.columns() == 0) {
    LinearSolution solution;
    solution.optimal = ZeroFits(program);
    solution.prices.resize(program.rows().size());
    return solution;
  }
  try {
    return SolveByClp(program);
  } catch (...) {
    return {};
  }
}

IntegerSolution SolveInteger(const LinearProgram& program, const IntegerLimits& limits) {
  if (program.columns() == 0) {
    IntegerSolution solution;
    solution.found = solution.proven = ZeroFits(program);
    return solution;
  }
  try {
    return SolveByCbc(program, limits);
  } catch (...) {
    return {};
  }
}

}  // namespace sluice
