#include "data/batches/batch_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "data/batches/elements.h"

namespace sluice::data {
namespace {

struct ImageSize {
  std::size_t channels;
  std::size_t height;
  std::size_t width;
};

bool IsImage(const TensorType& input) {
  return (input.shape.size() == 2 || input.shape.size() == 3) && input.dtype != DType::kInt64;
}

ImageSize SizeOf(const TensorType& image) {
  const std::size_t axes = image.shape.size();
  const auto axis = [&](std::size_t at) { return static_cast<std::size_t>(image.shape[at]); };
  return {.channels = axes == 3 ? axis(0) : 1, .height = axis(axes - 2), .width = axis(axes - 1)};
}

// From so many elements on, it pays to have what each of 256 bytes becomes in a table. The table
// then takes no more memory than the elements themselves, as float32.
constexpr std::size_t kElementsForATable = 256;

// A mean and a deviation for each channel; one of each if that is all there is.
Normalisation Matched(Normalisation normalisation) {
  auto& [mean, deviation] = normalisation;
  const std::size_t channels = std::max(mean.size(), deviation.size());
  mean.resize(channels, mean.front());
  deviation.resize(channels, deviation.front());
  return normalisation;
}

float Normalised(double value, double divisor, double mean, double deviation) {
  return static_cast<float>((value / divisor - mean) / deviation);
}

}  // namespace

Status CheckAugmentation(const Augmentation& how, const TensorType& input) {
  if (how.IsNone()) return {};
  if (!IsImage(input)) {
    return InvalidArgument(fmt::format(
        "crop and flip: expected images [channels, height, width], found {}", Text(input)));
  }
  const auto most = std::min(input.shape.end()[-1], input.shape.end()[-2]);
  if (how.crop_padding < 0 || how.crop_padding > most) {
    return InvalidArgument(fmt::format("crop: expected a padding from 0 to {} for {}, found {}",
                                       most, Text(input), how.crop_padding));
  }
  return {};
}

void Augment(const TensorType& type, const Augmentation& how, const AugmentationDraw& draw,
             std::span<const char> from, std::span<char> into) {
  SLUICE_CHECK(from.size() == into.size() && from.data() != into.data(),
               "an image is moved to a buffer of its size");
  const auto [channels, height, width] = SizeOf(type);
  const std::size_t element = BytesOf(type.dtype);
  std::ranges::fill(into, '\0');
  const std::int64_t down = draw.top - how.crop_padding;
  const std::int64_t right = draw.left - how.crop_padding;
  // The columns that have a pixel of the image, before they are mirrored.
  const auto signed_width = static_cast<std::int64_t>(width);
  const std::int64_t first = std::clamp<std::int64_t>(-right, 0, signed_width);
  const std::int64_t end = std::clamp<std::int64_t>(signed_width - right, first, signed_width);
  const auto many = static_cast<std::size_t>(end - first);
  for (std::size_t row = 0; row < channels * height; ++row) {
    const std::size_t channel = row / height;
    const std::int64_t source_row = static_cast<std::int64_t>(row % height) + down;
    if (source_row < 0 || source_row >= static_cast<std::int64_t>(height)) continue;
    const std::size_t from_row = channel * height + static_cast<std::size_t>(source_row);
    const char* source =
        from.data() + (from_row * width + static_cast<std::size_t>(first + right)) * element;
    const auto place = static_cast<std::size_t>(draw.flipped ? signed_width - end : first);
    char* target = into.data() + (row * width + place) * element;
    if (!draw.flipped) {
      std::copy_n(source, many * element, target);
    } else if (element == 1) {
      std::reverse_copy(source, source + many, target);
    } else {
      for (std::size_t i = 0; i < many; ++i)
        std::copy_n(source + (many - 1 - i) * element, element, target + i * element);
    }
  }
}

BatchReader::BatchReader(std::shared_ptr<const Examples> examples, Normalisation normalisation,
                         Augmentation augmentation, std::uint64_t seed)
    : examples_(std::move(examples)),
      normalisation_(std::move(normalisation)),
      augmentation_(augmentation),
      seed_(seed),
      input_(examples_->input()) {
  if (input_.dtype == DType::kInt64) return;
  normalisation_ = Matched(std::move(normalisation_));
  input_.dtype = DType::kFloat32;
  if (examples_->input().dtype != DType::kUint8) return;
  const std::size_t channels = normalisation_.mean.size();
  if (channels > 1 && *ElementsOf(input_.shape) / channels < kElementsForATable) return;
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (int byte = 0; byte < 256; ++byte)
      of_byte_.push_back(Normalised(byte, DivisorOf(DType::kUint8), normalisation_.mean[channel],
                                    normalisation_.deviation[channel]));
}

void BatchReader::Normalise(std::span<const char> raw, std::span<float> into) const {
  const DType dtype = examples_->input().dtype;
  const std::size_t channels = normalisation_.mean.size();
  const std::size_t elements = into.size() / channels;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto from = raw.subspan(channel * elements * BytesOf(dtype), elements * BytesOf(dtype));
    float* to = into.data() + channel * elements;
    if (!of_byte_.empty()) {
      const float* of_byte = of_byte_.data() + channel * 256;
      for (std::size_t i = 0; i < elements; ++i)
        to[i] = of_byte[static_cast<unsigned char>(from[i])];
      continue;
    }
    const double mean = normalisation_.mean[channel];
    const double deviation = normalisation_.deviation[channel];
    if (dtype == DType::kUint8) {
      for (std::size_t i = 0; i < elements; ++i)
        to[i] = Normalised(static_cast<unsigned char>(from[i]), DivisorOf(DType::kUint8), mean,
                           deviation);
      continue;
    }
    ForEachElement(dtype, from, [&](std::size_t place, double value) {
      to[place] = Normalised(value, 1, mean, deviation);
    });
  }
}

Status BatchReader::ReadForTraining(std::int64_t step, std::span<const std::int64_t> which,
                                    std::span<char> into) const {
  if (augmentation_.IsNone()) return ReadForEvaluation(which, into);
  const TensorType& type = examples_->input();
  std::string raw(static_cast<std::size_t>(*BytesOf(type)), '\0');
  std::string moved = raw;
  const auto bytes = static_cast<std::size_t>(*BytesOf(input_));
  SLUICE_CHECK(into.size() == bytes * which.size(), "the buffer is as long as the batch");
  for (std::size_t i = 0; i < which.size(); ++i) {
    SLUICE_TRY(examples_->ReadInput(which[i], raw));
    const auto draw = DrawAugmentation(augmentation_, seed_, step, static_cast<std::int64_t>(i));
    Augment(type, augmentation_, draw, raw, moved);
    Normalise(moved, {reinterpret_cast<float*>(into.data() + i * bytes), bytes / sizeof(float)});
  }
  return {};
}

Status BatchReader::ReadForEvaluation(std::span<const std::int64_t> which,
                                      std::span<char> into) const {
  if (input_.dtype == DType::kInt64) return examples_->ReadInputs(which, into);
  std::string raw(static_cast<std::size_t>(*BytesOf(examples_->input())), '\0');
  const auto bytes = static_cast<std::size_t>(*BytesOf(input_));
  SLUICE_CHECK(into.size() == bytes * which.size(), "the buffer is as long as the batch");
  for (std::size_t i = 0; i < which.size(); ++i) {
    SLUICE_TRY(examples_->ReadInput(which[i], raw));
    Normalise(raw, {reinterpret_cast<float*>(into.data() + i * bytes), bytes / sizeof(float)});
  }
  return {};
}

}  // namespace sluice::data
