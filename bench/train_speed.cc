// train_speed DATA NETWORK TRIALS WIDTH SECONDS THREADS: trains trials of a network on a data set
// by the loop of sluice-trainer, and prints how many steps a second they take, all trials together,
// once the first steps are over, and how they were arranged: the trials in one program, and how
// many programs ran side by side. WIDTH: how many trials are stacked in one program, one program
// after another; 0: as the trainer chooses. Batches of 128, SGD with momentum.

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "model/example_sizes.h"
#include "train/bundle/batch_source.h"
#include "train/bundle/group.h"

namespace {

using namespace sluice;
using namespace sluice::train;

constexpr double kWarmUpSeconds = 1;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

recipe::TrialRecipe RecipeOf(const std::string& network, int trial) {
  recipe::TrialRecipe recipe;
  recipe.network = network;
  recipe.loss = "cross_entropy";
  recipe.rule = "standard";
  recipe.optimizer.lr = 0.001 * (trial + 1);
  recipe.optimizer.momentum = 0.9;
  recipe.batch = 128;
  return recipe;
}

struct Wanted {
  std::string data;
  std::string network;
  int trials = 1;
  int width = 0;
  double seconds = 5;
};

Status Measure(const Wanted& wanted) {
  SLUICE_ASSIGN(const data::DataSet data,
                data::OpenDataSet({.path = wanted.data, .normalise = data::NormaliseBy::kMeasure}));
  const recipe::TrialRecipe shape = RecipeOf(wanted.network, 0);
  SLUICE_ASSIGN(const auto network, PreparedNetwork::Open(shape));
  const auto takes = model::HowItTakes(network->graph(), data.train->input().shape);
  Workers workers;
  Group::Options options;
  if (wanted.width == 0) {
    options.seconds = Seconds;
    options.workers = &workers;
  }
  Group group(network,
              std::make_unique<BatchSource>(
                  data, BatchSource::Options{.batch = shape.batch,
                                             .real = network->real(),
                                             .augmentation = {},
                                             .flattened = takes == model::Takes::kFlattened}),
              options);
  if (wanted.width > 0) group.LimitWidth(static_cast<std::size_t>(wanted.width));
  for (int trial = 0; trial < wanted.trials; ++trial)
    SLUICE_TRY(group.Join(RecipeOf(wanted.network, trial), static_cast<std::uint64_t>(trial),
                          std::nullopt));
  const double begin = Seconds();
  while (Seconds() < begin + kWarmUpSeconds || group.IsMeasuring()) SLUICE_TRY(StepAll(group));
  const double from = Seconds();
  std::int64_t steps = 0;
  while (Seconds() < from + wanted.seconds) {
    steps += static_cast<std::int64_t>(group.Step().size());
  }
  fmt::print("{:.1f} {} {}\n", static_cast<double>(steps) / (Seconds() - from),
             group.arrangement().width, group.arrangement().workers);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "train_speed: expected DATA NETWORK TRIALS WIDTH SECONDS THREADS\n");
    return 2;
  }
  // As sluice-trainer does.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  at::set_num_threads(std::atoi(argv[6]));
  const Status measured = Measure({.data = argv[1],
                                   .network = argv[2],
                                   .trials = std::atoi(argv[3]),
                                   .width = std::atoi(argv[4]),
                                   .seconds = std::atof(argv[5])});
  if (measured) return 0;
  fmt::print(stderr, "train_speed: {}\n", measured.error().message);
  return 1;
}
