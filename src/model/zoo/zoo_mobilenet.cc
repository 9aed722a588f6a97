#include <fmt/format.h>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

constexpr std::string_view kRelu = "aten.relu.default";
constexpr std::string_view kHardswish = "aten.hardswish.default";

// A convolution, its norm, and the operator `after` unless it is "".
ValueId ConvNorm(Builder& b, ValueId x, const Builder::Convolution& about, std::string_view after) {
  x = b.Conv2d("0", x, about);
  x = b.BatchNorm("1", x, about.out, 0.001, 0.01);
  return after.empty() ? x : b.Elementwise(after, x);
}

struct MobileBlock {
  std::int64_t kernel, expanded, out;
  std::int64_t squeezed;  // 0: no squeeze and excitation
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

}  // namespace sluice::model
