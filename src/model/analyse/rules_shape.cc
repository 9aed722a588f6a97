#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {

namespace {

std::int64_t ElementCount(const Inference& inference, const Shape& shape) {
  std::int64_t elements = 1;
  for (const Dim dim : shape)
    if (__builtin_mul_overflow(elements, inference.SizeOf(dim), &elements)) return INT64_MAX;
  return elements;
}

// Follows the axes of a value through a reshape. Both shapes are read from the left and cut
// wherever both sides have the same product of sizes. Each axis of `to` between two cuts comes from
// all axes of `from` between the same cuts. Nothing is followed if the shapes cannot be cut in this
// way, because a size is 0 or a product is too large.
void FollowReshape(Inference& inference, std::optional<ValueId> value, const Shape& from,
                   const Shape& to) {
  if (!value || inference.shape(*value).size() != from.size()) return;
  Axes axes(to.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    std::vector<std::size_t> sources;
    const std::size_t begin = j;
    std::int64_t a = 1;
    std::int64_t b = 1;
    const auto times = [&inference](std::int64_t& product, Dim dim) {
      const auto size = std::max<std::int64_t>(inference.SizeOf(dim), 1);
      return !__builtin_mul_overflow(product, size, &product);
    };
    do {
      const bool takes_from = a <= b ? i < from.size() : j >= to.size();
      if (takes_from && i < from.size()) {
        sources.push_back(i);
        if (!times(a, from[i++])) return;
      } else if (!takes_from && j < to.size()) {
        if (!times(b, to[j++])) return;
      } else {
        return;
      }
    } while (a != b || (i < from.size() && inference.SizeOf(from[i]) == 1 && j == to.size()));
    for (std::size_t k = begin; k < j; ++k) axes[k] = sources;
  }
  inference.Follow(value, 0, axes);
}

// Unifies the two sides of a reshape, and follows the axes of the value through it.
void Reshape(Inference& inference, std::optional<ValueId> value, const Shape& from,
             const Shape& to) {
  if (ElementCount(inference, from) != ElementCount(inference, to)) {
    inference.Fail("the sizes do not match the number of elements");
    return;
  }
  if (ElementCount(inference, from) == 0) return;
  inference.Unify(inference.Product(from), inference.Product(to));
  FollowReshape(inference, value, from, to);
}

// The shape of these sizes. One size may be left open. It is then computed from the number of
// elements.
Shape Closed(Inference& inference, const std::vector<std::optional<Dim>>& sizes,
             std::int64_t elements) {
  Shape shape;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (const auto& size : sizes) {
    if (size) {
      if (__builtin_mul_overflow(known, inference.SizeOf(*size), &known)) known = INT64_MAX;
      shape.push_back(*size);
      continue;
    }
    if (open >= 0) inference.Fail("more than one size is left open");
    open = std::ssize(shape);
    shape.push_back(inference.Fixed(1));
  }
  if (open < 0) return shape;
  if (known == 0 || elements % known != 0) {
    inference.Fail("the sizes do not match the number of elements");
    return shape;
  }
  shape[static_cast<std::size_t>(open)] = inference.New(elements / known);
  return shape;
}

void Reordered(const Step& step, Inference& inference, const Shape& shape,
               const std::vector<std::size_t>& order) {
  Shape out;
  for (const std::size_t axis : order) out.push_back(shape[axis]);
  inference.SetOutput(std::move(out));
  Axes axes;
  for (const std::size_t axis : order) axes.push_back({axis});
  inference.Follow(step.FirstValue(), 0, axes);
}

std::vector<std::size_t> InOrder(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  return order;
}

}  // namespace

void View(const Step& step, Inference& inference) {
  const Shape from = step.First();
  if (!step.Has("size") && !step.Has("shape")) {  // only another type of elements
    inference.SetOutput(from);
    return;
  }
  const Shape to = Closed(inference, step.Sizes(step.Has("size") ? "size" : "shape"),
                          ElementCount(inference, from));
  if (inference.ok()) Reshape(inference, step.FirstValue(), from, to);
  inference.SetOutput(to);
}

