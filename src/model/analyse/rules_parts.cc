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

// Divides a dimension into parts of the same size. The number of parts stays the same when the
// dimension shrinks. If the last part is smaller, all sizes are fixed.
std::vector<Dim> EqualParts(Inference& inference, Dim whole, Dim part) {
  const std::int64_t size = inference.SizeOf(whole);
  const std::int64_t each = inference.SizeOf(part);
  if (each < 1 || size / each > kMaxChunks) {
    inference.Fail("expected parts of at least 1, and not too many");
    return {};
  }
  const std::int64_t count = (size + each - 1) / each;
  if (size % each != 0) {
    inference.Fix(whole, "its parts differ in size");
    inference.Fix(part, "its parts differ in size");
    std::vector<Dim> parts(static_cast<std::size_t>(count - 1), part);
    parts.push_back(inference.Fixed(size % each));
    return parts;
  }
  inference.Unify(whole, inference.Product({inference.Fixed(count), part}));
  return std::vector<Dim>(static_cast<std::size_t>(count), part);
}

// All outputs are the first argument without one of its axes.
void FollowWithout(const Step& step, Inference& inference, std::size_t gone, std::size_t rank) {
  Axes axes;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != gone) axes.push_back({i});
  for (std::size_t output = 0; output < step.outputs(); ++output)
    inference.Follow(step.FirstValue(), output, axes);
}

}  // namespace

void Chunk(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const std::int64_t chunks = step.Integer("chunks", 1);
  if (chunks < 1) inference.Fail("expected at least one chunk");
  if (!inference.ok()) return;
  const std::int64_t size = inference.SizeOf(shape[axis]);
  const Dim part = inference.New(std::max<std::int64_t>((size + chunks - 1) / chunks, 1));
  inference.SetOutputs(WithParts(shape, axis, EqualParts(inference, shape[axis], part)));
  inference.FollowAxisByAxis(step.FirstValue());
}

void Split(const Step& step, Inference& inference) {
  if (step.Integers("split_size").size() != 1 || step.Has("split_sizes")) {
    SplitWithSizes(step, inference);
    return;
  }
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const Dim part = step.Size("split_size");
  if (!inference.ok()) return;
  if (inference.SizeOf(part) >= inference.SizeOf(shape[axis])) {
    inference.SetOutput(shape);
    return;
  }
  inference.SetOutputs(WithParts(shape, axis, EqualParts(inference, shape[axis], part)));
  inference.FollowAxisByAxis(step.FirstValue());
}

void SplitWithSizes(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  std::vector<Dim> parts;
  for (const auto& size : step.Sizes(step.Has("split_sizes") ? "split_sizes" : "split_size"))
    parts.push_back(size.value_or(inference.Fixed(0)));
  if (!inference.ok()) return;
  inference.Unify(shape[axis], inference.Sum(parts));
  inference.SetOutputs(WithParts(shape, axis, parts));
  inference.FollowAxisByAxis(step.FirstValue());
}

void Unbind(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!inference.ok()) return;
  inference.Fix(shape[axis], "each of its elements is used by itself");
  const auto count = static_cast<std::size_t>(inference.SizeOf(shape[axis]));
  if (count != step.outputs()) {
    inference.Fail("as many outputs are expected as there are elements");
    return;
  }
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  inference.SetOutputs(std::vector<Shape>(count, shape));
  FollowWithout(step, inference, axis, shape.size() + 1);
}

// One half gates the other.
void Glu(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", -1, shape.size());
  if (!inference.ok()) return;
  if (inference.SizeOf(shape[axis]) % 2 != 0) {
    inference.Fail("the dimension cannot be cut in two halves");
    return;
  }
  const Dim half = inference.New(inference.SizeOf(shape[axis]) / 2);
  static_cast<void>(EqualParts(inference, shape[axis], half));
  shape[axis] = half;
  inference.SetOutput(std::move(shape));
}

void Select(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!inference.ok()) return;
  inference.Fix(shape[axis], "one of its elements is picked");
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  FollowWithout(step, inference, axis, shape.size() + 1);
  inference.SetOutput(std::move(shape));
}

