#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {

namespace {

// Follows the axes of the first argument through a reshape. Axes belong together up to where the
// products of both sides are equal.
void FollowsReshape(Step& step, const Shape& from, const Shape& to) {
  const auto first = step.FirstValue();
  if (!first || step.ShapeOf(*first).size() != from.size()) return;
  Axes axes(to.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    std::vector<std::size_t> sources;
    const std::size_t begin = j;
    std::int64_t a = 1;
    std::int64_t b = 1;
    do {
      const bool takes_from = a <= b ? i < from.size() : j >= to.size();
      if (takes_from) {
        sources.push_back(i);
        a *= std::max<std::int64_t>(step.SizeOf(from[i++]), 1);
      } else if (j < to.size()) {
        b *= std::max<std::int64_t>(step.SizeOf(to[j++]), 1);
      } else {
        return;
      }
    } while (a != b || (i < from.size() && step.SizeOf(from[i]) == 1 && j == to.size()));
    for (std::size_t k = begin; k < j; ++k) axes[k] = sources;
  }
  step.Follows(*first, 0, axes);
}

}  // namespace

void Reshaped(Step& step, const Shape& from, const Shape& to) {
  if (step.Elements(from) != step.Elements(to)) {
    step.Fail("the sizes do not go together with the elements there are");
    return;
  }
  if (step.Elements(from) == 0) return;
  step.Same(step.dims().Product(from), step.dims().Product(to));
  FollowsReshape(step, from, to);
}

namespace {

// The sizes of a shape, of which one may be left open.
Shape Closed(Step& step, const std::vector<std::optional<Dim>>& sizes, std::int64_t elements) {
  Shape shape;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (const auto& size : sizes) {
    if (size) {
      if (__builtin_mul_overflow(known, step.SizeOf(*size), &known)) known = INT64_MAX;
      shape.push_back(*size);
      continue;
    }
    if (open >= 0) step.Fail("more than one size is left open");
    open = std::ssize(shape);
    shape.push_back(step.Fixed(1));
  }
  if (open < 0) return shape;
  if (known == 0 || elements % known != 0) {
    step.Fail("the sizes do not go together with the elements there are");
    return shape;
  }
  shape[static_cast<std::size_t>(open)] = step.New(elements / known);
  return shape;
}

void Reordered(Step& step, const Shape& shape, const std::vector<std::size_t>& order) {
  Shape out;
  for (const std::size_t axis : order) out.push_back(shape[axis]);
  step.SetOutput(std::move(out));
  Axes axes;
  for (const std::size_t axis : order) axes.push_back({axis});
  if (const auto first = step.FirstValue()) step.Follows(*first, 0, axes);
}

std::vector<std::size_t> InOrder(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  return order;
}

}  // namespace

void View(Step& step) {
  const Shape from = step.First();
  if (!step.Has("size") && !step.Has("shape")) {  // only another type of elements
    step.SetOutput(from);
    return;
  }
  const Shape to =
      Closed(step, step.Sizes(step.Has("size") ? "size" : "shape"), step.Elements(from));
  if (step.ok()) Reshaped(step, from, to);
  step.SetOutput(to);
}

void ViewAs(Step& step) {
  const Shape to = step.Tensor("other");
  Reshaped(step, step.First(), to);
  step.SetOutput(to);
}

void Flatten(Step& step) {
  const Shape from = step.First();
  if (from.empty()) {
    step.SetOutput({step.Fixed(1)});
    return;
  }
  const std::size_t begin = step.Axis("start_dim", 0, from.size());
  const std::size_t end = step.Axis("end_dim", -1, from.size());
  if (begin > end) step.Fail("it ends before it begins");
  if (!step.ok()) return;
  const auto at = [&](std::size_t i) { return from.begin() + static_cast<std::ptrdiff_t>(i); };
  Shape to(from.begin(), at(begin));
  to.push_back(step.dims().Product(std::span(at(begin), at(end + 1))));
  to.insert(to.end(), at(end + 1), from.end());
  FollowsReshape(step, from, to);
  step.SetOutput(std::move(to));
}

void Unflatten(Step& step) {
  const Shape from = step.First();
  const std::size_t axis = step.Axis("dim", 0, from.size());
  if (!step.ok()) return;
  const Shape parts = Closed(step, step.Sizes("sizes"), step.SizeOf(from[axis]));
  if (step.ok()) Reshaped(step, {from[axis]}, parts);
  Shape to = from;
  const auto at = to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(at, parts.begin(), parts.end());
  step.SetOutput(std::move(to));
}

void Squeeze(Step& step) {
  const Shape from = step.First();
  std::vector<bool> asked(from.size(), !step.Has("dim"));
  for (const std::int64_t axis : step.Integers("dim"))
    if (!from.empty()) asked[step.Axis(axis, from.size())] = true;
  Shape to;
  Axes axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (asked[i] && step.SizeOf(from[i]) == 1) continue;
    to.push_back(from[i]);
    axes.push_back({i});
  }
  if (const auto first = step.FirstValue()) step.Follows(*first, 0, axes);
  step.SetOutput(std::move(to));
}

void Unsqueeze(Step& step) {
  Shape shape = step.First();
  const std::size_t axis = step.Axis("dim", 0, shape.size() + 1);
  Axes axes;
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back({i});
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(axis), std::vector<std::size_t>());
  if (const auto first = step.FirstValue()) step.Follows(*first, 0, axes);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), step.Fixed(1));
  step.SetOutput(std::move(shape));
}

