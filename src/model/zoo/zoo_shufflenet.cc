#include <fmt/format.h>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

ValueId NamedConvNorm(Builder& b, std::string_view at, std::string_view norm, ValueId x,
                      const Builder::Convolution& about) {
  return b.BatchNorm(norm, b.Conv2d(at, x, about), about.out);
}

ValueId Branch(Builder& b, ValueId x, std::int64_t in, std::int64_t out, std::int64_t stride) {
  const Builder::Scope scope(b, "branch2");
  x = b.Relu(NamedConvNorm(b, "0", "1", x, {.in = in, .out = out}));
  x = NamedConvNorm(
      b, "3", "4", x,
      {.in = out, .out = out, .kernel = 3, .stride = stride, .padding = 1, .groups = out});
  return b.Relu(NamedConvNorm(b, "5", "6", x, {.in = out, .out = out}));
}

// Interleaves the channels of the two halves.
ValueId Shuffle(Builder& b, ValueId x, std::int64_t channels, std::int64_t side) {
  const IntegerOrValue batch = BatchOf(b, x);
  x = b.View(x, {batch, Known(2), Known(channels / 2), Known(side), Known(side)});
  return b.View(b.Transpose(x, 1, 2), {batch, Known(channels), Known(side), Known(side)});
}

}  // namespace

Result<BuiltModel> BuildShufflenetV2(const ZooOptions& options) {
  Builder b;
  const bool is_cifar = options.Text("stem") == "cifar";
  std::int64_t side = options.Number("image");
  ValueId x = b.Input("input", {3, side, side});
  {
    const Builder::Scope scope(b, "conv1");
    x = b.Relu(
        NamedConvNorm(b, "0", "1", x,
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
        ValueId y = NamedConvNorm(
            b, "0", "1", x,
            {.in = in, .out = in, .kernel = 3, .stride = 2, .padding = 1, .groups = in});
        halves.push_back(b.Relu(NamedConvNorm(b, "2", "3", y, {.in = in, .out = out / 2})));
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
    x = b.Relu(NamedConvNorm(b, "0", "1", x, {.in = in, .out = 1024}));
  }
  x = b.Call("aten.mean.dim", {Arg("self", x), Ints("dim", {2, 3})});
  x = b.Linear("fc", x, 1024, options.Number("classes"));
  return std::move(b).Finish({x});
}

}  // namespace sluice::model
