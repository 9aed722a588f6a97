#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

// The numbers of an argument, one for each dimension of space. A single number stands for all.
std::vector<std::int64_t> ForEach(Step& step, std::string_view name, std::size_t count,
                                  std::int64_t otherwise) {
  std::vector<std::int64_t> numbers = step.Integers(name);
  if (numbers.empty()) numbers = {otherwise};
  if (numbers.size() == 1) numbers.resize(count, numbers.front());
  if (numbers.size() != count) {
    step.Fail("expected a number for each dimension of space");
    numbers.assign(count, otherwise);
  }
  return numbers;
}

constexpr std::int64_t kLimit = std::int64_t{1} << 20;  // of strides, paddings and kernels
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;

bool AreSane(std::initializer_list<std::int64_t> numbers) {
  return std::ranges::all_of(numbers, [](std::int64_t n) { return n >= -kLimit && n <= kLimit; });
}

// How many dimensions of space an operator of this name has.
std::size_t SpaceOf(std::string_view op) {
  if (op.find("1d") != std::string_view::npos) return 1;
  return op.find("3d") != std::string_view::npos ? 3 : 2;
}

// The size of a dimension of space after a kernel was moved over it. A stride of 1 changes it by a
// fixed number. With another stride the dimension is fixed.
Dim Passed(Step& step, Dim dim, std::int64_t reach, std::int64_t stride, std::int64_t padding,
           bool ceil) {
  const std::int64_t room = step.SizeOf(dim) + 2 * padding - reach;
  if (room < 0) {
    step.Fail("the kernel is larger than the image");
    return dim;
  }
  if (stride == 1) {
    const std::int64_t less = reach - 1 - 2 * padding;
    if (less == 0) return dim;
    if (less < 0) {
      const Dim parts[] = {dim, step.Fixed(-less)};
      return step.dims().Sum(parts);
    }
    const Dim left = step.New(step.SizeOf(dim) - less);
    const Dim parts[] = {left, step.Fixed(less)};
    step.Same(dim, step.dims().Sum(parts));
    return left;
  }
  step.Fix(dim, "a dimension of space");
  std::int64_t size = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  // The last window begins inside of the image, or of the padding before it.
  if (ceil && (size - 1) * stride >= step.SizeOf(dim) + padding) --size;
  return step.Fixed(size);
}

// The groups of a convolution. With one channel in each group, their number is that of the
// channels. Otherwise their number stays while it can.
struct Groups {
  Dim count{};
  bool single = false;  // each has one channel
};

Groups GroupsOf(Step& step, Dim channels, Dim in_one) {
  const Dim count = step.Size("groups");
  const Dim factors[] = {count, in_one};
  if (step.SizeOf(in_one) > 1) step.dims().Raise(count, Dims::Rank::kCount);
  step.Same(channels, step.dims().Product(factors));
  return {.count = count, .single = step.SizeOf(in_one) == 1};
}

// Divides the channels into the groups.
void Grouped(Step& step, const Groups& groups, Dim channels) {
  const std::int64_t count = step.SizeOf(groups.count);
  if (count < 1 || step.SizeOf(channels) % count != 0) {
    step.Fail("the channels cannot be divided into the groups");
    return;
  }
  const Dim in_one = step.New(step.SizeOf(channels) / count);
  if (groups.single) step.dims().Raise(in_one, Dims::Rank::kCount);
  const Dim factors[] = {groups.count, in_one};
  step.Same(channels, step.dims().Product(factors));
}

void CheckBias(Step& step, Dim channels) {
  if (!step.Has("bias")) return;
  const Shape bias = step.Tensor("bias");
  if (bias.size() != 1) step.Fail("expected a vector as bias");
  if (step.ok()) step.Same(bias[0], channels);
}

}  // namespace

