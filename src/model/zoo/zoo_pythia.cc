#include <fmt/format.h>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kLast = -1;

struct PythiaShape {
  std::int64_t tokens, width, heads, rotary;
  IntegerOrValue batch{.number = 0, .value = std::nullopt};
};

// The cosines and the sines of the rotary angles of each position. Both are of shape [tokens,
// rotary].
std::pair<ValueId, ValueId> Angles(Builder& b, const PythiaShape& shape) {
  const auto range = [&](std::int64_t end, std::int64_t step) {
    const ValueId numbers =
        b.Call("aten.arange.start_step",
               {Arg("start", std::int64_t{0}), Arg("end", end), Arg("step", step)}, DType::kInt64);
    return b.Call("aten.to.dtype",
                  {Arg("self", numbers), {.name = "dtype", .value = DType::kFloat32}});
  };
  const ValueId exponents = b.Call(
      "aten.div.Tensor",
      {Arg("self", range(shape.rotary, 2)), Arg("other", static_cast<double>(shape.rotary))});
  const ValueId powers =
      b.Call("aten.pow.Scalar", {Arg("self", 10000.0), Arg("exponent", exponents)});
  const ValueId frequencies = b.Elementwise("aten.reciprocal.default", powers);
  const ValueId positions = b.Call(
      "aten.unsqueeze.default", {Arg("self", range(shape.tokens, 1)), Arg("dim", std::int64_t{1})});
  const ValueId angles = b.Multiply(positions, frequencies);
  const ValueId both = b.Cat({angles, angles}, kLast);
  return {b.Elementwise("aten.cos.default", both), b.Elementwise("aten.sin.default", both)};
}

ValueId Slice(Builder& b, ValueId x, std::int64_t begin, std::int64_t end) {
  return b.Call("aten.slice.Tensor",
                {Arg("self", x), Arg("dim", kLast), Arg("start", begin), Arg("end", end)});
}

// Rotates the first part of each head by the token's position.
ValueId Rotated(Builder& b, ValueId x, const PythiaShape& shape,
                std::pair<ValueId, ValueId> angles) {
  const ValueId turned = Slice(b, x, 0, shape.rotary);
  const ValueId rest = Slice(b, x, shape.rotary, INT64_MAX);
  const ValueId low = Slice(b, turned, 0, shape.rotary / 2);
  const ValueId high = Slice(b, turned, shape.rotary / 2, INT64_MAX);
  const ValueId half = b.Cat({b.Elementwise("aten.neg.default", high), low}, kLast);
  const ValueId sum = b.Add(b.Multiply(turned, angles.first), b.Multiply(half, angles.second));
  return b.Cat({sum, rest}, kLast);
}

ValueId Layer(Builder& b, ValueId x, const PythiaShape& shape, std::pair<ValueId, ValueId> angles) {
  const std::int64_t size = shape.width / shape.heads;
  ValueId y = b.LayerNorm("input_layernorm", x, shape.width);
  y = b.Linear("attention.query_key_value", y, shape.width, 3 * shape.width);
  y = b.View(y, {shape.batch, Known(shape.tokens), Known(shape.heads), Known(3 * size)});
  const auto parts = b.CallForMany(
      "aten.chunk.default",
      {Arg("self", b.Transpose(y, 1, 2)), Arg("chunks", std::int64_t{3}), Arg("dim", kLast)}, 3,
      true);
  y = b.Attention(Rotated(b, parts[0], shape, angles), Rotated(b, parts[1], shape, angles),
                  parts[2], true, 0);
  y = b.View(b.Transpose(y, 1, 2), {shape.batch, Known(shape.tokens), Known(shape.width)});
  const ValueId attended = b.Linear("attention.dense", y, shape.width, shape.width);
  y = b.LayerNorm("post_attention_layernorm", x, shape.width);
  y = b.Elementwise("aten.gelu.default",
                    b.Linear("mlp.dense_h_to_4h", y, shape.width, 4 * shape.width));
  y = b.Linear("mlp.dense_4h_to_h", y, 4 * shape.width, shape.width);
  return b.Add(b.Add(y, attended), x);
}

}  // namespace

Result<BuiltModel> BuildPythia(const ZooOptions& options) {
  PythiaShape shape{.tokens = options.Number("tokens"),
                    .width = options.Number("width"),
                    .heads = options.Number("heads"),
                    .rotary = 0};
  if (shape.width % shape.heads != 0 || shape.width / shape.heads % 8 != 0)
    return InvalidArgument("expected a width that is a multiple of 8 times heads");
  shape.rotary = shape.width / shape.heads / 4;
  Builder b;
  const ValueId ids = b.Input("input_ids", {shape.tokens}, DType::kInt64);
  shape.batch.value = b.SizeOf(ids, 0);
  ValueId x{};
  {
    const Builder::Scope scope(b, "gpt_neox");
    x = b.Embedding("embed_in", ids, {.rows = options.Number("vocab"), .width = shape.width});
    const auto angles = Angles(b, shape);
    for (std::int64_t i = 0; i < options.Number("layers"); ++i) {
      const Builder::Scope layer(b, fmt::format("layers.{}", i));
      x = Layer(b, x, shape, angles);
    }
    x = b.LayerNorm("final_layer_norm", x, shape.width);
  }
  x = b.Linear("embed_out", x, shape.width, options.Number("vocab"), false);
  return std::move(b).Finish({x});
}

}  // namespace sluice::model
