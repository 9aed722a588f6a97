#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kMaxChunks = 100'000;

std::vector<Shape> WithParts(const Shape& shape, std::size_t axis, const std::vector<Dim>& parts) {
  std::vector<Shape> shapes;
  for (const Dim part : parts) {
    shapes.push_back(shape);
    shapes.back()[axis] = part;
  }
  return shapes;
}

// Parts of equal size. Their number does not change. If the last part is smaller, the sizes are
// fixed.
std::vector<Dim> EqualParts(Step& step, Dim whole, Dim part) {
  const std::int64_t size = step.SizeOf(whole);
  const std::int64_t each = step.SizeOf(part);
  if (each < 1 || size / each > kMaxChunks) {
    step.Fail("expected parts of at least 1, and not too many");
    return {};
  }
  const std::int64_t count = (size + each - 1) / each;
  if (size % each != 0) {
    step.Fix(whole, "its parts differ in size");
    step.Fix(part, "its parts differ in size");
    std::vector<Dim> parts(static_cast<std::size_t>(count - 1), part);
    parts.push_back(step.Fixed(size % each));
    return parts;
  }
  const Dim factors[] = {step.Fixed(count), part};
  step.Same(whole, step.dims().Product(factors));
  return std::vector<Dim>(static_cast<std::size_t>(count), part);
}

// All outputs are the first argument without one of its axes.
void FollowsWithout(Step& step, std::size_t gone, std::size_t rank) {
  const auto first = step.FirstValue();
  if (!first) return;
  Axes axes;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != gone) axes.push_back({i});
  for (std::size_t output = 0; output < step.outputs(); ++output)
    step.Follows(*first, output, axes);
}

}  // namespace

void Chunk(Step& step) {
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const std::int64_t chunks = step.Integer("chunks", 1);
  if (chunks < 1) step.Fail("expected at least one chunk");
  if (!step.ok()) return;
  const std::int64_t size = step.SizeOf(shape[axis]);
  const Dim part = step.New(std::max<std::int64_t>((size + chunks - 1) / chunks, 1));
  step.SetOutputs(WithParts(shape, axis, EqualParts(step, shape[axis], part)));
  step.FollowsFirst();
}

void Split(Step& step) {
  if (step.Integers("split_size").size() != 1 || step.Has("split_sizes")) {
    SplitWithSizes(step);
    return;
  }
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const Dim part = step.Size("split_size");
  if (!step.ok()) return;
  if (step.SizeOf(part) >= step.SizeOf(shape[axis])) {
    step.SetOutput(shape);
    return;
  }
  step.SetOutputs(WithParts(shape, axis, EqualParts(step, shape[axis], part)));
  step.FollowsFirst();
}

void SplitWithSizes(Step& step) {
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  std::vector<Dim> parts;
  for (const auto& size : step.Sizes(step.Has("split_sizes") ? "split_sizes" : "split_size"))
    parts.push_back(size.value_or(step.Fixed(0)));
  if (!step.ok()) return;
  step.Same(shape[axis], step.dims().Sum(parts));
  step.SetOutputs(WithParts(shape, axis, parts));
  step.FollowsFirst();
}

void Unbind(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!step.ok()) return;
  step.Fix(shape[axis], "each of its elements is used by itself");
  const auto count = static_cast<std::size_t>(step.SizeOf(shape[axis]));
  if (count != step.outputs()) {
    step.Fail("as many outputs are expected as there are elements");
    return;
  }
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  step.SetOutputs(std::vector<Shape>(count, shape));
  FollowsWithout(step, axis, shape.size() + 1);
}

// One half gates the other.
void Glu(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", -1, shape.size());
  if (!step.ok()) return;
  if (step.SizeOf(shape[axis]) % 2 != 0) {
    step.Fail("it has no two halves");
    return;
  }
  const Dim half = step.New(step.SizeOf(shape[axis]) / 2);
  static_cast<void>(EqualParts(step, shape[axis], half));
  shape[axis] = half;
  step.SetOutput(std::move(shape));
}

void Select(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!step.ok()) return;
  step.Fix(shape[axis], "one of its elements is picked");
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  FollowsWithout(step, axis, shape.size() + 1);
  step.SetOutput(std::move(shape));
}

