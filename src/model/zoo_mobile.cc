#include <fmt/format.h>

#include "model/zoo_networks.h"

namespace sluice::model {
namespace {

constexpr std::string_view kRelu = "aten.relu.default";
constexpr std::string_view kHardswish = "aten.hardswish.default";

// A convolution, its norm, and what follows; nothing does for "".
ValueId ConvNorm(Builder& b, ValueId x, const Builder::Convolution& about, std::string_view after) {
  x = b.Conv2d("0", x, about);
  x = b.BatchNorm("1", x, about.out, 0.001, 0.01);
  return after.empty() ? x : b.Elementwise(after, x);
}

struct MobileBlock {
  std::int64_t kernel, expanded, out;
  std::int64_t squeezed;  // 0: not at all
  bool hardswish;
  std::int64_t stride;
};

constexpr MobileBlock kMobileBlocks[] = {
    {3, 16, 16, 0, false, 1},    {3, 64, 24, 0, false, 2},    {3, 72, 24, 0, false, 1},
    {5, 72, 40, 24, false, 2},   {5, 120, 40, 32, false, 1},  {5, 120, 40, 32, false, 1},
    {3, 240, 80, 0, true, 2},    {3, 200, 80, 0, true, 1},    {3, 184, 80, 0, true, 1},
    {3, 184, 80, 0, true, 1},    {3, 480, 112, 120, true, 1}, {3, 672, 112, 168, true, 1},
    {5, 672, 160, 168, true, 2}, {5, 960, 160, 240, true, 1}, {5, 960, 160, 240, true, 1},
};

ValueId SqueezeExcite(Builder& b, ValueId x, std::int64_t channels, std::int64_t squeezed) {
  ValueId scale = b.AveragePool(x, 1);
  scale = b.Relu(b.Conv2d("fc1", scale, {.in = channels, .out = squeezed, .bias = true}));
  scale = b.Conv2d("fc2", scale, {.in = squeezed, .out = channels, .bias = true});
  return b.Multiply(b.Elementwise("aten.hardsigmoid.default", scale), x);
}

ValueId BuildBlock(Builder& b, ValueId x, std::int64_t in, const MobileBlock& about) {
  const std::string_view after = about.hardswish ? kHardswish : kRelu;
  ValueId y = x;
  int at = 0;
  if (about.expanded != in) {
    const Builder::Scope scope(b, fmt::format("block.{}", at++));
    y = ConvNorm(b, y, {.in = in, .out = about.expanded}, after);
  }
  {
    const Builder::Scope scope(b, fmt::format("block.{}", at++));
    y = ConvNorm(b, y,
                 {.in = about.expanded,
                  .out = about.expanded,
                  .kernel = about.kernel,
                  .stride = about.stride,
                  .padding = about.kernel / 2,
                  .groups = about.expanded},
                 after);
  }
  if (about.squeezed > 0) {
    const Builder::Scope scope(b, fmt::format("block.{}", at++));
    y = SqueezeExcite(b, y, about.expanded, about.squeezed);
  }
  const Builder::Scope scope(b, fmt::format("block.{}", at));
  y = ConvNorm(b, y, {.in = about.expanded, .out = about.out}, "");
  return about.stride == 1 && in == about.out ? b.Add(y, x) : y;
}

// ---- ShuffleNet

ValueId ShuffleConv(Builder& b, std::string_view at, std::string_view norm, ValueId x,
                    const Builder::Convolution& about) {
  return b.BatchNorm(norm, b.Conv2d(at, x, about), about.out);
}

ValueId Branch(Builder& b, ValueId x, std::int64_t in, std::int64_t out, std::int64_t stride) {
  const Builder::Scope scope(b, "branch2");
  x = b.Relu(ShuffleConv(b, "0", "1", x, {.in = in, .out = out}));
  x = ShuffleConv(
      b, "3", "4", x,
      {.in = out, .out = out, .kernel = 3, .stride = stride, .padding = 1, .groups = out});
  return b.Relu(ShuffleConv(b, "5", "6", x, {.in = out, .out = out}));
}

// The halves take turns.
ValueId Shuffle(Builder& b, ValueId x, std::int64_t channels, std::int64_t side) {
  const auto fixed = [](std::int64_t number) {
    return IntegerOrValue{.number = number, .value = {}};
  };
  const IntegerOrValue batch{.number = 0, .value = b.SizeOf(x, 0)};
  x = b.View(x, {batch, fixed(2), fixed(channels / 2), fixed(side), fixed(side)});
  return b.View(b.Transpose(x, 1, 2), {batch, fixed(channels), fixed(side), fixed(side)});
}

}  // namespace

Result<BuiltModel> BuildMobilenetV3(const ZooOptions& options) {
  Builder b;
  const std::int64_t image = options.Number("image");
  const std::int64_t stride = options.Text("stem") == "cifar" ? 1 : 2;
  ValueId x = b.Input("input", {3, image, image});
  {
    const Builder::Scope scope(b, "features.0");
    x = ConvNorm(b, x, {.in = 3, .out = 16, .kernel = 3, .stride = stride, .padding = 1},
                 kHardswish);
  }
  std::int64_t in = 16;
  int at = 1;
  for (const MobileBlock& block : kMobileBlocks) {
    const Builder::Scope scope(b, fmt::format("features.{}", at++));
    x = BuildBlock(b, x, in, block);
    in = block.out;
  }
  {
    const Builder::Scope scope(b, fmt::format("features.{}", at));
    x = ConvNorm(b, x, {.in = in, .out = 960}, kHardswish);
  }
  x = b.Flatten(b.AveragePool(x, 1), 1);
  x = b.Dropout(b.Elementwise(kHardswish, b.Linear("classifier.0", x, 960, 1280)), 0.2);
  x = b.Linear("classifier.3", x, 1280, options.Number("classes"));
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildShufflenetV2(const ZooOptions& options) {
  Builder b;
  const bool is_cifar = options.Text("stem") == "cifar";
  std::int64_t side = options.Number("image");
  ValueId x = b.Input("input", {3, side, side});
  {
    const Builder::Scope scope(b, "conv1");
    x = b.Relu(
        ShuffleConv(b, "0", "1", x,
                    {.in = 3, .out = 24, .kernel = 3, .stride = is_cifar ? 1 : 2, .padding = 1}));
  }
  if (!is_cifar) {
    x = b.MaxPool(x, 3, 2, 1);
    side = ((side + 1) / 2 + 1) / 2;
  }
  std::int64_t in = 24;
  int stage = 2;
  for (const auto& [out, blocks] : {std::pair<std::int64_t, int>{116, 4}, {232, 8}, {464, 4}}) {
    side = (side + 1) / 2;
    for (int i = 0; i < blocks; ++i) {
      const Builder::Scope scope(b, fmt::format("stage{}.{}", stage, i));
      std::vector<ValueId> halves;
      if (i == 0) {
        const Builder::Scope branch(b, "branch1");
        ValueId y = ShuffleConv(
            b, "0", "1", x,
            {.in = in, .out = in, .kernel = 3, .stride = 2, .padding = 1, .groups = in});
        halves.push_back(b.Relu(ShuffleConv(b, "2", "3", y, {.in = in, .out = out / 2})));
      }
      if (i == 0) {
        halves.push_back(Branch(b, x, in, out / 2, 2));
      } else {
        halves = b.CallForMany(
            "aten.chunk.default",
            {Arg("self", x), Arg("chunks", std::int64_t{2}), Arg("dim", std::int64_t{1})}, 2, true);
        halves[1] = Branch(b, halves[1], out / 2, out / 2, 1);
      }
      x = Shuffle(b, b.Cat(halves, 1), out, side);
    }
    in = out;
    ++stage;
  }
  {
    const Builder::Scope scope(b, "conv5");
    x = b.Relu(ShuffleConv(b, "0", "1", x, {.in = in, .out = 1024}));
  }
  x = b.Call("aten.mean.dim", {Arg("self", x), Ints("dim", {2, 3})});
  x = b.Linear("fc", x, 1024, options.Number("classes"));
  return std::move(b).Finish({x});
}

}  // namespace sluice::model
