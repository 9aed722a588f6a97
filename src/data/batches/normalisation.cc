#include "data/batches/normalisation.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "base/check.h"
#include "data/batches/elements.h"

namespace sluice::data {
namespace {

// Sums of one channel. Elements are taken relative to the first one, so that a mean that is large
// beside the deviation costs no digits.
class ChannelSums {
 public:
  void Add(DType dtype, std::span<const char> elements) {
    if (dtype == DType::kUint8) {
      for (const char byte : elements) ++counts_[static_cast<unsigned char>(byte)];
      return;
    }
    ForEachElement(dtype, elements, [this](std::size_t, double value) { AddTimes(value, 1); });
  }
  // Elements that are bytes are counted, and summed up here.
  void Finish() {
    for (std::size_t byte = 0; byte < counts_.size(); ++byte)
      if (counts_[byte] > 0)
        AddTimes(static_cast<double>(byte), static_cast<double>(counts_[byte]));
  }

  bool is_finite() const { return std::isfinite(squares_); }
  double Mean() const { return origin_ + sum_ / count_; }
  double Variance() const {
    const double offset = sum_ / count_;
    return squares_ / count_ - offset * offset;
  }

 private:
  void AddTimes(double value, double times) {
    if (count_ == 0) origin_ = value;
    const double offset = value - origin_;
    count_ += times;
    sum_ += times * offset;
    squares_ += times * offset * offset;
  }

  std::array<std::uint64_t, 256> counts_{};
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
  for (ChannelSums& channel : sums) {
    channel.Finish();
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