void Slice(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!step.ok()) return;
  step.FollowsFirst();
  const Dim whole = shape[axis];
  const std::int64_t size = step.SizeOf(whole);
  const std::int64_t given_begin = step.Integer("start", 0);
  const std::int64_t given_end = step.Integer("end", INT64_MAX);
  const std::int64_t stride = step.Integer("step", 1);
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t begin = clamped(given_begin);
  const std::int64_t end = std::max(begin, clamped(given_end));
  if (stride < 1) step.Fail("expected a step of at least 1");
  if (!step.ok()) return;
  if (stride > 1) {
    // For example every second element, of pairs.
    const bool even = end == size && begin < stride && size % stride == 0;
    Dim part = step.New((end - begin + stride - 1) / stride);
    if (even) {
      const Dim factors[] = {part, step.Fixed(stride)};
      step.Same(whole, step.dims().Product(factors));
    } else {
      step.Fix(whole, "some of its elements are picked");
      part = step.Fixed(step.SizeOf(part));
    }
    shape[axis] = part;
    step.SetOutput(std::move(shape));
    return;
  }
  if (begin == 0 && end == size) {
    // An end that is given as a number changes with the whole.
    if (given_end == size) step.TieToSize("end", 0, whole);
    step.SetOutput(std::move(shape));
    return;
  }
  const Dim before = step.New(begin);
  const Dim middle = step.New(end - begin);
  const Dim after = step.New(size - end);
  const Dim parts[] = {before, middle, after};
  step.Same(whole, step.dims().Sum(parts));
  if (begin > 0 && begin < size) {
    const Dim behind[] = {middle, after};
    step.TieToSize("start", 0, given_begin < 0 ? step.dims().Sum(behind) : before, given_begin < 0);
  }
  if (end < size) {
    const Dim until[] = {before, middle};
    step.TieToSize("end", 0, given_end < 0 ? after : step.dims().Sum(until), given_end < 0);
  }
  shape[axis] = middle;
  step.SetOutput(std::move(shape));
}

void Narrow(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const std::int64_t begin = step.Integer("start", 0);
  const Dim length = step.Size("length");
  if (!step.ok()) return;
  step.FollowsFirst();
  const std::int64_t size = step.SizeOf(shape[axis]);
  if (begin < 0 || begin > size || step.SizeOf(length) > size - begin) {
    step.Fail("it lies outside of the tensor");
    return;
  }
  const Dim before = step.New(begin);
  step.TieToSize("start", 0, before);
  const Dim parts[] = {before, length, step.New(size - begin - step.SizeOf(length))};
  step.Same(shape[axis], step.dims().Sum(parts));
  shape[axis] = length;
  step.SetOutput(std::move(shape));
}

void Cat(Step& step) {
  std::vector<Shape> shapes = step.Tensors("tensors");
  // A tensor of shape [0] can be concatenated with tensors of any shape.
  std::erase_if(
      shapes, [&](const Shape& shape) { return shape.size() == 1 && step.SizeOf(shape[0]) == 0; });
  if (shapes.empty()) step.Fail("expected tensors with elements");
  if (!step.ok()) return;
  const std::size_t rank = shapes.front().size();
  const std::size_t axis = step.Axis("dim", 0, rank);
  Shape out = shapes.front();
  std::vector<Dim> parts;
  for (const Shape& shape : shapes) {
    if (shape.size() != rank) step.Fail("the tensors have different numbers of dimensions");
    if (!step.ok()) return;
    for (std::size_t i = 0; i < rank; ++i)
      if (i != axis) step.Same(out[i], shape[i]);
    parts.push_back(shape[axis]);
  }
  out[axis] = step.dims().Sum(parts);
  step.FollowsAll(rank);
  step.SetOutput(std::move(out));
}

void Stack(Step& step) {
  const std::vector<Shape> shapes = step.Tensors("tensors");
  if (!step.ok()) return;
  Shape out = shapes.front();
  for (const Shape& shape : shapes) {
    if (shape.size() != out.size()) step.Fail("the tensors have different numbers of dimensions");
    for (std::size_t i = 0; i < out.size() && step.ok(); ++i) step.Same(out[i], shape[i]);
  }
  const std::size_t axis = step.Axis("dim", 0, out.size() + 1);
  Axes axes;
  for (std::size_t i = 0; i < out.size(); ++i) axes.push_back({i});
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(axis), std::vector<std::size_t>());
  for (const auto& value : step.Values("tensors"))
    if (value) step.Follows(*value, 0, axes);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), step.Fixed(std::ssize(shapes)));
  step.SetOutput(std::move(out));
}

