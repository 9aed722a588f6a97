#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

constexpr Dims::Rank kInner = Dims::Rank::kInner;

// The roles of two tensors whose products are summed up. They are two activations, or an activation
// and a weight.
struct Meeting {
  bool of_activations = false;
  bool first_is_weight = false;
  bool second_is_weight = false;
};

Meeting MeetingOf(const Inference& inference, ValueId a, ValueId b) {
  const bool first = inference.IsActivation(a);
  const bool second = inference.IsActivation(b);
  if (first != second) return {.first_is_weight = second, .second_is_weight = first};
  const bool both = inference.IsFromInput(a) && inference.IsFromInput(b);
  return {.of_activations = both, .second_is_weight = !both};
}

}  // namespace

void Linear(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const Shape weight = step.Tensor("weight");  // [out, in]
  if (shape.empty() || weight.empty() || weight.size() > 2)
    inference.Fail("expected a matrix as weight");
  if (!inference.ok()) return;
  inference.Unify(shape.back(), weight.back());
  inference.AddUse(step.ValueOf("weight"), {weight.size() - 1});
  if (weight.size() == 1) {
    shape.pop_back();
  } else {
    shape.back() = weight[0];
    if (step.Has("bias")) {
      const Shape bias = step.Tensor("bias");
      if (bias.size() != 1) inference.Fail("expected a vector as bias");
      if (inference.ok()) inference.Unify(bias[0], weight[0]);
    }
  }
  inference.SetOutput(std::move(shape));
}

void Matmul(const Step& step, Inference& inference) {
  const bool is_batch = step.op() == "baddbmm";
  const std::string_view second = step.Has("other")  ? "other"
                                  : step.Has("mat2") ? "mat2"
                                  : step.Has("vec")  ? "vec"
                                                     : "batch2";
  const std::string_view first = is_batch ? "batch1" : "self";
  Shape a = step.Tensor(first);
  Shape b = step.Tensor(second);
  if (a.empty() || b.empty()) inference.Fail("expected tensors with dimensions");
  if (!inference.ok()) return;
  // Both arguments have dimensions, so they are values of the graph.
  const ValueId operands[] = {*step.ValueOf(first), *step.ValueOf(second)};
  const Meeting meeting = MeetingOf(inference, operands[0], operands[1]);
  if (meeting.first_is_weight) inference.AddUse(operands[0], {a.size() - 1});
  if (meeting.second_is_weight) inference.AddUse(operands[1], {b.size() == 1 ? 0 : b.size() - 2});
  const bool a_is_vector = a.size() == 1;
  const bool b_is_vector = b.size() == 1;
  if (a_is_vector) a.insert(a.begin(), inference.Fixed(1));
  if (b_is_vector) b.push_back(inference.Fixed(1));
  const Dim rows = a[a.size() - 2];
  const Dim inner = inference.Unify(a.back(), b[b.size() - 2]);
  const Dim columns = b.back();
  if (!inference.ok()) return;
  const Shape batch =
      inference.Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (meeting.of_activations) {
    for (const Dim dim : {rows, inner, columns}) inference.Raise(dim, kInner);
    inference.AddContraction({.dim = inner, .heads = batch, .inner = {rows, inner, columns}},
                             operands);
  }
  Shape out = batch;
  if (!a_is_vector) out.push_back(rows);
  if (!b_is_vector) out.push_back(columns);
  if (is_batch) out = inference.Broadcast(out, step.Tensor("self"));
  inference.SetOutput(std::move(out));
}

// The sum of a tensor and a product: of two matrices, or of a matrix and a vector.
void Addmm(const Step& step, Inference& inference) {
  const bool is_vector = step.Has("vec");
  const Shape a = step.Tensor(is_vector ? "mat" : "mat1");
  const Shape b = step.Tensor(is_vector ? "vec" : "mat2");
  if (a.size() != 2 || b.size() != (is_vector ? 1 : 2)) inference.Fail("expected two matrices");
  if (!inference.ok()) return;
  inference.Unify(a[1], b[0]);
  inference.AddUse(step.ValueOf(is_vector ? "mat" : "mat1"), {1});
  inference.AddUse(step.ValueOf(is_vector ? "vec" : "mat2"), {0});
  const Shape product = is_vector ? Shape{a[0]} : Shape{a[0], b[1]};
  inference.SetOutput(inference.Broadcast(product, step.Tensor("self")));
}

void Dot(const Step& step, Inference& inference) {
  const std::vector<Shape> both = step.AllTensors();
  if (both.size() != 2 || both[0].size() != 1 || both[1].size() != 1)
    inference.Fail("expected two vectors");
  if (!inference.ok()) return;
  inference.Unify(both[0][0], both[1][0]);
  inference.SetOutput({});
}

