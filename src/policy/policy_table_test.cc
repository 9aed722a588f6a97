#include "policy/policy_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/policy.h"
#include "policy/test_views.h"

namespace sluice {
namespace {

TEST(PolicyTableTest, ARowIsFoundByItsNameAndMakesAPolicyThatKnowsIt) {
  std::set<std::string_view> names;
  for (const PolicyTraits& row : Policies()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
    EXPECT_FALSE(row.what.empty()) << row.name;
    EXPECT_EQ(FindPolicy(row.name), &row);
    const auto made = MakePolicy(std::string(row.name));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(&(*made)->traits(), &row);
    EXPECT_EQ((*made)->LooksAtRunning(), row.inputs.running);
    EXPECT_EQ((*made)->TransfersEarly(), row.can.transfers != TransferRule::kFinalBest);
  }
  EXPECT_EQ(PolicyNames().size(), Policies().size());
  EXPECT_NE(FindPolicy(kDefaultPolicy), nullptr);
}

TEST(PolicyTableTest, ANameThatIsNotThere) {
  EXPECT_EQ(FindPolicy("fifi"), nullptr);
  EXPECT_EQ(&TraitsOf("fifi"), &kUnlistedPolicy);
  const auto made = MakePolicy("fifi");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(made.error().message.find("did you mean 'fifo'?"), std::string::npos);
}

// The study has more trials than its own device holds. Another device is lent half of the time.
TEST(PolicyTableTest, OnlyPoliciesThatBorrowUseLentDevices) {
  for (const PolicyTraits& row : Policies()) {
    TestViews t(/*gpus=*/1);
    const NodeId lender = t.cluster.Join(
        {.name = "lender",
         .cpus = 8 * kWhole,
         .devices = {{.uuid = "l", .kind = "A100", .memory_bytes = 40 << 10, .open = 500}}});
    t.Study(1, {.cpus = kWhole,
                .gpus = kWhole,
                .memory_bytes = 1 << 10,
                .fused_most = 4,
                .fused_bytes = 1 << 9});
    for (std::uint32_t trial = 1; trial <= 20; ++trial) t.Waiting(1, trial, 10);
    const Plan plan = row.make()->Propose(t.cluster, t.view, {});
    EXPECT_FALSE(plan.placements.empty()) << row.name;
    const bool borrows = std::ranges::any_of(
        plan.placements, [&](const Placement& placed) { return placed.grant.node == lender; });
    EXPECT_EQ(borrows, row.can.borrows) << row.name;
  }
}

}  // namespace
}  // namespace sluice
