#include "data/batches/normalisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "base/check.h"
#include "data/batches/elements.h"

namespace sluice::data {
namespace {

// A vector has a mean for each of its features, and measuring takes some 100 bytes of each: 100 MB
// for so many. Data whose features are told apart has far fewer.
constexpr std::size_t kMostChannels = std::size_t{1} << 20;

// Sums of one channel. Elements are taken relative to one of them, so that a mean that is large
// beside the deviation costs no digits. Bytes are summed up as whole numbers: these sums are exact,
// whatever the order.
class ChannelSums {
 public:
  void Add(DType dtype, std::span<const char> elements) {
    if (dtype == DType::kUint8) return AddBytes(elements);
    ForEachElement(dtype, elements, [this](std::size_t, double value) {
      if (count_ == 0) origin_ = value;
      const double offset = value - origin_;
      count_ += 1;
      sum_ += offset;
      squares_ += offset * offset;
    });
  }

  bool is_finite() const { return std::isfinite(squares_); }
  double Mean() const { return origin_ + sum_ / count_; }
  double Variance() const {
    const double offset = sum_ / count_;
    return squares_ / count_ - offset * offset;
  }

 private:
  void AddBytes(std::span<const char> elements) {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;
    unsigned char least = 255;
    for (const char element : elements) {
      const auto byte = static_cast<unsigned char>(element);
      sum += byte;
      squares += static_cast<std::uint64_t>(byte) * byte;
      least = std::min(least, byte);
    }
    byte_sum_ += sum;
    byte_squares_ += squares;
    least_byte_ = std::min(least_byte_, least);
    bytes_ += elements.size();
    // Relative to the least: sum of (x - least) and of its square.
    const std::uint64_t origin = least_byte_;
    origin_ = static_cast<double>(origin);
    count_ = static_cast<double>(bytes_);
    sum_ = static_cast<double>(byte_sum_ - bytes_ * origin);
    squares_ =
        static_cast<double>(byte_squares_ + bytes_ * origin * origin - 2 * origin * byte_sum_);
  }

  std::uint64_t bytes_ = 0;
  std::uint64_t byte_sum_ = 0;
  std::uint64_t byte_squares_ = 0;
  unsigned char least_byte_ = 255;
  double origin_ = 0;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace

std::int64_t ChannelsOf(const TensorType& input) {
  const bool has_channels = input.shape.size() == 1 || input.shape.size() == 3;
  return has_channels ? input.shape.front() : 1;
}

Result<Normalisation> MeasureNormalisation(const Examples& examples) {
  const TensorType& input = examples.input();
  const auto channels = static_cast<std::size_t>(ChannelsOf(input));
  if (channels > kMostChannels) {
    return InvalidArgument(fmt::format(
        "normalise: expected at most {} features, each of which has a mean and a deviation of its "
        "own, found {} of {}: give one of each for all, 'normalise: {{mean: 0, deviation: 1}}'",
        kMostChannels, channels, Text(input)));
  }
  std::string bytes(static_cast<std::size_t>(*BytesOf(input)), '\0');
  const std::size_t channel_bytes = bytes.size() / channels;
  std::vector<ChannelSums> sums(channels);
  for (std::int64_t example = 0; example < examples.count(); ++example) {
    SLUICE_TRY(examples.ReadInput(example, bytes));
    for (std::size_t channel = 0; channel < channels; ++channel) {
      sums[channel].Add(input.dtype,
                        std::span(bytes).subspan(channel * channel_bytes, channel_bytes));
      if (sums[channel].is_finite()) continue;
      return InvalidArgument(fmt::format(
          "expected finite numbers that can be squared, found NaN, an infinity or a larger one in "
          "example {}: mend the data, or give mean and deviation",
          example));
    }
  }
  const double divisor = DivisorOf(input.dtype);
  Normalisation measured{.mean = {}, .deviation = {}};
  for (const ChannelSums& channel : sums) {
    const double variance = channel.Variance();
    measured.mean.push_back(channel.Mean() / divisor);
    measured.deviation.push_back(variance > 0 ? std::sqrt(variance) / divisor : 1);
  }
  return measured;
}

Status CheckNormalisation(const Normalisation& normalisation, const TensorType& input) {
  const auto channels = static_cast<std::size_t>(ChannelsOf(input));
  const auto check = [&](const std::vector<double>& values, const char* name,
                         bool above_0) -> Status {
    if (values.size() != 1 && values.size() != channels) {
      return InvalidArgument(
          fmt::format("{}: expected 1 or {} numbers, one for each channel of {}, "
                      "found {}",
                      name, channels, Text(input), values.size()));
    }
    for (const double value : values) {
      if (!std::isfinite(value) || (above_0 && value <= 0)) {
        return InvalidArgument(fmt::format("{}: expected {} numbers, found {}", name,
                                           above_0 ? "positive" : "finite", value));
      }
    }
    return {};
  };
  SLUICE_TRY(check(normalisation.mean, "mean", false));
  return check(normalisation.deviation, "deviation", true);
}

}  // namespace sluice::data
