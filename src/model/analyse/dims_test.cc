#include "model/analyse/dims.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::model {
namespace {

class DimsTest : public testing::Test {
 public:
  Dim Product(const std::vector<Dim>& factors) { return dims.Product(factors); }
  Dim Sum(const std::vector<Dim>& terms) { return dims.Sum(terms); }
  void Same(Dim a, Dim b) { ASSERT_TRUE(dims.Unify(a, b, "test")); }
  Dim Class(Dim dim) { return dims.Look(dim).dim; }
  // The size of `dim` if the class `leaf` had twice its size.
  std::int64_t WithDouble(Dim dim, Dim leaf) {
    const Dim at = Class(leaf);
    return dims.Evaluate(dim, [&](Dim each) { return dims.SizeOf(each) * (each == at ? 2 : 1); });
  }
  Dims dims;
};

TEST_F(DimsTest, WhatIsUnifiedIsOneClass) {
  const Dim a = dims.New(8);
  const Dim b = dims.New(8);
  const Dim c = dims.New(8);
  Same(a, b);
  EXPECT_EQ(Class(a), Class(b));
  EXPECT_NE(Class(a), Class(c));
  Same(b, c);
  EXPECT_EQ(Class(a), Class(c));
}

TEST_F(DimsTest, DifferentSizesAreNotTheSame) {
  const Status status = dims.Unify(dims.New(8), dims.New(9), "test");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "sizes 8 and 9 should be the same");
}

TEST_F(DimsTest, FixingReachesAllThatIsTheSame) {
  const Dim a = dims.New(8);
  const Dim b = dims.New(8);
  Same(a, b);
  dims.Fix(b, "kernel");
  EXPECT_TRUE(dims.IsAllFixed(a));
  EXPECT_EQ(dims.ReasonOf(Class(a)), "kernel");
  const Dim c = dims.New(8);
  Same(c, a);
  EXPECT_TRUE(dims.IsAllFixed(c)) << "what is unified later is fixed too";
}

TEST_F(DimsTest, ASplitWidthIsTheProductOfItsParts) {
  const Dim width = dims.New(768);
  const Dim heads = dims.New(12);
  const Dim size = dims.New(64);
  Same(width, Product({heads, size}));
  EXPECT_EQ(WithDouble(width, heads), 2 * 768);
  dims.Fix(size, "table");
  EXPECT_FALSE(dims.IsAllFixed(width));
  dims.Fix(width, "output");
  EXPECT_TRUE(dims.IsAllFixed(heads)) << "every factor of a fixed product is fixed";
}

TEST_F(DimsTest, ProductsAreCutWhereTheirFactorsMeet) {
  const Dim batch = dims.New(5);
  const Dim tokens = dims.New(16);
  const Dim width = dims.New(48);
  const Dim rows = dims.New(80);
  const Dim heads = dims.New(3);
  const Dim size = dims.New(16);
  Same(Product({batch, tokens, width}), Product({rows, heads, size}));
  EXPECT_EQ(WithDouble(rows, tokens), 160);
  EXPECT_EQ(WithDouble(width, heads), 96);
  EXPECT_NE(Class(tokens), Class(size)) << "though both are 16";
}

TEST_F(DimsTest, AShuffleDoesNotTieChannelsTogether) {
  // [2, 58] is transposed to [58, 2], and then cut in two halves again.
  const Dim groups = dims.New(2);
  const Dim channels = dims.New(58);
  const Dim half = dims.New(58);
  Same(Product({channels, groups}), Product({dims.Fixed(2, "halves"), half}));
  EXPECT_EQ(Class(half), Class(channels));
  EXPECT_FALSE(dims.IsAllFixed(half));
  EXPECT_TRUE(dims.IsAllFixed(groups));
}

TEST_F(DimsTest, AFactorThatDividesAnotherIsSplitOff) {
  const Dim a = dims.New(6);
  const Dim b = dims.New(4);
  const Dim c = dims.New(3);
  const Dim d = dims.New(8);
  Same(Product({a, b}), Product({c, d}));
  EXPECT_EQ(WithDouble(a, c), 12);
  EXPECT_EQ(WithDouble(d, b), 16);
}

TEST_F(DimsTest, WhatCannotBeMadeOneIsFixed) {
  const Dim a = dims.New(4);
  const Dim b = dims.New(15);
  const Dim c = dims.New(6);
  const Dim d = dims.New(10);
  Same(Product({a, b}), Product({c, d}));
  for (const Dim dim : {a, b, c, d}) EXPECT_TRUE(dims.IsAllFixed(dim));
  EXPECT_EQ(dims.ReasonOf(Class(a)), "test: equal sizes meet whose parts cannot be matched");
  EXPECT_TRUE(dims.IsSurprising(Class(a)));
  dims.Fix(a, "kernel");
  EXPECT_EQ(dims.ReasonOf(Class(a)), "kernel") << "an ordinary reason explains more";
  EXPECT_FALSE(dims.IsSurprising(Class(a)));
}