void Pad(Step& step) {
  Shape shape = step.First();
  const std::vector<std::int64_t> pads = step.Integers("pad");
  if (pads.size() % 2 != 0 || pads.size() / 2 > shape.size())
    step.Fail("expected two numbers for each of the last dimensions");
  for (std::size_t i = 0; i + 1 < pads.size() && step.ok(); i += 2) {
    const std::size_t axis = shape.size() - 1 - i / 2;
    if (pads[i] == 0 && pads[i + 1] == 0) continue;
    if (pads[i] < 0 || pads[i + 1] < 0) {
      step.Fix(shape[axis], "some of it is cut off");
      const std::int64_t size = step.SizeOf(shape[axis]) + pads[i] + pads[i + 1];
      if (size < 0) step.Fail("more is cut off than there is");
      shape[axis] = step.Fixed(std::max<std::int64_t>(size, 0));
      continue;
    }
    const Dim before = step.New(pads[i]);
    const Dim after = step.New(pads[i + 1]);
    step.TieToSize("pad", i, before);
    step.TieToSize("pad", i + 1, after);
    const Dim parts[] = {before, shape[axis], after};
    shape[axis] = step.dims().Sum(parts);
  }
  step.SetOutput(std::move(shape));
}

void IndexTensor(Step& step) {
  const Shape shape = step.First();
  const std::vector<std::optional<ValueId>> indices = step.Values("indices");
  if (indices.size() > shape.size()) step.Fail("expected no more indices than dimensions");
  if (!step.ok()) return;
  std::vector<Shape> shapes;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (step.DTypeOf(*indices[i]) == DType::kBool) {
      step.Fail("how many elements it picks depends on data, which cannot be planned for");
      return;
    }
    shapes.push_back(step.ShapeOf(*indices[i]));
    axes.push_back(i);
    step.Fix(shape[i], "its elements are picked by index");
  }
  if (axes.empty()) {
    step.SetOutput(shape);
    return;
  }
  const Shape picked = step.Broadcast(shapes);
  const bool together = axes.back() - axes.front() + 1 == axes.size();
  Shape out;
  Axes sources;
  if (!together) {
    out = picked;
    sources.resize(picked.size());
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (std::ranges::find(axes, i) == axes.end()) {
      out.push_back(shape[i]);
      sources.push_back({i});
    } else if (together && i == axes.front()) {
      out.insert(out.end(), picked.begin(), picked.end());
      sources.resize(sources.size() + picked.size());
    }
  }
  step.PicksFirst(sources);
  step.SetOutput(std::move(out));
}

void Gather(Step& step) {
  const Shape shape = step.First();
  const Shape index = step.Tensor("index");
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (index.size() != shape.size()) step.Fail("expected as many dimensions in the index");
  if (!step.ok()) return;
  step.Fix(shape[axis], "its elements are picked by index");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == axis) continue;
    if (step.SizeOf(index[i]) == step.SizeOf(shape[i])) {
      step.Same(shape[i], index[i]);
    } else {
      step.Fix(shape[i], "some of its elements are picked");
    }
  }
  step.SetOutput(index);
}

void IndexSelect(Step& step) {
  Shape shape = step.First();
  const Shape index = step.Tensor("index");
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!step.ok()) return;
  step.Fix(shape[axis], "its elements are picked by index");
  shape[axis] = index.empty() ? step.Fixed(1) : index[0];
  step.SetOutput(std::move(shape));
}

void Diff(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", -1, shape.size());
  if (!step.ok()) return;
  step.Fix(shape[axis], "neighbours are subtracted along it");
  std::int64_t size = step.SizeOf(shape[axis]) - step.Integer("n", 1);
  for (const char* more : {"prepend", "append"}) {
    if (!step.Has(more)) continue;
    const Shape other = step.Tensor(more);
    if (other.size() == shape.size()) size += step.SizeOf(other[axis]);
  }
  shape[axis] = step.Fixed(std::max<std::int64_t>(size, 0));
  step.SetOutput(std::move(shape));
}

}  // namespace sluice::model
