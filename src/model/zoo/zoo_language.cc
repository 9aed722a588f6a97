#include <fmt/format.h>

#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kOne = 1;

struct Text {
  std::int64_t vocabulary, tokens, width, heads;
  IntegerOrValue batch{.number = 0, .value = std::nullopt};
};

// Reshapes [batch, tokens, width] to [batch, heads, tokens, size of a head].
ValueId Heads(Builder& b, ValueId x, const Text& text) {
  const std::int64_t size = text.width / text.heads;
  return b.Transpose(b.View(x, {text.batch, Known(text.tokens), Known(text.heads), Known(size)}), 1,
                     2);
}

ValueId FromHeads(Builder& b, ValueId x, const Text& text) {
  return b.View(b.Transpose(x, 1, 2), {text.batch, Known(text.tokens), Known(text.width)});
}

ValueId Positions(Builder& b, const Text& text) {
  const ValueId positions = b.Call("aten.arange.default", {Arg("end", text.tokens)}, DType::kInt64);
  return b.Call("aten.unsqueeze.default", {Arg("self", positions), Arg("dim", std::int64_t{0})},
                DType::kInt64);
}

Result<Text> ReadText(const ZooOptions& options) {
  const Text text{.vocabulary = options.Number("vocab"),
                  .tokens = options.Number("tokens"),
                  .width = options.Number("width"),
                  .heads = options.Number("heads")};
  if (text.width % text.heads != 0) {
    return InvalidArgument(fmt::format(
        "expected a width that is a multiple of heads, found {} and {}", text.width, text.heads));
  }
  return text;
}

// A linear layer with its weight as [in, out], as in GPT-2.
ValueId Conv1d(Builder& b, std::string_view name, ValueId x, const Text& text, std::int64_t in,
               std::int64_t out) {
  const Builder::Scope scope(b, name);
  const ValueId weight = b.Weight("weight", {in, out}, in);
  const ValueId bias = b.Constant("bias", {out}, 0);
  const ValueId rows = b.View(x, {Known(-1), Known(in)});
  const ValueId y =
      b.Call("aten.addmm.default", {Arg("self", bias), Arg("mat1", rows), Arg("mat2", weight)});
  return b.View(y, {text.batch, Known(text.tokens), Known(out)});
}

ValueId Gelu(Builder& b, ValueId x) {
  Argument tanh{.name = "approximate", .value = std::string("tanh"), .keyword = true};
  return b.Call("aten.gelu.default", {Arg("self", x), std::move(tanh)});
}

ValueId GptBlock(Builder& b, ValueId x, const Text& text, double dropout) {
  ValueId y = b.LayerNorm("ln_1", x, text.width);
  y = Conv1d(b, "attn.c_attn", y, text, text.width, 3 * text.width);
  const auto parts = b.CallForMany(
      "aten.split.Tensor",
      {Arg("self", y), Arg("split_size", text.width), Arg("dim", std::int64_t{2})}, 3, true);
  y = b.Attention(Heads(b, parts[0], text), Heads(b, parts[1], text), Heads(b, parts[2], text),
                  true, dropout);
  y = Conv1d(b, "attn.c_proj", FromHeads(b, y, text), text, text.width, text.width);
  x = b.Add(b.Dropout(y, dropout), x);
  y = b.LayerNorm("ln_2", x, text.width);
  y = Gelu(b, Conv1d(b, "mlp.c_fc", y, text, text.width, 4 * text.width));
  y = Conv1d(b, "mlp.c_proj", y, text, 4 * text.width, text.width);
  return b.Add(x, b.Dropout(y, dropout));
}

