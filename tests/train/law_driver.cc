// law-driver NETWORK [SCALE]: runs the law of bundles (src/train/bundle/test_law.h) on a network,
// as tests/train/test_law.py asks. Prints a line for each difference of a tensor, with tabs between
// its parts:
//
//   float64 sgd   TRIAL  TENSOR  DIFFERENCE       of the tensor, as FusedCheck::difference
//   float64 adamw ...
//   step    sgd   TRIAL  TENSOR  DIFFERENCE       of one step in float32, as a part of its bound
//   runs    sgd   TRIAL  loss    DIFFERENCE       of whole runs in float32, as a part of the spread
//   runs    adamw ...

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <iostream>
#include <string>

#include "train/bundle/test_law.h"
#include "train/bundle/test_law_float32.h"

namespace {

using namespace sluice;
using namespace sluice::train;

void Print(const std::string& what, const LawShape& shape,
           const std::vector<LawDifference>& differences) {
  for (const LawDifference& each : differences)
    std::cout << fmt::format("{}\t{}\t{}\t{}\t{:.3g}\n", what, recipe::Name(shape.kind), each.trial,
                             each.tensor, each.difference);
}

Status RunFloat64(LawShape shape) {
  SLUICE_ASSIGN(const auto network, LawNetwork(shape));
  Law law(shape, network);
  SLUICE_ASSIGN(const std::vector<LawDifference> differences, law.Run());
  if (!law.diverged()) return FailedPrecondition("expected that trial 2 diverges");
  if (shape.kind == recipe::OptimizerKind::kAdamW && !law.learnt())
    return FailedPrecondition("expected that trials learn, found that all gradients are 0");
  Print("float64", shape, differences);
  return {};
}

Status RunFloat32(LawShape shape) {
  shape.precision = recipe::Precision::kFloat32;
  SLUICE_ASSIGN(const auto network, LawNetwork(shape));
  if (shape.kind == recipe::OptimizerKind::kSgd) {
    SLUICE_ASSIGN(const std::vector<LawDifference> differences, StepInFloat32(shape, network));
    Print("step", shape, differences);
  }
  SLUICE_ASSIGN(const std::vector<LawDifference> differences, RunsInFloat32(shape, network));
  Print("runs", shape, differences);
  return {};
}

Status Run(const std::string& network, double scale) {
  for (const auto kind : {recipe::OptimizerKind::kSgd, recipe::OptimizerKind::kAdamW}) {
    const LawShape shape{.network = network, .scale = scale, .kind = kind};
    SLUICE_TRY(RunFloat64(shape));
    SLUICE_TRY(RunFloat32(shape));
  }
  return {};
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 && count != 3) {
    std::cerr << "usage: law-driver NETWORK [SCALE]\n";
    return 2;
  }
  at::set_num_threads(1);
  const Status status = Run(words[1], count == 3 ? std::stod(words[2]) : 1);
  if (!status) std::cerr << status.error().message << "\n";
  return status ? 0 : 1;
}