void Slice(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!inference.ok()) return;
  inference.FollowAxisByAxis(step.FirstValue());
  const Dim whole = shape[axis];
  const std::int64_t size = inference.SizeOf(whole);
  const std::int64_t given_begin = step.Integer("start", 0);
  const std::int64_t given_end = step.Integer("end", INT64_MAX);
  const std::int64_t stride = step.Integer("step", 1);
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t begin = clamped(given_begin);
  const std::int64_t end = std::max(begin, clamped(given_end));
  if (stride < 1) inference.Fail("expected a step of at least 1");
  if (!inference.ok()) return;
  if (stride > 1) {
    // For example the first element of each pair.
    const bool even = end == size && begin < stride && size % stride == 0;
    Dim part = inference.New((end - begin + stride - 1) / stride);
    if (even) {
      inference.Unify(whole, inference.Product({part, inference.Fixed(stride)}));
    } else {
      inference.Fix(whole, "some of its elements are picked");
      part = inference.Fixed(inference.SizeOf(part));
    }
    shape[axis] = part;
    inference.SetOutput(std::move(shape));
    return;
  }
  if (begin == 0 && end == size) {
    // An end that is given as a number changes with the size of the dimension.
    if (given_end == size) inference.TieToSize(step.PlaceOf("end"), whole);
    inference.SetOutput(std::move(shape));
    return;
  }
  const Dim before = inference.New(begin);
  const Dim middle = inference.New(end - begin);
  const Dim after = inference.New(size - end);
  inference.Unify(whole, inference.Sum({before, middle, after}));
  if (begin > 0 && begin < size) {
    inference.TieToSize(step.PlaceOf("start"),
                        given_begin < 0 ? inference.Sum({middle, after}) : before, given_begin < 0);
  }
  if (end < size) {
    inference.TieToSize(step.PlaceOf("end"),
                        given_end < 0 ? after : inference.Sum({before, middle}), given_end < 0);
  }
  shape[axis] = middle;
  inference.SetOutput(std::move(shape));
}

void Narrow(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const std::int64_t begin = step.Integer("start", 0);
  const Dim length = step.Size("length");
  if (!inference.ok()) return;
  inference.FollowAxisByAxis(step.FirstValue());
  const std::int64_t size = inference.SizeOf(shape[axis]);
  if (begin < 0 || begin > size || inference.SizeOf(length) > size - begin) {
    inference.Fail("the part lies outside of the tensor");
    return;
  }
  const Dim before = inference.New(begin);
  inference.TieToSize(step.PlaceOf("start"), before);
  inference.Unify(
      shape[axis],
      inference.Sum({before, length, inference.New(size - begin - inference.SizeOf(length))}));
  shape[axis] = length;
  inference.SetOutput(std::move(shape));
}

void Cat(const Step& step, Inference& inference) {
  std::vector<Shape> shapes = step.Tensors("tensors");
  // A tensor of shape [0] can be concatenated with tensors of any shape.
  std::erase_if(shapes, [&](const Shape& shape) {
    return shape.size() == 1 && inference.SizeOf(shape[0]) == 0;
  });
  if (shapes.empty()) inference.Fail("expected tensors with elements");
  if (!inference.ok()) return;
  const std::size_t rank = shapes.front().size();
  const std::size_t axis = step.Axis("dim", 0, rank);
  Shape out = shapes.front();
  std::vector<Dim> parts;
  for (const Shape& shape : shapes) {
    if (shape.size() != rank) inference.Fail("the tensors have different numbers of dimensions");
    if (!inference.ok()) return;
    for (std::size_t i = 0; i < rank; ++i)
      if (i != axis) inference.Unify(out[i], shape[i]);
    parts.push_back(shape[axis]);
  }
  out[axis] = inference.Sum(parts);
  inference.FollowBroadcast(step.AllValues(), rank);
  inference.SetOutput(std::move(out));
}