TEST_F(DimsTest, SumsGoTogetherPartByPart) {
  const Dim whole = dims.New(10);
  const Dim width = dims.New(8);
  Same(whole, Sum({width, dims.Fixed(2, "coordinates")}));
  EXPECT_EQ(WithDouble(whole, width), 18);
  const Dim first = dims.New(8);
  const Dim second = dims.New(2);
  Same(Sum({first, second}), whole);
  EXPECT_EQ(Class(first), Class(width));
  EXPECT_TRUE(dims.IsAllFixed(second));
}

TEST_F(DimsTest, SumsInAnotherOrderGoTogetherToo) {
  const Dim a = dims.New(3);
  const Dim b = dims.New(5);
  const Dim c = dims.New(5);
  const Dim d = dims.New(3);
  Same(Sum({a, b}), Sum({c, d}));
  EXPECT_EQ(Class(a), Class(d));
  EXPECT_EQ(Class(b), Class(c));
}

TEST_F(DimsTest, EqualPartsAreACountTimesOne) {
  const Dim count = dims.New(3);
  const Dim part = dims.New(7);
  const Dim a = dims.New(7);
  const Dim b = dims.New(7);
  const Dim c = dims.New(7);
  Same(Sum({a, b, c}), Product({count, part}));
  EXPECT_EQ(Class(a), Class(c));
  EXPECT_EQ(Class(a), Class(part));
  EXPECT_TRUE(dims.IsAllFixed(count));
}

TEST_F(DimsTest, ASumInAProductIsASumOfProducts) {
  const Dim queries = dims.New(6);
  const Dim keys = dims.New(2);
  const Dim size = dims.New(16);
  const Dim a = dims.New(96);
  const Dim b = dims.New(32);
  Same(Product({Sum({queries, keys}), size}), Sum({a, b}));
  EXPECT_EQ(WithDouble(a, queries), 192);
  EXPECT_EQ(WithDouble(b, queries), 32);
}

TEST_F(DimsTest, AClassIsNeverAPartOfItself) {
  const Dim a = dims.New(6);
  const Dim b = dims.New(1);
  Same(a, Product({a, b}));
  const Dim c = dims.New(4);
  const Dim d = dims.New(0);
  Same(c, Sum({c, d}));
  EXPECT_FALSE(dims.IsAllFixed(a));
  EXPECT_FALSE(dims.IsAllFixed(c));
}

TEST_F(DimsTest, OneIsNoWidth) {
  EXPECT_TRUE(dims.IsAllFixed(dims.New(1)));
  EXPECT_EQ(dims.SizeOf(Product({dims.New(1), dims.New(1)})), 1);
}

TEST_F(DimsTest, DoublingOverAndOverIsGivenUp) {
  const Dim width = dims.New(2);
  Dim sum = width;
  for (int i = 0; i < 30; ++i) sum = Sum({sum, sum});
  EXPECT_EQ(dims.SizeOf(sum), std::int64_t{2} << 30);
  EXPECT_TRUE(dims.IsAllFixed(width));
}

TEST_F(DimsTest, SoIsWhatTurnsOutToBeDoubledOverAndOver) {
  // a = b + b, b = c + c, ... with the outermost first.
  std::int64_t size = std::int64_t{1} << 30;
  Dim outer = dims.New(size);
  const Dim first = outer;
  while (size > 2) {
    size /= 2;
    const Dim half = dims.New(size);
    Same(outer, Sum({half, half}));
    outer = half;
  }
  EXPECT_EQ(dims.ClassesOf(first).size(), 1U);
  EXPECT_EQ(dims.Evaluate(first, [&](Dim leaf) { return dims.SizeOf(leaf) * 3; }),
            std::int64_t{3} << 30);
  EXPECT_TRUE(dims.Look(first).tangle);
  Same(first, dims.New(dims.SizeOf(first)));
  EXPECT_TRUE(dims.IsAllFixed(outer));
}

TEST_F(DimsTest, RanksRise) {
  const Dim a = dims.New(4);
  const Dim b = dims.New(4);
  dims.Raise(a, Dims::Rank::kInner);
  dims.Raise(a, Dims::Rank::kCount);
  Same(a, b);
  EXPECT_EQ(dims.RankOf(Class(b)), Dims::Rank::kInner);
}

TEST_F(DimsTest, HugeSizesDoNotOverflow) {
  const Dim large = dims.New(std::int64_t{1} << 40);
  const Dim product = Product({large, large, large});
  EXPECT_EQ(dims.SizeOf(product), INT64_MAX);
  EXPECT_EQ(dims.SizeOf(Sum({product, large})), INT64_MAX);
}

}  // namespace
}  // namespace sluice::model