void Outer(const Step& step, Inference& inference) {
  const std::vector<Shape> both = step.AllTensors();
  if (both.size() != 2 || both[0].size() != 1 || both[1].size() != 1)
    inference.Fail("expected two vectors");
  if (inference.ok()) inference.SetOutput({both[0][0], both[1][0]});
}

void Bilinear(const Step& step, Inference& inference) {
  Shape a = step.Tensor("input1");
  const Shape b = step.Tensor("input2");
  const Shape weight = step.Tensor("weight");  // [out, in1, in2]
  if (a.empty() || a.size() != b.size() || weight.size() != 3)
    inference.Fail("expected two inputs of as many dimensions, and a weight of three");
  if (!inference.ok()) return;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) inference.Unify(a[i], b[i]);
  inference.Unify(a.back(), weight[1]);
  inference.Unify(b.back(), weight[2]);
  inference.AddUse(step.ValueOf("weight"), {1, 2});
  if (step.Has("bias") && inference.ok()) {
    const Shape bias = step.Tensor("bias");
    if (bias.size() == 1) inference.Unify(bias[0], weight[0]);
  }
  a.back() = weight[0];
  inference.SetOutput(std::move(a));
}

void Attention(const Step& step, Inference& inference) {
  const Shape query = step.Tensor("query");  // [..., heads, tokens, head size]
  const Shape key = step.Tensor("key");
  const Shape value = step.Tensor("value");
  const std::size_t rank = query.size();
  if (rank < 2 || key.size() != rank || value.size() != rank)
    inference.Fail("expected queries, keys and values of as many dimensions");
  if (!inference.ok()) return;
  inference.Unify(query[rank - 1], key[rank - 1]);
  inference.Unify(key[rank - 2], value[rank - 2]);
  inference.Raise(query[rank - 1], kInner);
  inference.Raise(value[rank - 1], kInner);
  Shape batch(query.begin(), query.end() - 2);
  for (const Shape* other : {&key, &value}) {
    Shape its(other->begin(), other->end() - 2);
    if (step.Boolean("enable_gqa", false) && !its.empty()) {
      const std::int64_t heads = inference.SizeOf(batch.back());
      const std::int64_t its_heads = inference.SizeOf(its.back());
      if (its_heads < 1 || heads % its_heads != 0) {
        inference.Fail("the heads of the queries are no multiple of those of the keys");
        return;
      }
      const Dim times = inference.New(heads / its_heads);
      inference.Raise(times, Dims::Rank::kCount);
      its.back() = inference.Product({its.back(), times});
    }
    batch = inference.Broadcast(batch, its);
  }
  if (step.Has("attn_mask")) {
    Shape logits = batch;
    logits.push_back(query[rank - 2]);
    logits.push_back(key[rank - 2]);
    static_cast<void>(inference.Broadcast(logits, step.Tensor("attn_mask")));
  }
  const ValueId operands[] = {*step.ValueOf("query"), *step.ValueOf("key")};
  inference.AddContraction(
      {.dim = query[rank - 1], .heads = batch, .inner = {query[rank - 1], value[rank - 1]}},
      operands);
  Shape out = batch;
  out.push_back(query[rank - 2]);
  out.push_back(value[rank - 1]);
  inference.SetOutput(std::move(out));
}

void Embedding(const Step& step, Inference& inference) {
  const Shape table = step.Tensor("weight");  // [rows, width]
  Shape out = step.Tensor("indices");
  if (table.size() != 2) inference.Fail("expected a matrix as weight");
  if (!inference.ok()) return;
  inference.Fix(table[0], "rows are picked by index");
  inference.AddUse(step.ValueOf("weight"), {0}, /*lookup=*/true);
  out.push_back(table[1]);
  inference.SetOutput(std::move(out));
}

void EmbeddingBag(const Step& step, Inference& inference) {
  const Shape table = step.Tensor("weight");
  const Shape indices = step.Tensor("indices");
  const Shape offsets = step.Tensor("offsets");
  if (table.size() != 2 || indices.size() != 1 || offsets.size() != 1)
    inference.Fail("expected a matrix as weight, and lists of indices and offsets");
  if (!inference.ok()) return;
  inference.Fix(table[0], "rows are picked by index");
  inference.AddUse(step.ValueOf("weight"), {0}, /*lookup=*/true);
  Dim bags = offsets[0];
  if (step.Boolean("include_last_offset", false)) {
    inference.Fix(bags, "the last offset only ends the list");
    bags = inference.Fixed(std::max<std::int64_t>(inference.SizeOf(bags) - 1, 0));
  }
  std::vector<Shape> outs = {{bags, table[1]}, {indices[0]}, {bags}, {bags}};
  outs.resize(step.outputs());
  inference.SetOutputs(std::move(outs));
}

}  // namespace sluice::model
