#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

constexpr Dims::Rank kInner = Dims::Rank::kInner;

// The roles of two tensors that are multiplied and summed up: two activations, or an activation and
// a weight.
struct Meeting {
  bool of_activations = false;
  bool first_is_weight = false;
  bool second_is_weight = false;
};

Meeting MeetingOf(const Step& step, std::string_view a, std::string_view b) {
  const std::vector<ValueId> values = step.ValuesOf({a, b});
  if (values.size() != 2) return {};
  const bool first = step.IsActivation(values[0]);
  const bool second = step.IsActivation(values[1]);
  if (first != second) return {.first_is_weight = second, .second_is_weight = first};
  const bool both = step.IsFromInput(values[0]) && step.IsFromInput(values[1]);
  return {.of_activations = both, .second_is_weight = !both};
}

}  // namespace

void Linear(Step& step) {
  Shape shape = step.First();
  const Shape weight = step.Tensor("weight");  // [out, in]
  if (shape.empty() || weight.empty() || weight.size() > 2)
    step.Fail("expected a matrix as weight");
  if (!step.ok()) return;
  step.Same(shape.back(), weight.back());
  step.Contracts("weight", {weight.size() - 1});
  if (weight.size() == 1) {
    shape.pop_back();
  } else {
    shape.back() = weight[0];
    if (step.Has("bias")) {
      const Shape bias = step.Tensor("bias");
      if (bias.size() != 1) step.Fail("expected a vector as bias");
      if (step.ok()) step.Same(bias[0], weight[0]);
    }
  }
  step.SetOutput(std::move(shape));
}

void Matmul(Step& step) {
  const bool is_batch = step.op() == "baddbmm";
  const std::string_view second = step.Has("other")  ? "other"
                                  : step.Has("mat2") ? "mat2"
                                  : step.Has("vec")  ? "vec"
                                                     : "batch2";
  const std::string_view first = is_batch ? "batch1" : "self";
  Shape a = step.Tensor(first);
  Shape b = step.Tensor(second);
  if (a.empty() || b.empty()) step.Fail("expected tensors with dimensions");
  if (!step.ok()) return;
  const Meeting meeting = MeetingOf(step, first, second);
  if (meeting.first_is_weight) step.Contracts(first, {a.size() - 1});
  if (meeting.second_is_weight) step.Contracts(second, {b.size() == 1 ? 0 : b.size() - 2});
  const bool a_is_vector = a.size() == 1;
  const bool b_is_vector = b.size() == 1;
  if (a_is_vector) a.insert(a.begin(), step.Fixed(1));
  if (b_is_vector) b.push_back(step.Fixed(1));
  const Dim rows = a[a.size() - 2];
  const Dim inner = step.Same(a.back(), b[b.size() - 2]);
  const Dim columns = b.back();
  if (!step.ok()) return;
  const Shape batch = step.Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (meeting.of_activations) {
    for (const Dim dim : {rows, inner, columns}) step.dims().Raise(dim, kInner);
    step.ContractsActivations(inner, batch, {rows, inner, columns}, step.ValuesOf({first, second}));
  }
  Shape out = batch;
  if (!a_is_vector) out.push_back(rows);
  if (!b_is_vector) out.push_back(columns);
  if (is_batch) out = step.Broadcast(out, step.Tensor("self"));
  step.SetOutput(std::move(out));
}

// The sum of a tensor and a product: of two matrices, or of a matrix and a vector.
void Addmm(Step& step) {
  const bool is_vector = step.Has("vec");
  const Shape a = step.Tensor(is_vector ? "mat" : "mat1");
  const Shape b = step.Tensor(is_vector ? "vec" : "mat2");
  if (a.size() != 2 || b.size() != (is_vector ? 1 : 2)) step.Fail("expected two matrices");
  if (!step.ok()) return;
  step.Same(a[1], b[0]);
  step.Contracts(is_vector ? "mat" : "mat1", {1});
  step.Contracts(is_vector ? "vec" : "mat2", {0});
  const Shape product = is_vector ? Shape{a[0]} : Shape{a[0], b[1]};
  step.SetOutput(step.Broadcast(product, step.Tensor("self")));
}

void Dot(Step& step) {
  const std::vector<Shape> both = step.AllTensors();
  if (both.size() != 2 || both[0].size() != 1 || both[1].size() != 1)
    step.Fail("expected two vectors");
  if (!step.ok()) return;
  step.Same(both[0][0], both[1][0]);
  step.SetOutput({});
}