// The norm comes after the sum, as in the first transformers.
ValueId EncoderLayer(Builder& b, ValueId x, const Text& text, std::int64_t hidden, double dropout) {
  std::vector<ValueId> parts;
  {
    const Builder::Scope scope(b, "self_attn");
    const ValueId weight = b.Weight("in_proj_weight", {3 * text.width, text.width}, text.width);
    const ValueId bias = b.Constant("in_proj_bias", {3 * text.width}, 0);
    const ValueId y =
        b.Call("aten.linear.default", {Arg("input", x), Arg("weight", weight), Arg("bias", bias)});
    parts = b.CallForMany(
        "aten.chunk.default",
        {Arg("self", y), Arg("chunks", std::int64_t{3}), Arg("dim", std::int64_t{-1})}, 3, true);
  }
  ValueId y = b.Attention(Heads(b, parts[0], text), Heads(b, parts[1], text),
                          Heads(b, parts[2], text), true, dropout);
  y = b.Linear("self_attn.out_proj", FromHeads(b, y, text), text.width, text.width);
  x = b.LayerNorm("norm1", b.Add(x, b.Dropout(y, dropout)), text.width);
  y = b.Dropout(b.Relu(b.Linear("linear1", x, text.width, hidden)), dropout);
  y = b.Dropout(b.Linear("linear2", y, hidden, text.width), dropout);
  return b.LayerNorm("norm2", b.Add(x, y), text.width);
}

ValueId BertLayer(Builder& b, ValueId x, const Text& text, double dropout) {
  const auto heads = [&](std::string_view name) {
    return Heads(b, b.Linear(fmt::format("attention.self.{}", name), x, text.width, text.width),
                 text);
  };
  const ValueId query = heads("query");
  const ValueId key = heads("key");
  const ValueId value = heads("value");
  ValueId y = FromHeads(b, b.Attention(query, key, value, false, dropout), text);
  y = b.Dropout(b.Linear("attention.output.dense", y, text.width, text.width), dropout);
  x = b.LayerNorm("attention.output.LayerNorm", b.Add(y, x), text.width, 1e-12);
  y = b.Elementwise("aten.gelu.default",
                    b.Linear("intermediate.dense", x, text.width, 4 * text.width));
  y = b.Dropout(b.Linear("output.dense", y, 4 * text.width, text.width), dropout);
  return b.LayerNorm("output.LayerNorm", b.Add(y, x), text.width, 1e-12);
}

}  // namespace

