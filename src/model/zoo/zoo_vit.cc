#include <fmt/format.h>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

struct VitShape {
  std::int64_t width, heads, tokens;
};

ValueId Block(Builder& b, ValueId x, const VitShape& shape) {
  const std::int64_t size = shape.width / shape.heads;
  const IntegerOrValue batch = BatchOf(b, x);
  ValueId y = b.LayerNorm("norm1", x, shape.width, 1e-6);
  y = b.Linear("attn.qkv", y, shape.width, 3 * shape.width);
  y = b.View(y, {batch, Known(shape.tokens), Known(3), Known(shape.heads), Known(size)});
  y = b.Call("aten.permute.default", {Arg("self", y), Ints("dims", {2, 0, 3, 1, 4})});
  const auto parts = b.CallForMany("aten.unbind.int", {Arg("self", y)}, 3, true);
  y = b.Transpose(b.Attention(parts[0], parts[1], parts[2], false, 0), 1, 2);
  y = b.View(y, {batch, Known(shape.tokens), Known(shape.width)});
  x = b.Add(x, b.Linear("attn.proj", y, shape.width, shape.width));
  y = b.LayerNorm("norm2", x, shape.width, 1e-6);
  y = b.Elementwise("aten.gelu.default", b.Linear("mlp.fc1", y, shape.width, 4 * shape.width));
  return b.Add(x, b.Linear("mlp.fc2", y, 4 * shape.width, shape.width));
}

}  // namespace

Result<BuiltModel> BuildVit(const ZooOptions& options) {
  Builder b;
  const std::int64_t image = options.Number("image");
  const std::int64_t patch = options.Number("patch");
  const std::int64_t width = options.Number("width");
  const std::int64_t heads = options.Number("heads");
  const bool distilled = options.Text("distilled") == "yes";
  if (image % patch != 0 || width % heads != 0)
    return InvalidArgument(
        "expected an image that is a multiple of patch, and a width that is a multiple of heads");
  const std::int64_t extra = distilled ? 2 : 1;
  const VitShape shape{
      .width = width, .heads = heads, .tokens = (image / patch) * (image / patch) + extra};
  const ValueId input = b.Input("input", {3, image, image});
  ValueId x = b.Conv2d("patch_embed.proj", input,
                       {.in = 3, .out = width, .kernel = patch, .stride = patch, .bias = true});
  x = b.Transpose(b.Flatten(x, 2), 1, 2);
  const IntegerOrValue batch = BatchOf(b, input);
  const auto token = [&](std::string_view name) {
    return b.Call("aten.expand.default", {Arg("self", b.Weight(name, {1, 1, width}, 1)),
                                          Sizes("size", {batch, Known(-1), Known(-1)})});
  };
  std::vector<ValueId> tokens = {token("cls_token")};
  if (distilled) tokens.push_back(token("dist_token"));
  tokens.push_back(x);
  x = b.Add(b.Cat(tokens, 1), b.Weight("pos_embed", {1, shape.tokens, width}, 1));
  for (std::int64_t i = 0; i < options.Number("layers"); ++i) {
    const Builder::Scope scope(b, fmt::format("blocks.{}", i));
    x = Block(b, x, shape);
  }
  x = b.LayerNorm("norm", x, width, 1e-6);
  std::vector<ValueId> outputs;
  for (std::int64_t i = 0; i < extra; ++i) {
    const ValueId one =
        b.Call("aten.select.int", {Arg("self", x), Arg("dim", std::int64_t{1}), Arg("index", i)});
    outputs.push_back(
        b.Linear(i == 0 ? "head" : "head_dist", one, width, options.Number("classes")));
  }
  return std::move(b).Finish(std::move(outputs));
}

}  // namespace sluice::model