void ViewAs(const Step& step, Inference& inference) {
  const Shape to = step.Tensor("other");
  Reshape(inference, step.FirstValue(), step.First(), to);
  inference.SetOutput(to);
}

void Flatten(const Step& step, Inference& inference) {
  const Shape from = step.First();
  if (from.empty()) {
    inference.SetOutput({inference.Fixed(1)});
    return;
  }
  const std::size_t begin = step.Axis("start_dim", 0, from.size());
  const std::size_t end = step.Axis("end_dim", -1, from.size());
  if (begin > end) inference.Fail("expected start_dim not to be after end_dim");
  if (!inference.ok()) return;
  const auto at = [&](std::size_t i) { return from.begin() + static_cast<std::ptrdiff_t>(i); };
  Shape to(from.begin(), at(begin));
  to.push_back(inference.Product(std::span(at(begin), at(end + 1))));
  to.insert(to.end(), at(end + 1), from.end());
  FollowReshape(inference, step.FirstValue(), from, to);
  inference.SetOutput(std::move(to));
}

void Unflatten(const Step& step, Inference& inference) {
  const Shape from = step.First();
  const std::size_t axis = step.Axis("dim", 0, from.size());
  if (!inference.ok()) return;
  const Shape parts = Closed(inference, step.Sizes("sizes"), inference.SizeOf(from[axis]));
  if (inference.ok()) Reshape(inference, step.FirstValue(), {from[axis]}, parts);
  Shape to = from;
  const auto at = to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(at, parts.begin(), parts.end());
  inference.SetOutput(std::move(to));
}

void Squeeze(const Step& step, Inference& inference) {
  const Shape from = step.First();
  std::vector<bool> asked(from.size(), !step.Has("dim"));
  for (const std::int64_t axis : step.Integers("dim"))
    if (!from.empty()) asked[step.Axis(axis, from.size())] = true;
  Shape to;
  Axes axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (asked[i] && inference.SizeOf(from[i]) == 1) continue;
    to.push_back(from[i]);
    axes.push_back({i});
  }
  inference.Follow(step.FirstValue(), 0, axes);
  inference.SetOutput(std::move(to));
}

void Unsqueeze(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size() + 1);
  Axes axes;
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back({i});
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(axis), std::vector<std::size_t>());
  inference.Follow(step.FirstValue(), 0, axes);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), inference.Fixed(1));
  inference.SetOutput(std::move(shape));
}

void Transpose(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  if (shape.empty()) {
    inference.SetOutput(shape);
    return;
  }
  const bool is_axis = step.Has("axis0");
  std::vector<std::size_t> order = InOrder(shape.size());
  std::swap(order[step.Axis(is_axis ? "axis0" : "dim0", 0, shape.size())],
            order[step.Axis(is_axis ? "axis1" : "dim1", 1, shape.size())]);
  Reordered(step, inference, shape, order);
}

void Permute(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  std::vector<std::size_t> order;
  for (const std::int64_t axis : step.Integers("dims"))
    order.push_back(step.Axis(axis, shape.size()));
  std::vector<std::size_t> sorted = order;
  std::ranges::sort(sorted);
  if (sorted != InOrder(shape.size())) inference.Fail("expected each dimension once");
  if (inference.ok()) Reordered(step, inference, shape, order);
}

void MatrixTranspose(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  std::vector<std::size_t> order = InOrder(shape.size());
  if (order.size() > 1) std::swap(order[order.size() - 1], order[order.size() - 2]);
  Reordered(step, inference, shape, order);
}

