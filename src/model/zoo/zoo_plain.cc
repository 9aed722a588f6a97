#include <fmt/format.h>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {

Result<BuiltModel> BuildMlp(const ZooOptions& options) {
  Builder b;
  std::int64_t width = options.Number("in");
  ValueId x = b.Input("input", {width});
  for (std::int64_t i = 0; i < options.Number("layers"); ++i) {
    x = b.Relu(b.Linear(fmt::format("layers.{}", i), x, width, options.Number("hidden")));
    width = options.Number("hidden");
  }
  x = b.Linear("head", x, width, options.Number("classes"));
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildLenet(const ZooOptions& options) {
  Builder b;
  const std::int64_t image = options.Number("image");
  const std::int64_t padding = image == 28 ? 2 : 0;
  const std::int64_t left = ((image + 2 * padding - 4) / 2 - 4) / 2;
  ValueId x = b.Input("input", {options.Number("channels"), image, image});
  x = b.Conv2d(
      "conv1", x,
      {.in = options.Number("channels"), .out = 6, .kernel = 5, .padding = padding, .bias = true});
  x = b.MaxPool(b.Relu(x), 2, 2);
  x = b.Conv2d("conv2", x, {.in = 6, .out = 16, .kernel = 5, .bias = true});
  x = b.Flatten(b.MaxPool(b.Relu(x), 2, 2), 1);
  x = b.Relu(b.Linear("fc1", x, 16 * left * left, 120));
  x = b.Relu(b.Linear("fc2", x, 120, 84));
  x = b.Linear("fc3", x, 84, options.Number("classes"));
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildVgg11(const ZooOptions& options) {
  constexpr std::int64_t kPool = 0;
  constexpr std::int64_t kChannels[] = {64,  kPool, 128,   kPool, 256, 256,  kPool,
                                        512, 512,   kPool, 512,   512, kPool};
  Builder b;
  const bool is_cifar = options.Text("stem") == "cifar";
  const bool norm = options.Text("norm") == "batch";
  ValueId x = b.Input("input", {3, options.Number("image"), options.Number("image")});
  std::int64_t in = 3;
  int at = 0;
  for (const std::int64_t out : kChannels) {
    if (out == kPool) {
      x = b.MaxPool(x, 2, 2);
      ++at;
      continue;
    }
    x = b.Conv2d(fmt::format("features.{}", at++), x,
                 {.in = in, .out = out, .kernel = 3, .padding = 1, .bias = true});
    if (norm) x = b.BatchNorm(fmt::format("features.{}", at++), x, out);
    x = b.Relu(x);
    ++at;
    in = out;
  }
  const std::int64_t side = is_cifar ? 1 : 7;
  const std::int64_t wide = is_cifar ? 512 : 4096;
  x = b.Flatten(b.AveragePool(x, side), 1);
  x = b.Dropout(b.Relu(b.Linear("classifier.0", x, 512 * side * side, wide)), 0.5);
  x = b.Dropout(b.Relu(b.Linear("classifier.3", x, wide, wide)), 0.5);
  x = b.Linear("classifier.6", x, wide, options.Number("classes"));
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildDcganGenerator(const ZooOptions& options) {
  Builder b;
  const std::int64_t width = options.Number("width");
  const Builder::Scope main(b, "main");
  std::int64_t in = options.Number("latent");
  ValueId x = b.Input("input", {in, 1, 1});
  int at = 0;
  for (const std::int64_t times : {8, 4, 2, 1}) {
    const bool first = times == 8;
    x = b.ConvTranspose2d(fmt::to_string(at), x,
                          {.in = in,
                           .out = width * times,
                           .kernel = 4,
                           .stride = first ? 1 : 2,
                           .padding = first ? 0 : 1});
    x = b.Relu(b.BatchNorm(fmt::to_string(at + 1), x, width * times));
    in = width * times;
    at += 3;
  }
  x = b.ConvTranspose2d(
      fmt::to_string(at), x,
      {.in = in, .out = options.Number("channels"), .kernel = 4, .stride = 2, .padding = 1});
  x = b.Elementwise("aten.tanh.default", x);
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildDcganDiscriminator(const ZooOptions& options) {
  Builder b;
  const std::int64_t width = options.Number("width");
  const Builder::Scope main(b, "main");
  std::int64_t in = options.Number("channels");
  ValueId x = b.Input("input", {in, 64, 64});
  const auto leaky = [&](ValueId value) {
    return b.Call("aten.leaky_relu.default", {Arg("self", value), Arg("negative_slope", 0.2)});
  };
  int at = 0;
  for (const std::int64_t times : {1, 2, 4, 8}) {
    x = b.Conv2d(fmt::to_string(at), x,
                 {.in = in, .out = width * times, .kernel = 4, .stride = 2, .padding = 1});
    if (times > 1) x = b.BatchNorm(fmt::to_string(at + 1), x, width * times);
    x = leaky(x);
    in = width * times;
    at += times > 1 ? 3 : 2;
  }
  x = b.Conv2d(fmt::to_string(at), x, {.in = in, .out = 1, .kernel = 4});
  x = b.Flatten(b.Elementwise("aten.sigmoid.default", x), 0);
  return std::move(b).Finish({x});
}

}  // namespace sluice::model