Result<BuiltModel> BuildGpt(const ZooOptions& options) {
  SLUICE_ASSIGN(Text text, ReadText(options));
  Builder b;
  const double dropout = options.Text("dropout") == "yes" ? 0.1 : 0;
  const ValueId ids = b.Input("input_ids", {text.tokens}, DType::kInt64);
  text.batch.value = b.SizeOf(ids, 0);
  // The table is also the readout, and is drawn as a readout. Positions are drawn like the table
  // that they are added to.
  ValueId table{};
  ValueId x{};
  {
    const Builder::Scope scope(b, "transformer");
    {
      const Builder::Scope wte(b, "wte");
      table = b.Weight("weight", {text.vocabulary, text.width}, text.width);
    }
    x = b.Call("aten.embedding.default", {Arg("weight", table), Arg("indices", ids)});
    x = b.Add(x, b.Embedding("wpe", Positions(b, text),
                             {.rows = text.tokens, .width = text.width, .fan_in = text.width}));
    x = b.Dropout(x, dropout);
    for (std::int64_t i = 0; i < options.Number("layers"); ++i) {
      const Builder::Scope layer(b, fmt::format("h.{}", i));
      x = GptBlock(b, x, text, dropout);
    }
    x = b.LayerNorm("ln_f", x, text.width);
  }
  const Builder::Scope head(b, "lm_head");
  x = b.Call("aten.linear.default", {Arg("input", x), Arg("weight", b.Tied("weight", table))});
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildTransformerLm(const ZooOptions& options) {
  SLUICE_ASSIGN(Text text, ReadText(options));
  Builder b;
  constexpr double kDropout = 0.2;
  const ValueId ids = b.Input("input_ids", {text.tokens}, DType::kInt64);
  text.batch.value = b.SizeOf(ids, 0);
  ValueId x = b.Embedding("embedding", ids, {.rows = text.vocabulary, .width = text.width});
  x = b.Add(
      x, b.Embedding("positions", Positions(b, text), {.rows = text.tokens, .width = text.width}));
  x = b.Dropout(x, kDropout);
  for (std::int64_t i = 0; i < options.Number("layers"); ++i) {
    const Builder::Scope layer(b, fmt::format("encoder.layers.{}", i));
    x = EncoderLayer(b, x, text, options.Number("hidden"), kDropout);
  }
  x = b.Linear("decoder", x, text.width, text.vocabulary);
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildLstmLm(const ZooOptions& options) {
  Builder b;
  constexpr double kDropout = 0.2;
  const std::int64_t tokens = options.Number("tokens");
  const std::int64_t width = options.Number("width");
  const std::int64_t hidden = options.Number("hidden");
  const std::int64_t layers = options.Number("layers");
  const ValueId ids = b.Input("input_ids", {tokens}, DType::kInt64);
  const IntegerOrValue batch = BatchOf(b, ids);
  ValueId x = b.Dropout(
      b.Embedding("encoder", ids, {.rows = options.Number("vocab"), .width = width}), kDropout);
  const auto zeros = [&] {
    return b.Call("aten.zeros.default", {Sizes("size", {Known(layers), batch, Known(hidden)})});
  };
  const std::vector<ValueId> state = {zeros(), zeros()};
  std::vector<ValueId> weights;
  {
    const Builder::Scope scope(b, "rnn");
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::int64_t in = i == 0 ? width : hidden;
      weights.push_back(b.Weight(fmt::format("weight_ih_l{}", i), {4 * hidden, in}, in));
      weights.push_back(b.Weight(fmt::format("weight_hh_l{}", i), {4 * hidden, hidden}, hidden));
      weights.push_back(b.Constant(fmt::format("bias_ih_l{}", i), {4 * hidden}, 0));
      weights.push_back(b.Constant(fmt::format("bias_hh_l{}", i), {4 * hidden}, 0));
    }
  }
  const auto outs =
      b.CallForMany("aten.lstm.input",
                    {Arg("input", x), Tensors("hx", state), Tensors("params", weights),
                     Arg("has_biases", true), Arg("num_layers", layers), Arg("dropout", kDropout),
                     Arg("train", true), Arg("bidirectional", false), Arg("batch_first", true)},
                    3, false);
  x = b.Linear("decoder", b.Dropout(outs[0], kDropout), hidden, options.Number("vocab"));
  return std::move(b).Finish({x});
}

Result<BuiltModel> BuildBert(const ZooOptions& options) {
  SLUICE_ASSIGN(Text text, ReadText(options));
  if (options.Number("positions") < text.tokens)
    return InvalidArgument("expected at least as many positions as tokens");
  Builder b;
  constexpr double kDropout = 0.1;
  const ValueId ids = b.Input("input_ids", {text.tokens}, DType::kInt64);
  text.batch.value = b.SizeOf(ids, 0);
  ValueId x{};
  {
    const Builder::Scope scope(b, "bert.embeddings");
    const ValueId types = b.Call("aten.zeros_like.default", {Arg("self", ids)}, DType::kInt64);
    x = b.Embedding("word_embeddings", ids,
                    {.rows = text.vocabulary, .width = text.width, .untrained_row = 0});
    x = b.Add(x, b.Embedding("position_embeddings", Positions(b, text),
                             {.rows = options.Number("positions"), .width = text.width}));
    x = b.Add(x, b.Embedding("token_type_embeddings", types, {.rows = 2, .width = text.width}));
    x = b.Dropout(b.LayerNorm("LayerNorm", x, text.width, 1e-12), kDropout);
  }
  for (std::int64_t i = 0; i < options.Number("layers"); ++i) {
    const Builder::Scope layer(b, fmt::format("bert.encoder.layer.{}", i));
    x = BertLayer(b, x, text, kDropout);
  }
  x = b.Call("aten.select.int", {Arg("self", x), Arg("dim", kOne), Arg("index", std::int64_t{0})});
  x = b.Elementwise("aten.tanh.default", b.Linear("bert.pooler.dense", x, text.width, text.width));
  x = b.Linear("classifier", b.Dropout(x, kDropout), text.width, options.Number("classes"));
  return std::move(b).Finish({x});
}

}  // namespace sluice::model
