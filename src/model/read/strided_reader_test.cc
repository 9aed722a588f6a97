#include "model/read/strided_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"

namespace sluice::model {
namespace {

// A source in which each element is the number of its place. Counts the reads and the bytes read.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(std::size_t elements) : numbers_(elements) {
    std::iota(numbers_.begin(), numbers_.end(), 0U);
  }
  std::uint64_t size() const override { return numbers_.size() * sizeof(std::uint32_t); }
  Status Read(std::uint64_t offset, std::span<char> into) const override {
    if (offset > size() || into.size() > size() - offset) return Corruption("past the end");
    std::memcpy(into.data(), reinterpret_cast<const char*>(numbers_.data()) + offset, into.size());
    ++reads;
    largest = std::max(largest, into.size());
    total += into.size();
    return {};
  }

  mutable int reads = 0;
  mutable std::size_t largest = 0;
  mutable std::size_t total = 0;

 private:
  std::vector<std::uint32_t> numbers_;
};

StridedLayout Layout(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                     std::int64_t offset = 0) {
  return {.element_bytes = sizeof(std::uint32_t),
          .offset = offset,
          .sizes = std::move(sizes),
          .strides = std::move(strides)};
}

std::vector<std::uint32_t> ReadNumbers(const ByteSource& source, const StridedLayout& layout,
                                       std::size_t most = SIZE_MAX) {
  const auto bytes = ReadStrided(source, layout, most);
  EXPECT_TRUE(bytes) << bytes.error().message;
  std::vector<std::uint32_t> numbers(bytes ? bytes->size() / sizeof(std::uint32_t) : 0);
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes->data(), bytes->size());
  return numbers;
}

// Computes the places of the elements one by one.
std::vector<std::uint32_t> Expected(const StridedLayout& layout) {
  std::int64_t elements = 1;
  for (const std::int64_t size : layout.sizes) elements *= size;
  std::vector<std::uint32_t> places;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t rest = i;
    std::int64_t place = layout.offset;
    for (std::size_t d = layout.sizes.size(); d-- > 0; rest /= layout.sizes[d])
      place += rest % layout.sizes[d] * layout.strides[d];
    places.push_back(static_cast<std::uint32_t>(place));
  }
  return places;
}

TEST(ReadStridedTest, GivesElementsInTheOrderOfIndices) {
  const CountingSource source(200);
  for (const StridedLayout& layout :
       {Layout({}, {}, 7), Layout({5}, {1}, 3), Layout({5}, {3}), Layout({5}, {0}, 2),
        Layout({4, 5}, {5, 1}), Layout({4, 5}, {1, 4}), Layout({4, 5}, {7, 1}, 1),
        Layout({4, 5}, {1, 9}), Layout({2, 3, 4}, {12, 1, 3}), Layout({2, 3, 4}, {1, 8, 2}),
        Layout({2, 1, 3}, {3, 99, 1}), Layout({3, 4}, {0, 1}), Layout({3, 4}, {1, 0}),
        Layout({3, 4}, {1, 1}), Layout({2, 0, 3}, {3, 3, 1}), Layout({1, 1}, {0, 0}, 199)})
    EXPECT_EQ(ReadNumbers(source, layout), Expected(layout));
}

TEST(ReadStridedTest, AgreesWithTheSimpleWay) {
  const CountingSource source(1 << 20);
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    StridedLayout layout = Layout({}, {}, static_cast<std::int64_t>(random.Below(10)));
    for (std::uint64_t rank = random.Below(5); rank > 0; --rank) {
      layout.sizes.push_back(static_cast<std::int64_t>(1 + random.Below(9)));
      layout.strides.push_back(static_cast<std::int64_t>(
          random.Below(2) == 0 ? random.Below(10) : random.Below(25'000)));
    }
    ASSERT_EQ(ReadNumbers(source, layout), Expected(layout));
    ASSERT_LE(source.largest, std::size_t{1} << 20);
  }
}

TEST(ReadStridedTest, ReadsWhatLiesTogetherInFewReads) {
  constexpr std::int64_t kRows = 1024;
  constexpr std::int64_t kColumns = 2048;  // 8 MiB in all
  for (const StridedLayout& layout :
       {Layout({kRows, kColumns}, {kColumns, 1}), Layout({kColumns, kRows}, {1, kColumns}),
        Layout({32, 64, 32, 32}, {65'536, 1, 2048, 64}),    // images with channels last
        Layout({kRows, kColumns - 48}, {kColumns, 1}, 48),  // with gaps
        Layout({kRows, kColumns / 2}, {kColumns, 2})}) {
    const CountingSource source(kRows * kColumns);
    EXPECT_EQ(ReadNumbers(source, layout), Expected(layout));
    EXPECT_LE(source.reads, 70);
    EXPECT_LE(source.largest, std::size_t{1} << 20);
    EXPECT_LE(source.total, source.size());
  }
}

TEST(ReadStridedTest, LeavesOutWhatIsFarBetween) {
  const CountingSource source(4 << 20);
  const StridedLayout layout = Layout({40, 3}, {100'000, 1});
  EXPECT_EQ(ReadNumbers(source, layout), Expected(layout));
  EXPECT_EQ(source.total, 40 * 3 * sizeof(std::uint32_t));
}

TEST(ReadStridedTest, TakesEvenlySpreadPartsOfWhatIsLarge) {
  constexpr std::int64_t kElements = 1 << 22;
  for (const StridedLayout& layout :
       {Layout({kElements}, {1}), Layout({2048, 2048}, {1, 2048}), Layout({64, 1 << 16}, {1, 64}),
        Layout({4, 2048, 2048}, {0, 2048, 1})}) {
    const CountingSource source(kElements);
    std::vector<std::uint32_t> taken = ReadNumbers(source, layout, 10'000);
    EXPECT_GT(taken.size(), 9'000U);
    EXPECT_LE(taken.size(), 10'000U);
    EXPECT_LE(source.reads, 64);
    EXPECT_LE(source.total, 10'000 * sizeof(std::uint32_t)) << "nothing else is read";
    std::ranges::sort(taken);
    EXPECT_EQ(std::ranges::adjacent_find(taken), taken.end()) << "each element is taken once";
    for (std::uint32_t tenth = 0; tenth < 10; ++tenth) {
      const auto begin = std::ranges::lower_bound(taken, tenth * kElements / 10);
      const auto end = std::ranges::lower_bound(taken, (tenth + 1) * kElements / 10);
      EXPECT_GT(end - begin, 700);
    }
  }
}

TEST(ReadStridedTest, TakesAsFewAsAreAskedFor) {
  const CountingSource source(100);
  EXPECT_TRUE(ReadNumbers(source, Layout({10, 10}, {10, 1}), 0).empty());
  EXPECT_EQ(ReadNumbers(source, Layout({10, 10}, {10, 1}), 1).size(), 1U);
  EXPECT_EQ(ReadNumbers(source, Layout({10, 10}, {1, 10}), 99).size(), 64U);
  EXPECT_EQ(ReadNumbers(source, Layout({10, 10}, {1, 10}), 100),
            Expected(Layout({10, 10}, {1, 10})));
  EXPECT_EQ(ReadNumbers(source, Layout({std::int64_t{1} << 40}, {0}, 5), 100),
            std::vector<std::uint32_t>{5});
}

TEST(ReadStridedTest, FailsPastTheEnd) {
  const CountingSource source(100);
  EXPECT_FALSE(ReadStrided(source, Layout({101}, {1}), SIZE_MAX));
  EXPECT_FALSE(ReadStrided(source, Layout({2}, {100}), SIZE_MAX));
}

}  // namespace
}  // namespace sluice::model
