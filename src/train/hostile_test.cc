#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>

#include "train/program.h"
#include "train/tensor_bound.h"
#include "train/test_graph.h"

// Graphs of archives that mean harm: what they ask for is refused with a message, before it takes
// more memory or time than a network may.
namespace sluice::train {
namespace {

using Given = GraphMaker::Given;
using testing::HasSubstr;

constexpr std::int64_t kHuge = std::int64_t{1} << 40;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Given Integers(const std::vector<std::int64_t>& numbers) {
  std::vector<model::IntegerOrValue> list;
  for (const std::int64_t each : numbers) list.push_back({.number = each, .value = {}});
  return list;
}

// A node that reads x * w in these sizes first, or no tensor.
struct Hostile {
  std::string op;
  std::vector<std::int64_t> sizes;
  std::vector<Given> more;
  bool whole = false;  // the tensor has whole numbers
};

std::size_t ResidentBytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

std::string HostileRefusal(const Hostile& about) {
  GraphMaker maker;
  std::vector<Given> given;
  const auto w = maker.Parameter("weight");
  if (!about.sizes.empty()) {
    auto y = maker.Call("aten.mul.Tensor", {maker.Input(), w});
    if (about.whole) y = maker.Call("aten.to.dtype", {y, model::DType::kInt64});
    given.emplace_back(y);
  }
  given.insert(given.end(), about.more.begin(), about.more.end());
  const auto found = maker.Call(about.op, given);
  const auto program = Program::Prepare(maker.Finish({found}), {.real = at::kDouble});
  if (!program) return program.error().message;
  std::vector<std::int64_t> stacked = {2};
  stacked.insert(stacked.end(), about.sizes.begin(), about.sizes.end());
  const CounterDraws draws({{3, 9}, {4, 9}});
  const std::vector<at::Tensor> weights = {at::ones(stacked, at::kDouble)};
  std::vector<Value> inputs;
  if (!about.sizes.empty()) inputs.push_back(Shared(at::ones(about.sizes, at::kDouble)));
  const auto outcome =
      program->Run({.trials = 2, .parameters = weights, .inputs = inputs, .draws = &draws});
  return outcome ? "" : outcome.error().message;
}

class HostileTest : public testing::TestWithParam<Hostile> {
 protected:
  static void SetUpTestSuite() { BoundTensors(); }
};

TEST_P(HostileTest, IsRefusedAtItsNodeInMemoryAndTimeThatAreSmall) {
  const std::size_t before = ResidentBytes();
  const auto begin = std::chrono::steady_clock::now();
  const std::string refusal = HostileRefusal(GetParam());
  EXPECT_THAT(refusal, HasSubstr("node 'node_"));
  EXPECT_THAT(refusal, HasSubstr("(" + GetParam().op + " in 'part')"));
  EXPECT_LT(ResidentBytes(), before + (std::size_t{1} << 28));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

std::string NameOfHostile(const testing::TestParamInfo<Hostile>& info) {
  std::string name = info.param.op + "_" + std::to_string(info.index);
  std::ranges::replace_if(name, [](char letter) { return !std::isalnum(letter); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Huge, HostileTest,
    testing::Values(
        Hostile{"aten.zeros.default", {}, {Integers({kHuge, 1024})}},
        Hostile{"aten.ones.default", {}, {Integers({kMost})}},
        Hostile{"aten.full.default", {}, {Integers({kHuge, kHuge}), 1.0}},
        Hostile{"aten.empty.memory_format", {}, {Integers({kHuge})}},
        Hostile{"aten.arange.default", {}, {kHuge}}, Hostile{"aten.arange.default", {}, {1e300}},
        Hostile{"aten.eye.default", {}, {std::int64_t{1} << 21}},
        Hostile{"aten.linspace.default", {}, {0.0, 1.0, kHuge}},
        Hostile{"aten.hann_window.default", {}, {kHuge}},
        Hostile{"aten.tril_indices.default", {}, {std::int64_t{1} << 22, std::int64_t{1} << 22}},
        Hostile{"aten.rand.default", {}, {Integers({kHuge})}},
        Hostile{"aten.randn.default", {}, {Integers({kHuge})}},
        Hostile{"aten.expand.default", {1}, {Integers({kHuge})}},
        Hostile{"aten.expand.default", {1}, {Integers({kHuge, kHuge})}},
        Hostile{"aten.broadcast_to.default", {4, 1}, {Integers({4, kHuge})}},
        Hostile{"aten.repeat.default", {4}, {Integers({kHuge})}},
        Hostile{"aten.tile.default", {4}, {Integers({kHuge})}},
        Hostile{"aten.repeat_interleave.self_int", {4}, {kHuge}},
        Hostile{"aten.new_zeros.default", {4}, {Integers({kHuge, 4})}},
        Hostile{"aten.one_hot.default", {4}, {kHuge}, true},
        Hostile{"aten.bincount.default", {4}, {Given(), kHuge}, true},
        Hostile{"aten.constant_pad_nd.default", {4}, {Integers({kHuge, kHuge})}},
        Hostile{"aten.pad.default", {1, 4}, {Integers({kHuge, kHuge}), std::string("constant")}},
        Hostile{"aten.upsample_nearest1d.default", {1, 1, 4}, {Integers({kHuge})}},
        Hostile{"aten.upsample_nearest2d.default", {1, 1, 4, 4}, {Integers({1 << 21, 1 << 21})}},
        Hostile{
            "aten.upsample_bilinear2d.default", {1, 1, 4, 4}, {Integers({1 << 21, 1 << 21}), true}},
        Hostile{"aten.adaptive_avg_pool1d.default", {1, 1, 4}, {Integers({kHuge})}},
        Hostile{"aten.adaptive_avg_pool2d.default", {1, 1, 4, 4}, {Integers({1 << 21, 1 << 21})}},
        Hostile{"aten.fft_fft.default", {4}, {kHuge}}, Hostile{"aten.vander.default", {4}, {kHuge}},
        Hostile{"aten.diag_embed.default", {4}, {kHuge}},
        Hostile{"aten.histc.default", {4}, {kHuge}},
        Hostile{"aten.combinations.default", {4}, {kHuge}},
        Hostile{
            "aten.im2col.default",
            {1, 1, 4, 4},
            {Integers({1, 1}), Integers({1, 1}), Integers({1 << 21, 1 << 21}), Integers({1, 1})}},
        Hostile{"aten.nonzero_static.default", {4}, {kHuge}}),
    NameOfHostile);

INSTANTIATE_TEST_SUITE_P(
    Nonsense, HostileTest,
    testing::Values(
        Hostile{"aten.zeros.default", {}, {Integers({-1})}},
        Hostile{"aten.zeros.default", {}, {Integers({kLeast})}},
        Hostile{"aten.arange.start_step", {}, {0.0, 1.0, 0.0}},
        Hostile{"aten.group_norm.default", {2, 4}, {std::int64_t{0}}},
        Hostile{"aten.group_norm.default", {2, 4}, {kLeast}},
        Hostile{"aten.channel_shuffle.default", {1, 4, 2, 2}, {std::int64_t{0}}},
        Hostile{"aten.pixel_shuffle.default", {1, 4, 2, 2}, {std::int64_t{0}}},
        Hostile{"aten.pixel_shuffle.default", {1, 4, 2, 2}, {kHuge}},
        Hostile{"aten.pixel_unshuffle.default", {1, 4, 2, 2}, {std::int64_t{0}}},
        Hostile{"aten.unfold.default", {4}, {std::int64_t{0}, std::int64_t{2}, std::int64_t{0}}},
        Hostile{"aten.unfold.default", {4}, {std::int64_t{0}, kHuge, std::int64_t{1}}},
        Hostile{"aten.split.Tensor", {4}, {std::int64_t{0}}},
        Hostile{"aten.chunk.default", {4}, {std::int64_t{0}}},
        Hostile{"aten.avg_pool2d.default", {1, 1, 4, 4}, {Integers({0, 0})}},
        Hostile{"aten.avg_pool2d.default", {1, 1, 4, 4}, {Integers({2, 2}), Integers({0, 0})}},
        Hostile{"aten.max_pool2d.default", {1, 1, 4, 4}, {Integers({kHuge, kHuge})}},
        Hostile{"aten.max_pool2d.default", {1, 1, 4, 4}, {Integers({2, 2}), Integers({kLeast, 1})}},
        Hostile{"aten.unflatten.int", {4}, {std::int64_t{0}, Integers({-1, -1})}},
        Hostile{"aten.unflatten.int", {4}, {std::int64_t{0}, Integers({0, -1})}},
        Hostile{"aten.view.default", {4}, {Integers({kHuge, 0})}},
        Hostile{"aten.reshape.default", {4}, {Integers({kLeast, kLeast})}},
        Hostile{"aten.sum.dim_IntList", {4}, {Integers({kMost})}},
        Hostile{"aten.softmax.int", {4}, {kLeast}},
        Hostile{"aten.transpose.int", {4}, {kLeast, kMost}},
        Hostile{"aten.permute.default", {4, 4}, {Integers({0, 0})}},
        Hostile{"aten.select.int", {4}, {std::int64_t{0}, kLeast}},
        Hostile{"aten.narrow.default", {4}, {std::int64_t{0}, kMost, kMost}},
        Hostile{"aten.slice.Tensor",
                {4},
                {std::int64_t{0}, std::int64_t{0}, std::int64_t{4}, std::int64_t{0}}},
        Hostile{"aten.nansum.default", {4}, {Given(), false, kMost}},
        Hostile{"aten.sum.default", {4}, {std::int64_t{-1}}},
        Hostile{"aten.to.dtype", {4}, {std::int64_t{200}}},
        Hostile{"aten.linalg_matrix_power.default", {4, 4}, {kLeast}},
        Hostile{"aten.topk.default", {4}, {kHuge}}, Hostile{"aten.unsqueeze.default", {4}, {kMost}},
        Hostile{"aten.one_hot.default", {4}, {std::int64_t{-5}}, true},
        Hostile{"aten.dropout.default", {4}, {1.5, true}},
        Hostile{"aten.bernoulli_.float", {4}, {-2.0}},
        Hostile{"aten.layer_norm.default", {4}, {Integers({kHuge})}},
        Hostile{"aten.tensor_split.sections", {4}, {std::int64_t{0}}},
        Hostile{"aten.tensor_split.sections", {4}, {kHuge}}),
    NameOfHostile);

// All heads of an attention that has none for keys.
TEST(HostileAttentionTest, GroupsOfNoHeadsAreRefused) {
  GraphMaker maker;
  const auto w = maker.Parameter("weight");
  const auto queries = maker.Call("aten.mul.Tensor", {maker.Input(), w});
  const auto none = maker.Call("aten.zeros.default", {Integers({1, 0, 3, 4})});
  const auto y = maker.Call("aten.scaled_dot_product_attention.default",
                            {queries, none, none, Given(), 0.0, false, Given(), true});
  const auto program = Program::Prepare(maker.Finish({y}), {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<at::Tensor> weights = {at::ones({2, 1, 2, 3, 4}, at::kDouble)};
  const std::vector<Value> inputs = {Shared(at::ones({1, 2, 3, 4}, at::kDouble))};
  const auto outcome = program->Run({.trials = 2, .parameters = weights, .inputs = inputs});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("scaled_dot_product_attention"));
}

TEST(TensorBoundTest, WhatIsLargerThanTheMemoryIsRefusedWithItsSize) {
  BoundTensors();
  EXPECT_GT(MemoryBytes(), std::uint64_t{1} << 28);
  EXPECT_LT(MemoryBytes(), std::uint64_t{1} << 50);
  EXPECT_THROW(at::empty({kHuge, 1024}, at::kByte), c10::OutOfMemoryError);
  const std::string refusal =
      HostileRefusal({"aten.expand.default", {1}, {Integers({kHuge, 1024})}});
  EXPECT_THAT(refusal,
              HasSubstr("node 'node_1' (aten.expand.default in 'part'): not enough memory"));
  EXPECT_THAT(refusal, HasSubstr("a tensor would take 16777216.0 GiB, and this machine has "));
  const at::Tensor zeros = at::zeros({1000, 1000});
  EXPECT_EQ(zeros.sum().item().toDouble(), 0);
  CheckBound(zeros);
  CheckBound(at::Tensor());
}

}  // namespace
}  // namespace sluice::train