void Outer(Step& step) {
  const std::vector<Shape> both = step.AllTensors();
  if (both.size() != 2 || both[0].size() != 1 || both[1].size() != 1)
    step.Fail("expected two vectors");
  if (step.ok()) step.SetOutput({both[0][0], both[1][0]});
}

void Bilinear(Step& step) {
  Shape a = step.Tensor("input1");
  const Shape b = step.Tensor("input2");
  const Shape weight = step.Tensor("weight");  // [out, in1, in2]
  if (a.empty() || a.size() != b.size() || weight.size() != 3)
    step.Fail("expected two inputs of as many dimensions, and a weight of three");
  if (!step.ok()) return;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) step.Same(a[i], b[i]);
  step.Same(a.back(), weight[1]);
  step.Same(b.back(), weight[2]);
  step.Contracts("weight", {1, 2});
  if (step.Has("bias") && step.ok()) {
    const Shape bias = step.Tensor("bias");
    if (bias.size() == 1) step.Same(bias[0], weight[0]);
  }
  a.back() = weight[0];
  step.SetOutput(std::move(a));
}

void Attention(Step& step) {
  const Shape query = step.Tensor("query");  // [..., heads, tokens, head size]
  const Shape key = step.Tensor("key");
  const Shape value = step.Tensor("value");
  const std::size_t rank = query.size();
  if (rank < 2 || key.size() != rank || value.size() != rank)
    step.Fail("expected queries, keys and values of as many dimensions");
  if (!step.ok()) return;
  step.Same(query[rank - 1], key[rank - 1]);
  step.Same(key[rank - 2], value[rank - 2]);
  step.dims().Raise(query[rank - 1], kInner);
  step.dims().Raise(value[rank - 1], kInner);
  Shape batch(query.begin(), query.end() - 2);
  for (const Shape* other : {&key, &value}) {
    Shape its(other->begin(), other->end() - 2);
    if (step.Boolean("enable_gqa", false) && !its.empty()) {
      const std::int64_t heads = step.SizeOf(batch.back());
      const std::int64_t its_heads = step.SizeOf(its.back());
      if (its_heads < 1 || heads % its_heads != 0) {
        step.Fail("the heads of the queries are no multiple of those of the keys");
        return;
      }
      const Dim times = step.New(heads / its_heads);
      step.dims().Raise(times, Dims::Rank::kCount);
      const Dim factors[] = {its.back(), times};
      its.back() = step.dims().Product(factors);
    }
    batch = step.Broadcast(batch, its);
  }
  if (step.Has("attn_mask")) {
    Shape logits = batch;
    logits.push_back(query[rank - 2]);
    logits.push_back(key[rank - 2]);
    static_cast<void>(step.Broadcast(logits, step.Tensor("attn_mask")));
  }
  step.ContractsActivations(query[rank - 1], batch, {query[rank - 1], value[rank - 1]},
                            step.ValuesOf({"query", "key"}));
  Shape out = batch;
  out.push_back(query[rank - 2]);
  out.push_back(value[rank - 1]);
  step.SetOutput(std::move(out));
}

void Embedding(Step& step) {
  const Shape table = step.Tensor("weight");  // [rows, width]
  Shape out = step.Tensor("indices");
  if (table.size() != 2) step.Fail("expected a matrix as weight");
  if (!step.ok()) return;
  step.Fix(table[0], "rows are picked by index");
  step.Contracts("weight", {0}, /*lookup=*/true);
  out.push_back(table[1]);
  step.SetOutput(std::move(out));
}

void EmbeddingBag(Step& step) {
  const Shape table = step.Tensor("weight");
  const Shape indices = step.Tensor("indices");
  const Shape offsets = step.Tensor("offsets");
  if (table.size() != 2 || indices.size() != 1 || offsets.size() != 1)
    step.Fail("expected a matrix as weight, and lists of indices and offsets");
  if (!step.ok()) return;
  step.Fix(table[0], "rows are picked by index");
  step.Contracts("weight", {0}, /*lookup=*/true);
  Dim bags = offsets[0];
  if (step.Boolean("include_last_offset", false)) {
    step.Fix(bags, "the last of them ends the list");
    bags = step.Fixed(std::max<std::int64_t>(step.SizeOf(bags) - 1, 0));
  }
  std::vector<Shape> outs = {{bags, table[1]}, {indices[0]}, {bags}, {bags}};
  outs.resize(step.outputs());
  step.SetOutputs(std::move(outs));
}

}  // namespace sluice::model