void Expand(const Step& step, Inference& inference) {
  const Shape from = step.First();
  const std::vector<std::optional<Dim>> sizes = step.Sizes("size");
  if (sizes.size() < from.size()) {
    inference.Fail("expected at least as many sizes as there are dimensions");
    return;
  }
  const std::size_t more = sizes.size() - from.size();
  inference.FollowBroadcast(step.AllValues(), sizes.size());
  if (inference.IsLength(step.ValueOf("self"))) inference.MarkLength();
  Shape to;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i < more) {
      to.push_back(sizes[i].value_or(inference.Fixed(1)));
    } else if (!sizes[i] || inference.SizeOf(*sizes[i]) == inference.SizeOf(from[i - more])) {
      to.push_back(sizes[i] ? inference.Unify(from[i - more], *sizes[i]) : from[i - more]);
    } else if (inference.SizeOf(from[i - more]) == 1) {
      to.push_back(*sizes[i]);
    } else {
      inference.Fail("only dimensions of size 1 can be expanded");
    }
    if (inference.ok() && (i < more || inference.SizeOf(from[i - more]) == 1) && sizes[i])
      inference.Raise(*sizes[i], Dims::Rank::kCount);
  }
  inference.SetOutput(std::move(to));
}

void ExpandAs(const Step& step, Inference& inference) {
  inference.SetOutput(inference.Broadcast(step.First(), step.Tensor("other")));
  if (inference.IsLength(step.ValueOf("self"))) inference.MarkLength();
}

void Repeat(const Step& step, Inference& inference) {
  const Shape from = step.First();
  const std::vector<std::optional<Dim>> repeats = step.Sizes("repeats");
  if (repeats.size() < from.size())
    inference.Fail("expected at least as many numbers as dimensions");
  if (!inference.ok()) return;
  const std::size_t more = repeats.size() - from.size();
  Shape to;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const Dim times = repeats[i].value_or(inference.Fixed(1));
    inference.Raise(times, Dims::Rank::kCount);
    if (i < more) {
      to.push_back(times);
    } else {
      to.push_back(inference.Product({times, from[i - more]}));
    }
  }
  inference.SetOutput(std::move(to));
}

void RepeatInterleave(const Step& step, Inference& inference) {
  Shape shape = step.First();
  if (step.IsTensor("repeats") || !step.Has("dim")) {
    inference.Fail("expected one number of repeats along one dimension");
    return;
  }
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const Dim times = step.Size("repeats");
  inference.Raise(times, Dims::Rank::kCount);
  if (!inference.ok()) return;
  shape[axis] = inference.Product({shape[axis], times});
  inference.SetOutput(std::move(shape));
}

void PixelShuffle(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::int64_t factor = step.Integer("upscale_factor", 1);
  const std::size_t rank = shape.size();
  if (rank < 3 || factor < 1 || factor > 1024 ||
      inference.SizeOf(shape[rank - 3]) % (factor * factor) != 0) {
    inference.Fail("the channels cannot be divided by the square of the factor");
    return;
  }
  const Dim channels = inference.New(inference.SizeOf(shape[rank - 3]) / (factor * factor));
  inference.Unify(shape[rank - 3],
                  inference.Product({channels, inference.Fixed(factor), inference.Fixed(factor)}));
  shape[rank - 3] = channels;
  for (const std::size_t axis : {rank - 2, rank - 1}) {
    shape[axis] = inference.Product({shape[axis], inference.Fixed(factor)});
  }
  inference.SetOutput(std::move(shape));
}

void PixelUnshuffle(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::int64_t factor = step.Integer("downscale_factor", 1);
  const std::size_t rank = shape.size();
  if (rank < 3 || factor < 1 || factor > 1024 || inference.SizeOf(shape[rank - 1]) % factor != 0 ||
      inference.SizeOf(shape[rank - 2]) % factor != 0) {
    inference.Fail("the pixels cannot be divided by the factor");
    return;
  }
  shape[rank - 3] =
      inference.Product({shape[rank - 3], inference.Fixed(factor), inference.Fixed(factor)});
  for (const std::size_t axis : {rank - 2, rank - 1}) {
    const Dim smaller = inference.New(inference.SizeOf(shape[axis]) / factor);
    inference.Unify(shape[axis], inference.Product({smaller, inference.Fixed(factor)}));
    shape[axis] = smaller;
  }
  inference.SetOutput(std::move(shape));
}

}  // namespace sluice::model