void Transpose(Step& step) {
  const Shape shape = step.First();
  if (shape.empty()) {
    step.SetOutput(shape);
    return;
  }
  const bool is_axis = step.Has("axis0");
  std::vector<std::size_t> order = InOrder(shape.size());
  std::swap(order[step.Axis(is_axis ? "axis0" : "dim0", 0, shape.size())],
            order[step.Axis(is_axis ? "axis1" : "dim1", 1, shape.size())]);
  Reordered(step, shape, order);
}

void Permute(Step& step) {
  const Shape shape = step.First();
  std::vector<std::size_t> order;
  for (const std::int64_t axis : step.Integers("dims"))
    order.push_back(step.Axis(axis, shape.size()));
  std::vector<std::size_t> sorted = order;
  std::ranges::sort(sorted);
  if (sorted != InOrder(shape.size())) step.Fail("expected each dimension once");
  if (step.ok()) Reordered(step, shape, order);
}

void MatrixTranspose(Step& step) {
  const Shape shape = step.First();
  std::vector<std::size_t> order = InOrder(shape.size());
  if (order.size() > 1) std::swap(order[order.size() - 1], order[order.size() - 2]);
  Reordered(step, shape, order);
}

void Expand(Step& step) {
  const Shape from = step.First();
  const std::vector<std::optional<Dim>> sizes = step.Sizes("size");
  if (sizes.size() < from.size()) {
    step.Fail("expected at least as many sizes as there are dimensions");
    return;
  }
  const std::size_t more = sizes.size() - from.size();
  step.FollowsAll(sizes.size());
  if (step.IsLength("self")) step.MarkLength();
  Shape to;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i < more) {
      to.push_back(sizes[i].value_or(step.Fixed(1)));
    } else if (!sizes[i] || step.SizeOf(*sizes[i]) == step.SizeOf(from[i - more])) {
      to.push_back(sizes[i] ? step.Same(from[i - more], *sizes[i]) : from[i - more]);
    } else if (step.SizeOf(from[i - more]) == 1) {
      to.push_back(*sizes[i]);
    } else {
      step.Fail("only dimensions of size 1 can be expanded");
    }
    if (step.ok() && (i < more || step.SizeOf(from[i - more]) == 1) && sizes[i])
      step.dims().Raise(*sizes[i], Dims::Rank::kCount);
  }
  step.SetOutput(std::move(to));
}

void ExpandAs(Step& step) {
  step.SetOutput(step.Broadcast(step.First(), step.Tensor("other")));
  if (step.IsLength("self")) step.MarkLength();
}

void Repeat(Step& step) {
  const Shape from = step.First();
  const std::vector<std::optional<Dim>> repeats = step.Sizes("repeats");
  if (repeats.size() < from.size()) step.Fail("expected at least as many numbers as dimensions");
  if (!step.ok()) return;
  const std::size_t more = repeats.size() - from.size();
  Shape to;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const Dim times = repeats[i].value_or(step.Fixed(1));
    step.dims().Raise(times, Dims::Rank::kCount);
    if (i < more) {
      to.push_back(times);
    } else {
      const Dim factors[] = {times, from[i - more]};
      to.push_back(step.dims().Product(factors));
    }
  }
  step.SetOutput(std::move(to));
}

void RepeatInterleave(Step& step) {
  Shape shape = step.First();
  if (step.IsTensor("repeats") || !step.Has("dim")) {
    step.Fail("expected one number of repeats along one dimension");
    return;
  }
  const std::size_t axis = step.Axis("dim", 0, shape.size());
  const Dim times = step.Size("repeats");
  step.dims().Raise(times, Dims::Rank::kCount);
  if (!step.ok()) return;
  const Dim factors[] = {shape[axis], times};
  shape[axis] = step.dims().Product(factors);
  step.SetOutput(std::move(shape));
}

void PixelShuffle(Step& step) {
  Shape shape = step.First();
  const std::int64_t factor = step.Integer("upscale_factor", 1);
  const std::size_t rank = shape.size();
  if (rank < 3 || factor < 1 || factor > 1024 ||
      step.SizeOf(shape[rank - 3]) % (factor * factor) != 0) {
    step.Fail("the channels cannot be divided so");
    return;
  }
  const Dim channels = step.New(step.SizeOf(shape[rank - 3]) / (factor * factor));
  const Dim factors[] = {channels, step.Fixed(factor), step.Fixed(factor)};
  step.Same(shape[rank - 3], step.dims().Product(factors));
  shape[rank - 3] = channels;
  for (const std::size_t axis : {rank - 2, rank - 1}) {
    const Dim larger[] = {shape[axis], step.Fixed(factor)};
    shape[axis] = step.dims().Product(larger);
  }
  step.SetOutput(std::move(shape));
}

void PixelUnshuffle(Step& step) {
  Shape shape = step.First();
  const std::int64_t factor = step.Integer("downscale_factor", 1);
  const std::size_t rank = shape.size();
  if (rank < 3 || factor < 1 || factor > 1024 || step.SizeOf(shape[rank - 1]) % factor != 0 ||
      step.SizeOf(shape[rank - 2]) % factor != 0) {
    step.Fail("the pixels cannot be divided so");
    return;
  }
  const Dim factors[] = {shape[rank - 3], step.Fixed(factor), step.Fixed(factor)};
  shape[rank - 3] = step.dims().Product(factors);
  for (const std::size_t axis : {rank - 2, rank - 1}) {
    const Dim smaller = step.New(step.SizeOf(shape[axis]) / factor);
    const Dim parts[] = {smaller, step.Fixed(factor)};
    step.Same(shape[axis], step.dims().Product(parts));
    shape[axis] = smaller;
  }
  step.SetOutput(std::move(shape));
}

}  // namespace sluice::model