void Stack(const Step& step, Inference& inference) {
  const std::vector<Shape> shapes = step.Tensors("tensors");
  if (!inference.ok()) return;
  Shape out = shapes.front();
  for (const Shape& shape : shapes) {
    if (shape.size() != out.size())
      inference.Fail("the tensors have different numbers of dimensions");
    for (std::size_t i = 0; i < out.size() && inference.ok(); ++i)
      inference.Unify(out[i], shape[i]);
  }
  const std::size_t axis = step.Axis("dim", 0, out.size() + 1);
  Axes axes;
  for (std::size_t i = 0; i < out.size(); ++i) axes.push_back({i});
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(axis), std::vector<std::size_t>());
  for (const auto& value : step.ValuesOf("tensors")) inference.Follow(value, 0, axes);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), inference.Fixed(std::ssize(shapes)));
  inference.SetOutput(std::move(out));
}

void Pad(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::vector<std::int64_t> pads = step.Integers("pad");
  if (pads.size() % 2 != 0 || pads.size() / 2 > shape.size())
    inference.Fail("expected two numbers for each of the last dimensions");
  for (std::size_t i = 0; i + 1 < pads.size() && inference.ok(); i += 2) {
    const std::size_t axis = shape.size() - 1 - i / 2;
    if (pads[i] == 0 && pads[i + 1] == 0) continue;
    if (pads[i] < 0 || pads[i + 1] < 0) {
      inference.Fix(shape[axis], "some of it is cut off");
      const std::int64_t size = inference.SizeOf(shape[axis]) + pads[i] + pads[i + 1];
      if (size < 0) inference.Fail("more is cut off than there is");
      shape[axis] = inference.Fixed(std::max<std::int64_t>(size, 0));
      continue;
    }
    const Dim before = inference.New(pads[i]);
    const Dim after = inference.New(pads[i + 1]);
    inference.TieToSize(step.PlaceOf("pad", i), before);
    inference.TieToSize(step.PlaceOf("pad", i + 1), after);
    shape[axis] = inference.Sum({before, shape[axis], after});
  }
  inference.SetOutput(std::move(shape));
}

void IndexTensor(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const std::vector<std::optional<ValueId>> indices = step.ValuesOf("indices");
  if (indices.size() > shape.size()) inference.Fail("expected no more indices than dimensions");
  if (!inference.ok()) return;
  std::vector<Shape> shapes;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (step.DTypeOf(*indices[i]) == DType::kBool) {
      inference.Fail(
          "the number of picked elements depends on data, so the shape cannot be inferred");
      return;
    }
    shapes.push_back(inference.shape(*indices[i]));
    axes.push_back(i);
    inference.Fix(shape[i], "its elements are picked by index");
  }
  if (axes.empty()) {
    inference.SetOutput(shape);
    return;
  }
  const Shape picked = inference.Broadcast(shapes);
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
  inference.FollowPicked(step.FirstValue(), sources);
  inference.SetOutput(std::move(out));
}

void Gather(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const Shape index = step.Tensor("index");
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (index.size() != shape.size()) inference.Fail("expected as many dimensions in the index");
  if (!inference.ok()) return;
  inference.Fix(shape[axis], "its elements are picked by index");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == axis) continue;
    if (inference.SizeOf(index[i]) == inference.SizeOf(shape[i])) {
      inference.Unify(shape[i], index[i]);
    } else {
      inference.Fix(shape[i], "some of its elements are picked");
    }
  }
  inference.SetOutput(index);
}

void IndexSelect(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const Shape index = step.Tensor("index");
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  if (!inference.ok()) return;
  inference.Fix(shape[axis], "its elements are picked by index");
  shape[axis] = index.empty() ? inference.Fixed(1) : index[0];
  inference.SetOutput(std::move(shape));
}

void Diff(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", -1, shape.size());
  if (!inference.ok()) return;
  inference.Fix(shape[axis], "neighbours are subtracted along it");
  std::int64_t size = inference.SizeOf(shape[axis]) - step.Integer("n", 1);
  for (const char* more : {"prepend", "append"}) {
    if (!step.Has(more)) continue;
    const Shape other = step.Tensor(more);
    if (other.size() == shape.size()) size += inference.SizeOf(other[axis]);
  }
  shape[axis] = inference.Fixed(std::max<std::int64_t>(size, 0));
  inference.SetOutput(std::move(shape));
}

}  // namespace sluice::model
