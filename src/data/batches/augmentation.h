#pragma once

#include <cstdint>

namespace sluice::data {

// How training images are varied. Evaluation uses none of it.
struct Augmentation {
  // The image is surrounded by so many black pixels on each side, and cut to its size again at a
  // place that is drawn.
  std::int64_t crop_padding = 0;
  bool flip = false;  // mirrored left to right, one time in two

  bool IsNone() const { return crop_padding == 0 && !flip; }
};

struct AugmentationDraw {
  // Where the image is cut, from 0 to 2 * crop_padding; crop_padding leaves it where it is.
  std::int64_t top = 0;
  std::int64_t left = 0;
  bool flipped = false;

  bool operator==(const AugmentationDraw&) const = default;
};

// The draw for one image of a batch. It depends on the study's seed, the step and the position in
// the batch alone: Random(seed).Fork("augmentation").Fork(step).Fork(position) gives the top edge,
// then the left one, then whether it is flipped. All three are drawn, whatever is used.
AugmentationDraw DrawAugmentation(const Augmentation& how, std::uint64_t seed, std::int64_t step,
                                  std::int64_t position);

}  // namespace sluice::data
