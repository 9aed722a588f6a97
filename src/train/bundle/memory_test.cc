#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "base/test_soak.h"
#include "train/bundle/group.h"
#include "train/check/drawn_batches.h"

// A bundle may train for weeks: what a step has taken is free again after it.
namespace sluice::train {
namespace {

constexpr int kTrialsAtOnce = 6;
constexpr int kStepsOfATrial = 60;  // after which it leaves, and another one joins

recipe::TrialRecipe RecipeOfJoined(std::uint64_t trial) {
  recipe::TrialRecipe recipe;
  recipe.network = "zoo:mlp,in=12,hidden=32";
  recipe.batch = DrawnBatches::kBatch;
  recipe.optimizer.kind = recipe::OptimizerKind::kAdamW;
  recipe.optimizer.lr = 1e-4 * static_cast<double>(1 + trial % 5);
  return recipe;
}

// Trials that train together. One joins and one leaves each ten steps; one that waits goes on.
class Training {
 public:
  explicit Training(std::shared_ptr<const PreparedNetwork> network)
      : group_(network, std::make_unique<DrawnBatches>(network->graph(), network->real()),
               {.seconds = [this] { return clock_ += 0.01; }}) {}

  Status StepTo(std::int64_t last) {
    for (; step_ < last; ++step_) {
      if (step_ % (kStepsOfATrial / kTrialsAtOnce) == 0) SLUICE_TRY(ReplaceOne());
      SLUICE_TRY(StepAll(group_));
    }
    return {};
  }

 private:
  Status ReplaceOne() {
    if (members_.size() > 3) SLUICE_TRY(group_.Evaluate({members_.back()}));
    if (members_.size() == kTrialsAtOnce) {
      const TrialState left = group_.StateOf(members_.front());
      if (left.step > kStepsOfATrial) return InvalidArgument("a trial has trained too long");
      group_.Leave(members_.front());
      members_.erase(members_.begin());
    }
    SLUICE_ASSIGN(const MemberId member,
                  group_.Join(RecipeOfJoined(joined_), joined_, std::nullopt));
    members_.push_back(member);
    ++joined_;
    if (members_.size() > 2) {
      group_.SetWaiting(members_[1], false);
      group_.SetWaiting(members_[2], true);
    }
    return {};
  }

  double clock_ = 0;
  std::int64_t step_ = 0;
  std::uint64_t joined_ = 0;
  std::vector<MemberId> members_;
  Group group_;
};

std::int64_t ResidentBytesNow() {
  malloc_trim(0);
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// The resident memory also has pages that the allocator keeps, of which there are more at some
// moments than at others: the least of several readings counts.
struct Memory {
  std::int64_t resident = 0;
  std::int64_t in_use = 0;
};
Memory LeastOver(Training& training, std::int64_t first, std::int64_t last) {
  Memory least;
  constexpr int kReadings = 5;
  for (int i = 1; i <= kReadings; ++i) {
    EXPECT_TRUE(training.StepTo(first + (last - first) * i / kReadings));
    const Memory now{.resident = ResidentBytesNow(), .in_use = BytesInUse()};
    if (i == 1 || now.resident < least.resident) least.resident = now.resident;
    if (i == 1 || now.in_use < least.in_use) least.in_use = now.in_use;
  }
  return least;
}

TEST(MemoryTest, TrainingTakesNoMoreMemoryAfterManySteps) {
  const recipe::TrialRecipe shape = RecipeOfJoined(0);
  auto opened = OpenTrainedNetwork(shape);
  ASSERT_TRUE(opened) << opened.error().message;
  ReturnSquares(opened->graph);
  const auto network = PreparedNetwork::Prepare(*std::move(opened), shape);
  ASSERT_TRUE(network) << network.error().message;
  Training training(*network);
  const std::int64_t first = Soaks() ? 1000 : 300;
  const std::int64_t last = Soaks() ? 10'000 : 1500;
  const std::int64_t window = first / 2;
  ASSERT_TRUE(training.StepTo(first - window));
  const Memory before = LeastOver(training, first - window, first);
  const Memory after = LeastOver(training, last - window, last);
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_LT(after.resident - before.resident, kMiB);
  // What is not given back is seen even if the allocator had room for it.
  EXPECT_LT(after.in_use - before.in_use, kMiB / 16);
  RecordProperty("resident_growth", std::to_string(after.resident - before.resident));
  RecordProperty("in_use_growth", std::to_string(after.in_use - before.in_use));
}

}  // namespace
}  // namespace sluice::train
