#include <algorithm>

#include "model/analyse/rules.h"

namespace sluice::model {
namespace {

// The numbers of an argument, one for each of the `count` dimensions of space. A single number
// stands for all of them. A missing argument is `otherwise`.
std::vector<std::int64_t> ForEach(const Step& step, Inference& inference, std::string_view name,
                                  std::size_t count, std::int64_t otherwise) {
  std::vector<std::int64_t> numbers = step.Integers(name);
  if (numbers.empty()) numbers = {otherwise};
  if (numbers.size() == 1) numbers.resize(count, numbers.front());
  if (numbers.size() != count) {
    inference.Fail("expected a number for each dimension of space");
    numbers.assign(count, otherwise);
  }
  return numbers;
}

constexpr std::int64_t kLimit = std::int64_t{1} << 20;  // of strides, paddings and kernels

bool AreSane(std::initializer_list<std::int64_t> numbers) {
  return std::ranges::all_of(numbers, [](std::int64_t n) { return n >= -kLimit && n <= kLimit; });
}

// How many dimensions of space an operator of this name has.
std::size_t SpaceOf(std::string_view op) {
  if (op.find("1d") != std::string_view::npos) return 1;
  return op.find("3d") != std::string_view::npos ? 3 : 2;
}

// The dimension that a dimension of space becomes when a kernel moves over it. A stride of 1
// changes the size by a fixed number. With another stride, both dimensions are fixed.
Dim Passed(Inference& inference, Dim dim, std::int64_t reach, std::int64_t stride,
           std::int64_t padding, bool ceil) {
  const std::int64_t room = inference.SizeOf(dim) + 2 * padding - reach;
  if (room < 0) {
    inference.Fail("the kernel is larger than the image");
    return dim;
  }
  if (stride == 1) {
    const std::int64_t less = reach - 1 - 2 * padding;
    if (less == 0) return dim;
    if (less < 0) {
      return inference.Sum({dim, inference.Fixed(-less)});
    }
    const Dim left = inference.New(inference.SizeOf(dim) - less);
    inference.Unify(dim, inference.Sum({left, inference.Fixed(less)}));
    return left;
  }
  inference.Fix(dim, "a dimension of space");
  std::int64_t size = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  // The last window must begin inside of the image, or inside of the padding before the image.
  if (ceil && (size - 1) * stride >= inference.SizeOf(dim) + padding) --size;
  return inference.Fixed(size);
}

// The groups of a convolution. With one channel in each group, there are as many groups as
// channels. Otherwise the number of groups keeps its size while it can.
struct Groups {
  Dim count{};
  bool single = false;  // each has one channel
};

Groups GroupsOf(const Step& step, Inference& inference, Dim channels, Dim in_one) {
  const Dim count = step.Size("groups");
  if (inference.SizeOf(in_one) > 1) inference.Raise(count, Dims::Rank::kCount);
  inference.Unify(channels, inference.Product({count, in_one}));
  return {.count = count, .single = inference.SizeOf(in_one) == 1};
}

// Divides the channels into the groups.
void Grouped(Inference& inference, const Groups& groups, Dim channels) {
  const std::int64_t count = inference.SizeOf(groups.count);
  if (count < 1 || inference.SizeOf(channels) % count != 0) {
    inference.Fail("the channels cannot be divided into the groups");
    return;
  }
  const Dim in_one = inference.New(inference.SizeOf(channels) / count);
  if (groups.single) inference.Raise(in_one, Dims::Rank::kCount);
  inference.Unify(channels, inference.Product({groups.count, in_one}));
}

void CheckBias(const Step& step, Inference& inference, Dim channels) {
  if (!step.Has("bias")) return;
  const Shape bias = step.Tensor("bias");
  if (bias.size() != 1) inference.Fail("expected a vector as bias");
  if (inference.ok()) inference.Unify(bias[0], channels);
}

}  // namespace

void Convolution(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const Shape weight = step.Tensor("weight");  // [out, in / groups, kernel...]
  const std::size_t space = SpaceOf(step.op());
  if (weight.size() != space + 2 || (shape.size() != space + 2 && shape.size() != space + 1))
    inference.Fail("expected an image and a kernel");
  if (!inference.ok()) return;
  const std::size_t first = shape.size() - space;
  const Dim channels = shape[first - 1];
  for (std::size_t i = 0; i < space; ++i) inference.Fix(weight[2 + i], "the size of a kernel");
  if (step.Integer("groups", 1) == 1) {
    inference.Unify(channels, weight[1]);
  } else {
    Grouped(inference, GroupsOf(step, inference, channels, weight[1]), weight[0]);
  }
  CheckBias(step, inference, weight[0]);
  std::vector<std::size_t> summed = {1};
  for (std::size_t i = 0; i < space; ++i) summed.push_back(2 + i);
  inference.AddUse(step.ValueOf("weight"), summed);
  const std::string same = step.Text("padding");
  const auto stride = ForEach(step, inference, "stride", space, 1);
  const auto padding = same.empty() ? ForEach(step, inference, "padding", space, 0)
                                    : std::vector<std::int64_t>(space, 0);
  const auto dilation = ForEach(step, inference, "dilation", space, 1);
  if (!inference.ok()) return;
  Shape out(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  out[first - 1] = weight[0];
  for (std::size_t i = 0; i < space; ++i) {
    if (same == "same") {
      out.push_back(shape[first + i]);
      continue;
    }
    if (!AreSane({stride[i], padding[i], dilation[i]}) || stride[i] < 1) {
      inference.Fail("expected a stride of at least 1, and sizes within reason");
      return;
    }
    const std::int64_t reach = dilation[i] * (inference.SizeOf(weight[2 + i]) - 1) + 1;
    out.push_back(Passed(inference, shape[first + i], reach, stride[i], padding[i], false));
  }
  inference.SetOutput(std::move(out));
}

void TransposedConvolution(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const Shape weight = step.Tensor("weight");  // [in, out / groups, kernel...]
  const std::size_t space = SpaceOf(step.op());
  if (weight.size() != space + 2 || (shape.size() != space + 2 && shape.size() != space + 1))
    inference.Fail("expected an image and a kernel");
  if (!inference.ok()) return;
  const std::size_t first = shape.size() - space;
  for (std::size_t i = 0; i < space; ++i) inference.Fix(weight[2 + i], "the size of a kernel");
  inference.Unify(shape[first - 1], weight[0]);
  Dim channels = weight[1];
  if (step.Integer("groups", 1) != 1) {
    const Dim count = step.Size("groups");
    channels = inference.Product({count, weight[1]});
    const bool single = inference.SizeOf(count) == inference.SizeOf(weight[0]);
    if (!single) inference.Raise(count, Dims::Rank::kCount);
    Grouped(inference, {.count = count, .single = single}, weight[0]);
  }
  CheckBias(step, inference, channels);
  std::vector<std::size_t> summed = {0};
  for (std::size_t i = 0; i < space; ++i) summed.push_back(2 + i);
  inference.AddUse(step.ValueOf("weight"), summed);
  const auto stride = ForEach(step, inference, "stride", space, 1);
  const auto padding = ForEach(step, inference, "padding", space, 0);
  const auto more = ForEach(step, inference, "output_padding", space, 0);
  const auto dilation = ForEach(step, inference, "dilation", space, 1);
  if (!inference.ok()) return;
  Shape out(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  out[first - 1] = channels;
  for (std::size_t i = 0; i < space; ++i) {
    if (!AreSane({stride[i], padding[i], dilation[i], more[i]}) || stride[i] > 1 << 20 ||
        dilation[i] > 1 << 20) {
      inference.Fail("expected sizes within reason");
      return;
    }
    inference.Fix(shape[first + i], "a dimension of space");
    const std::int64_t size = (inference.SizeOf(shape[first + i]) - 1) * stride[i] -
                              2 * padding[i] + dilation[i] * (inference.SizeOf(weight[2 + i]) - 1) +
                              more[i] + 1;
    if (size < 0) inference.Fail("nothing is left of the image");
    out.push_back(inference.Fixed(std::max<std::int64_t>(size, 0)));
  }
  inference.SetOutput(std::move(out));
}

void Pool(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t space = SpaceOf(step.op());
  if (shape.size() < space + 1) inference.Fail("expected an image");
  const auto kernel = ForEach(step, inference, "kernel_size", space, 1);
  auto stride = kernel;
  if (!step.Integers("stride").empty()) stride = ForEach(step, inference, "stride", space, 1);
  const auto padding = ForEach(step, inference, "padding", space, 0);
  const auto dilation = ForEach(step, inference, "dilation", space, 1);
  const bool ceil = step.Boolean("ceil_mode", false);
  for (std::size_t i = 0; i < space && inference.ok(); ++i) {
    Dim& dim = shape[shape.size() - space + i];
    if (!AreSane({kernel[i], stride[i], padding[i], dilation[i]}) || stride[i] < 1 ||
        kernel[i] < 1 || dilation[i] > 1 << 20 || kernel[i] > 1 << 20) {
      inference.Fail("expected a kernel and a stride of at least 1");
      return;
    }
    dim = Passed(inference, dim, dilation[i] * (kernel[i] - 1) + 1, stride[i], padding[i], ceil);
  }
  inference.SetOutputs(std::vector<Shape>(std::max<std::size_t>(step.outputs(), 1), shape));
}

void AdaptivePool(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const std::size_t space = SpaceOf(step.op());
  if (shape.size() < space + 1) inference.Fail("expected an image");
  const auto sizes = ForEach(step, inference, "output_size", space, 1);
  for (std::size_t i = 0; i < space && inference.ok(); ++i) {
    Dim& dim = shape[shape.size() - space + i];
    inference.Fix(dim, "a dimension of space");
    if (sizes[i] < 0 || sizes[i] > kMostElements) inference.Fail("expected sizes of at least 0");
    dim = inference.Fixed(std::clamp<std::int64_t>(sizes[i], 0, kMostElements));
  }
  inference.SetOutputs(std::vector<Shape>(std::max<std::size_t>(step.outputs(), 1), shape));
}

void Upsample(const Step& step, Inference& inference) {
  Shape shape = step.First();
  if (shape.size() < 3) inference.Fail("expected an image");
  if (!inference.ok()) return;
  const std::size_t space = shape.size() - 2;
  const std::vector<std::int64_t> sizes = step.Integers("output_size");
  const std::vector<double> factors = step.Reals("scale_factors");
  for (std::size_t i = 0; i < space; ++i) {
    Dim& dim = shape[2 + i];
    inference.Fix(dim, "a dimension of space");
    if (sizes.size() == space && sizes[i] >= 0 && sizes[i] <= kMostElements) {
      dim = inference.Fixed(sizes[i]);
    } else if (factors.size() == space && factors[i] > 0 && factors[i] < 1e6) {
      dim = inference.Fixed(
          static_cast<std::int64_t>(static_cast<double>(inference.SizeOf(dim)) * factors[i]));
    } else {
      inference.Fail("expected a size or a factor for each dimension of space");
      return;
    }
  }
  inference.SetOutput(std::move(shape));
}

void Im2col(const Step& step, Inference& inference) {
  const Shape shape = step.First();
  const auto kernel = ForEach(step, inference, "kernel_size", 2, 1);
  const auto stride = ForEach(step, inference, "stride", 2, 1);
  const auto padding = ForEach(step, inference, "padding", 2, 0);
  const auto dilation = ForEach(step, inference, "dilation", 2, 1);
  if (shape.size() < 3) inference.Fail("expected an image");
  std::int64_t places = 1;
  for (std::size_t i = 0; i < 2 && inference.ok(); ++i) {
    const Dim dim = shape[shape.size() - 2 + i];
    if (!AreSane({kernel[i], stride[i], padding[i], dilation[i]}) || stride[i] < 1 ||
        kernel[i] < 1 || kernel[i] > 1 << 20 || dilation[i] > 1 << 20 ||
        inference.SizeOf(dim) > 1 << 30) {
      inference.Fail("expected a kernel and a stride of at least 1");
      return;
    }
    inference.Fix(dim, "a dimension of space");
    places *=
        (inference.SizeOf(dim) + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] +
        1;
  }
  if (!inference.ok()) return;
  Shape out(shape.begin(), shape.end() - 2);
  out.back() =
      inference.Product({out.back(), inference.Fixed(kernel[0]), inference.Fixed(kernel[1])});
  out.push_back(inference.Fixed(places));
  inference.SetOutput(std::move(out));
}

void Col2im(const Step& step, Inference& inference) {
  Shape shape = step.First();
  const auto kernel = ForEach(step, inference, "kernel_size", 2, 1);
  const auto size = ForEach(step, inference, "output_size", 2, 1);
  if (shape.size() < 2 || kernel[0] < 1 || kernel[1] < 1 || kernel[0] > 1 << 20 ||
      kernel[1] > 1 << 20)
    inference.Fail("expected columns, and a kernel of at least 1");
  if (!inference.ok()) return;
  Dim& channels = shape[shape.size() - 2];
  if (inference.SizeOf(channels) % (kernel[0] * kernel[1]) != 0 || !AreSane({size[0], size[1]}) ||
      size[0] < 0 || size[1] < 0) {
    inference.Fail("the columns do not match the kernel");
    return;
  }
  const Dim left = inference.New(inference.SizeOf(channels) / (kernel[0] * kernel[1]));
  inference.Unify(
      channels, inference.Product({left, inference.Fixed(kernel[0]), inference.Fixed(kernel[1])}));
  channels = left;
  inference.Fix(shape.back(), "places in an image");
  shape.back() = inference.Fixed(size[0]);
  shape.push_back(inference.Fixed(size[1]));
  inference.SetOutput(std::move(shape));
}

}  // namespace sluice::model