void Convolution(Step& step) {
  const Shape shape = step.First();
  const Shape weight = step.Tensor("weight");  // [out, in / groups, kernel...]
  const std::size_t space = SpaceOf(step.op());
  if (weight.size() != space + 2 || (shape.size() != space + 2 && shape.size() != space + 1))
    step.Fail("expected an image and a kernel");
  if (!step.ok()) return;
  const std::size_t first = shape.size() - space;
  const Dim channels = shape[first - 1];
  for (std::size_t i = 0; i < space; ++i) step.Fix(weight[2 + i], "the size of a kernel");
  if (step.Integer("groups", 1) == 1) {
    step.Same(channels, weight[1]);
  } else {
    Grouped(step, GroupsOf(step, channels, weight[1]), weight[0]);
  }
  CheckBias(step, weight[0]);
  std::vector<std::size_t> summed = {1};
  for (std::size_t i = 0; i < space; ++i) summed.push_back(2 + i);
  step.Contracts("weight", summed);
  const std::string same = step.Text("padding");
  const auto stride = ForEach(step, "stride", space, 1);
  const auto padding =
      same.empty() ? ForEach(step, "padding", space, 0) : std::vector<std::int64_t>(space, 0);
  const auto dilation = ForEach(step, "dilation", space, 1);
  if (!step.ok()) return;
  Shape out(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  out[first - 1] = weight[0];
  for (std::size_t i = 0; i < space; ++i) {
    if (same == "same") {
      out.push_back(shape[first + i]);
      continue;
    }
    if (!AreSane({stride[i], padding[i], dilation[i]}) || stride[i] < 1) {
      step.Fail("expected a stride of at least 1, and sizes within reason");
      return;
    }
    const std::int64_t reach = dilation[i] * (step.SizeOf(weight[2 + i]) - 1) + 1;
    out.push_back(Passed(step, shape[first + i], reach, stride[i], padding[i], false));
  }
  step.SetOutput(std::move(out));
}

void TransposedConvolution(Step& step) {
  const Shape shape = step.First();
  const Shape weight = step.Tensor("weight");  // [in, out / groups, kernel...]
  const std::size_t space = SpaceOf(step.op());
  if (weight.size() != space + 2 || (shape.size() != space + 2 && shape.size() != space + 1))
    step.Fail("expected an image and a kernel");
  if (!step.ok()) return;
  const std::size_t first = shape.size() - space;
  for (std::size_t i = 0; i < space; ++i) step.Fix(weight[2 + i], "the size of a kernel");
  step.Same(shape[first - 1], weight[0]);
  Dim channels = weight[1];
  if (step.Integer("groups", 1) != 1) {
    const Dim count = step.Size("groups");
    const Dim factors[] = {count, weight[1]};
    channels = step.dims().Product(factors);
    const bool single = step.SizeOf(count) == step.SizeOf(weight[0]);
    if (!single) step.dims().Raise(count, Dims::Rank::kCount);
    Grouped(step, {.count = count, .single = single}, weight[0]);
  }
  CheckBias(step, channels);
  std::vector<std::size_t> summed = {0};
  for (std::size_t i = 0; i < space; ++i) summed.push_back(2 + i);
  step.Contracts("weight", summed);
  const auto stride = ForEach(step, "stride", space, 1);
  const auto padding = ForEach(step, "padding", space, 0);
  const auto more = ForEach(step, "output_padding", space, 0);
  const auto dilation = ForEach(step, "dilation", space, 1);
  if (!step.ok()) return;
  Shape out(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  out[first - 1] = channels;
  for (std::size_t i = 0; i < space; ++i) {
    if (!AreSane({stride[i], padding[i], dilation[i], more[i]}) || stride[i] > 1 << 20 ||
        dilation[i] > 1 << 20) {
      step.Fail("expected sizes within reason");
      return;
    }
    step.Fix(shape[first + i], "a dimension of space");
    const std::int64_t size = (step.SizeOf(shape[first + i]) - 1) * stride[i] - 2 * padding[i] +
                              dilation[i] * (step.SizeOf(weight[2 + i]) - 1) + more[i] + 1;
    if (size < 0) step.Fail("nothing is left of the image");
    out.push_back(step.Fixed(std::max<std::int64_t>(size, 0)));
  }
  step.SetOutput(std::move(out));
}

void Pool(Step& step) {
  Shape shape = step.First();
  const std::size_t space = SpaceOf(step.op());
  if (shape.size() < space + 1) step.Fail("expected an image");
  const auto kernel = ForEach(step, "kernel_size", space, 1);
  auto stride = kernel;
  if (!step.Integers("stride").empty()) stride = ForEach(step, "stride", space, 1);
  const auto padding = ForEach(step, "padding", space, 0);
  const auto dilation = ForEach(step, "dilation", space, 1);
  const bool ceil = step.Boolean("ceil_mode", false);
  for (std::size_t i = 0; i < space && step.ok(); ++i) {
    Dim& dim = shape[shape.size() - space + i];
    if (!AreSane({kernel[i], stride[i], padding[i], dilation[i]}) || stride[i] < 1 ||
        kernel[i] < 1 || dilation[i] > 1 << 20 || kernel[i] > 1 << 20) {
      step.Fail("expected a kernel and a stride of at least 1");
      return;
    }
    dim = Passed(step, dim, dilation[i] * (kernel[i] - 1) + 1, stride[i], padding[i], ceil);
  }
  step.SetOutputs(std::vector<Shape>(std::max<std::size_t>(step.outputs(), 1), shape));
}

void AdaptivePool(Step& step) {
  Shape shape = step.First();
  const std::size_t space = SpaceOf(step.op());
  if (shape.size() < space + 1) step.Fail("expected an image");
  const auto sizes = ForEach(step, "output_size", space, 1);
  for (std::size_t i = 0; i < space && step.ok(); ++i) {
    Dim& dim = shape[shape.size() - space + i];
    step.Fix(dim, "a dimension of space");
    if (sizes[i] < 0 || sizes[i] > kMostSize) step.Fail("expected sizes of at least 0");
    dim = step.Fixed(std::clamp<std::int64_t>(sizes[i], 0, kMostSize));
  }
  step.SetOutputs(std::vector<Shape>(std::max<std::size_t>(step.outputs(), 1), shape));
}

void Upsample(Step& step) {
  Shape shape = step.First();
  if (shape.size() < 3) step.Fail("expected an image");
  if (!step.ok()) return;
  const std::size_t space = shape.size() - 2;
  const std::vector<std::int64_t> sizes = step.Integers("output_size");
  const std::vector<double> factors = step.Reals("scale_factors");
  for (std::size_t i = 0; i < space; ++i) {
    Dim& dim = shape[2 + i];
    step.Fix(dim, "a dimension of space");
    if (sizes.size() == space && sizes[i] >= 0 && sizes[i] <= kMostSize) {
      dim = step.Fixed(sizes[i]);
    } else if (factors.size() == space && factors[i] > 0 && factors[i] < 1e6) {
      dim =
          step.Fixed(static_cast<std::int64_t>(static_cast<double>(step.SizeOf(dim)) * factors[i]));
    } else {
      step.Fail("expected a size or a factor for each dimension of space");
      return;
    }
  }
  step.SetOutput(std::move(shape));
}

void Im2col(Step& step) {
  const Shape shape = step.First();
  const auto kernel = ForEach(step, "kernel_size", 2, 1);
  const auto stride = ForEach(step, "stride", 2, 1);
  const auto padding = ForEach(step, "padding", 2, 0);
  const auto dilation = ForEach(step, "dilation", 2, 1);
  if (shape.size() < 3) step.Fail("expected an image");
  std::int64_t places = 1;
  for (std::size_t i = 0; i < 2 && step.ok(); ++i) {
    const Dim dim = shape[shape.size() - 2 + i];
    if (!AreSane({kernel[i], stride[i], padding[i], dilation[i]}) || stride[i] < 1 ||
        kernel[i] < 1 || kernel[i] > 1 << 20 || dilation[i] > 1 << 20 ||
        step.SizeOf(dim) > 1 << 30) {
      step.Fail("expected a kernel and a stride of at least 1");
      return;
    }
    step.Fix(dim, "a dimension of space");
    places *=
        (step.SizeOf(dim) + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
  if (!step.ok()) return;
  Shape out(shape.begin(), shape.end() - 2);
  const Dim factors[] = {out.back(), step.Fixed(kernel[0]), step.Fixed(kernel[1])};
  out.back() = step.dims().Product(factors);
  out.push_back(step.Fixed(places));
  step.SetOutput(std::move(out));
}

void Col2im(Step& step) {
  Shape shape = step.First();
  const auto kernel = ForEach(step, "kernel_size", 2, 1);
  const auto size = ForEach(step, "output_size", 2, 1);
  if (shape.size() < 2 || kernel[0] < 1 || kernel[1] < 1 || kernel[0] > 1 << 20 ||
      kernel[1] > 1 << 20)
    step.Fail("expected columns, and a kernel of at least 1");
  if (!step.ok()) return;
  Dim& channels = shape[shape.size() - 2];
  if (step.SizeOf(channels) % (kernel[0] * kernel[1]) != 0 || !AreSane({size[0], size[1]}) ||
      size[0] < 0 || size[1] < 0) {
    step.Fail("the columns do not go with the kernel");
    return;
  }
  const Dim left = step.New(step.SizeOf(channels) / (kernel[0] * kernel[1]));
  const Dim factors[] = {left, step.Fixed(kernel[0]), step.Fixed(kernel[1])};
  step.Same(channels, step.dims().Product(factors));
  channels = left;
  step.Fix(shape.back(), "places in an image");
  shape.back() = step.Fixed(size[0]);
  shape.push_back(step.Fixed(size[1]));
  step.SetOutput(std::move(shape));
}

}  // namespace sluice::model
