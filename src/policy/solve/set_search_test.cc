#include "policy/solve/set_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace sluice {
namespace {

double WorthOf(const std::vector<SetItem>& items, const std::vector<int>& counts) {
  double worth = 0;
  for (std::size_t i = 0; i < items.size(); ++i)
    for (int j = 0; j < counts[i]; ++j) worth += items[i].worths[static_cast<std::size_t>(j)];
  return worth;
}

bool IsWithin(const std::vector<SetItem>& items, const std::vector<int>& counts, Amounts room) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (int j = 0; j < counts[i]; ++j) {
      if (!Fits(items[i].takes, room)) return false;
      room -= items[i].takes;
    }
  }
  return true;
}

// The highest worth of all sets that fit.
double BruteForce(const std::vector<SetItem>& items, const Amounts& room) {
  std::vector<int> counts(items.size());
  double most = 0;
  while (true) {
    if (IsWithin(items, counts, room)) most = std::max(most, WorthOf(items, counts));
    std::size_t i = 0;
    while (i < items.size() && counts[i] == std::ssize(items[i].worths)) counts[i++] = 0;
    if (i == items.size()) return most;
    ++counts[i];
  }
}

TEST(SetSearchTest, NoSetIsWorthMore) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const Amounts room{
        .share = 1000, .bandwidth = 1000, .memory_bytes = 64, .clients = 6, .cpus = 8000};
    std::vector<SetItem> items(1 + random.Below(5));
    for (SetItem& item : items) {
      const auto some = [&](std::uint64_t most) {
        return static_cast<std::int64_t>(1 + random.Below(most));
      };
      item.takes.share = some(600);
      item.takes.bandwidth = some(400);
      item.takes.memory_bytes = some(30);
      item.takes.cpus = some(3000);
      item.takes.clients = 1;
      item.worths.push_back(static_cast<double>(some(1000)));
      while (random.Below(3) != 0 && item.worths.size() < 4)
        item.worths.push_back(item.worths.back() * 0.9);
    }
    const std::vector<int> best = FindBestSet(items, room, &Amounts::share);
    EXPECT_TRUE(IsWithin(items, best, room));
    EXPECT_NEAR(WorthOf(items, best), BruteForce(items, room), 1e-9) << "round " << round;
  }
}

TEST(SetSearchTest, WhatTakesNothingOfAResourceFitsWhereNoneIsLeft) {
  const Amounts room{.share = 1, .memory_bytes = -1};
  EXPECT_TRUE(Fits({.share = 1}, room));
  EXPECT_FALSE(Fits({.share = 1, .memory_bytes = 1}, room));
}

TEST(SetSearchTest, ManyItemsStillGiveASetThatFits) {
  std::vector<SetItem> items;
  for (std::int64_t i = 1; i <= 60; ++i)
    items.push_back({.worths = std::vector<double>(8, static_cast<double>(100 + i)),
                     .takes = {.share = 37 + i % 11, .memory_bytes = 1 + i % 7, .clients = 1}});
  const Amounts room{.share = 1000, .bandwidth = 1000, .memory_bytes = 64, .clients = 48};
  const std::vector<int> best = FindBestSet(items, room, &Amounts::share);
  EXPECT_TRUE(IsWithin(items, best, room));
  EXPECT_GT(WorthOf(items, best), 0);
}

}  // namespace
}  // namespace sluice
