#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "data/sets/examples.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

// How elements of an input become numbers for the network: (x * scale - mean) / deviation, computed
// in double and rounded once to float32. The scale is 1/255 for uint8 and 1 otherwise, so mean and
// deviation are in units of [0, 1] for images. One mean and one deviation stand for all elements;
// otherwise there is one for each channel (ChannelsOf).
struct Normalisation {
  std::vector<double> mean = {0};
  std::vector<double> deviation = {1};
};

// What has a mean of its own: the first axis of [channels, height, width] and of [features]. Inputs
// of another number of axes have one channel.
std::int64_t ChannelsOf(const TensorType& input);

// The channels' means and standard deviations over all of these examples (of the population:
// divided by the number of elements). A channel that never changes has the deviation 1. Inputs are
// no int64. Fails with invalid_argument at a NaN or an infinity, which no network learns from, and
// if there are more than 2^20 channels.
Result<Normalisation> MeasureNormalisation(const Examples& examples);

// Fails with invalid_argument unless it has one mean and deviation, or one for each channel, all
// finite and the deviations above 0.
Status CheckNormalisation(const Normalisation& normalisation, const TensorType& input);

}  // namespace sluice::data
