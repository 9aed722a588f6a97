#include "data/batches/normalisation.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "base/check.h"
#include "data/batches/elements.h"

namespace sluice::data {
namespace {

// Sums of one channel. Elements are taken relative to the first one, so that a mean that is large
// beside the deviation costs no digits.
struct ChannelSums {
  double origin = 0;
  double sum = 0;
  double squares = 0;
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
  const std::size_t elements = bytes.size() / BytesOf(input.dtype);
  const std::size_t channel_elements = elements / channels;
  std::vector<ChannelSums> sums(channels);
  for (std::int64_t example = 0; example < examples.count(); ++example) {
    SLUICE_TRY(examples.ReadInput(example, bytes));
    bool is_finite = true;
    ForEachElement(input.dtype, bytes, [&](std::size_t place, double value) {
      ChannelSums& channel = sums[place / channel_elements];
      is_finite = is_finite && std::isfinite(value);
      if (example == 0 && place % channel_elements == 0) channel.origin = value;
      const double offset = value - channel.origin;
      channel.sum += offset;
      channel.squares += offset * offset;
    });
    if (!is_finite) {
      return InvalidArgument(fmt::format(
          "expected finite numbers, found NaN or an infinity in example {}: mend the data, or give "
          "mean and deviation",
          example));
    }
  }
  const double count =
      static_cast<double>(examples.count()) * static_cast<double>(channel_elements);
  const double divisor = DivisorOf(input.dtype);
  Normalisation measured{.mean = {}, .deviation = {}};
  for (const ChannelSums& channel : sums) {
    const double offset = channel.sum / count;
    const double variance = channel.squares / count - offset * offset;
    measured.mean.push_back((channel.origin + offset) / divisor);
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
