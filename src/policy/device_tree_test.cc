#include "policy/device_tree.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace sluice {
namespace {

Amounts Draw(Random& random, std::uint64_t most) {
  return {.share = static_cast<Milli>(random.Below(most)),
          .bandwidth = static_cast<Milli>(random.Below(most)),
          .memory_bytes = static_cast<std::int64_t>(random.Below(most)),
          .clients = static_cast<std::int64_t>(random.Below(most)),
          .cpus = static_cast<Milli>(random.Below(most))};
}

bool HasAllOf(const Amounts& room, const Amounts& need) {
  return room.share >= need.share && room.bandwidth >= need.bandwidth &&
         room.memory_bytes >= need.memory_bytes && room.cpus >= need.cpus &&
         room.clients >= need.clients;
}

std::size_t SlowFirst(const std::vector<Amounts>& rooms, const Amounts& need) {
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (HasAllOf(rooms[i], need)) return i;
  }
  return DeviceTree::kNone;
}

std::size_t SlowRoomiest(const std::vector<Amounts>& rooms, const Amounts& need) {
  std::size_t best = DeviceTree::kNone;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (!HasAllOf(rooms[i], need)) continue;
    if (best == DeviceTree::kNone || rooms[i].share > rooms[best].share ||
        (rooms[i].share == rooms[best].share && rooms[i].memory_bytes > rooms[best].memory_bytes))
      best = i;
  }
  return best;
}

TEST(DeviceTreeTest, FindsWhatALookAtAllDevicesFinds) {
  int found = 0;
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<Amounts> rooms(random.Below(70));
    for (Amounts& room : rooms) room = Draw(random, 12);
    DeviceTree tree;
    tree.Assign(rooms);
    ASSERT_EQ(tree.size(), rooms.size());
    for (int step = 0; step < 60; ++step) {
      const Amounts need = Draw(random, 10);
      const std::size_t first = tree.First(need);
      ASSERT_EQ(first, SlowFirst(rooms, need)) << "seed " << seed;
      ASSERT_EQ(tree.Roomiest(need), SlowRoomiest(rooms, need)) << "seed " << seed;
      ++(first == DeviceTree::kNone ? missed : found);
      if (rooms.empty()) continue;
      const std::size_t changed = random.Below(rooms.size());
      rooms[changed] = Draw(random, 12);
      tree.Set(changed, rooms[changed]);
      ASSERT_EQ(tree.at(changed), rooms[changed]);
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(missed, 1000);
}

TEST(DeviceTreeTest, ATreeThatIsUsedAgainForgetsWhatItHad) {
  DeviceTree tree;
  tree.Assign(std::vector<Amounts>(9, {.share = 1000, .memory_bytes = 5, .clients = 1, .cpus = 1}));
  tree.Assign({{.share = 10, .memory_bytes = 5, .clients = 1, .cpus = 1}});
  EXPECT_EQ(tree.First({.share = 11}), DeviceTree::kNone);
  EXPECT_EQ(tree.First({.share = 10}), 0U);
  tree.Assign({});
  EXPECT_EQ(tree.First({}), DeviceTree::kNone);
  EXPECT_EQ(tree.Roomiest({}), DeviceTree::kNone);
}

}  // namespace
}  // namespace sluice
