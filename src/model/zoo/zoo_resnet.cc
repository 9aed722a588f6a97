#include <fmt/format.h>

#include <array>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

struct ResnetShape {
  std::array<int, 4> blocks;
  bool bottleneck = false;
  std::int64_t times = 1;  // factor of the inner width of a bottleneck
};

class Resnet {
 public:
  Resnet(const ZooOptions& options, const ResnetShape& shape) : options_(options), shape_(shape) {}

  Result<BuiltModel> Build() && {
    const bool is_cifar = options_.Text("stem") == "cifar";
    const std::int64_t image = options_.Number("image");
    ValueId x = b_.Input("input", {3, image, image});
    x = b_.Conv2d("conv1", x,
                  {.in = 3,
                   .out = 64,
                   .kernel = is_cifar ? 3 : 7,
                   .stride = is_cifar ? 1 : 2,
                   .padding = is_cifar ? 1 : 3});
    x = b_.Relu(b_.BatchNorm("bn1", x, 64));
    if (!is_cifar) x = b_.MaxPool(x, 3, 2, 1);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      const std::int64_t width = std::int64_t{64} << stage;
      for (int i = 0; i < shape_.blocks[stage]; ++i) {
        const Builder::Scope scope(b_, fmt::format("layer{}.{}", stage + 1, i));
        x = Block(x, width, i == 0 && stage > 0 ? 2 : 1);
      }
    }
    x = b_.Flatten(b_.AveragePool(x, 1), 1);
    x = b_.Linear("fc", x, in_, options_.Number("classes"));
    return std::move(b_).Finish({x});
  }

 private:
  ValueId Block(ValueId x, std::int64_t width, std::int64_t stride) {
    const std::int64_t out = shape_.bottleneck ? 4 * width : width;
    const std::int64_t inner = width * shape_.times;
    ValueId y = x;
    if (shape_.bottleneck) {
      y = b_.Relu(b_.BatchNorm("bn1", b_.Conv2d("conv1", y, {.in = in_, .out = inner}), inner));
      y = b_.Conv2d("conv2", y,
                    {.in = inner, .out = inner, .kernel = 3, .stride = stride, .padding = 1});
      y = b_.Relu(b_.BatchNorm("bn2", y, inner));
      y = b_.BatchNorm("bn3", b_.Conv2d("conv3", y, {.in = inner, .out = out}), out);
    } else {
      y = b_.Conv2d("conv1", y,
                    {.in = in_, .out = out, .kernel = 3, .stride = stride, .padding = 1});
      y = b_.Relu(b_.BatchNorm("bn1", y, out));
      y = b_.Conv2d("conv2", y, {.in = out, .out = out, .kernel = 3, .padding = 1});
      y = b_.BatchNorm("bn2", y, out);
    }
    if (stride != 1 || in_ != out) {
      x = b_.Conv2d("downsample.0", x, {.in = in_, .out = out, .stride = stride});
      x = b_.BatchNorm("downsample.1", x, out);
    }
    in_ = out;
    return b_.Relu(b_.Add(y, x));
  }

  const ZooOptions& options_;
  ResnetShape shape_;
  Builder b_;
  std::int64_t in_ = 64;
};

}  // namespace

Result<BuiltModel> BuildResnet18(const ZooOptions& options) {
  return Resnet(options, {.blocks = {2, 2, 2, 2}}).Build();
}

Result<BuiltModel> BuildResnet34(const ZooOptions& options) {
  return Resnet(options, {.blocks = {3, 4, 6, 3}}).Build();
}

Result<BuiltModel> BuildResnet50(const ZooOptions& options) {
  return Resnet(options, {.blocks = {3, 4, 6, 3}, .bottleneck = true}).Build();
}

Result<BuiltModel> BuildWideResnet50(const ZooOptions& options) {
  return Resnet(options, {.blocks = {3, 4, 6, 3}, .bottleneck = true, .times = 2}).Build();
}

}  // namespace sluice::model
