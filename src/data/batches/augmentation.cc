#include "data/batches/augmentation.h"

#include "base/check.h"
#include "base/random.h"

namespace sluice::data {

AugmentationDraw DrawAugmentation(const Augmentation& how, std::uint64_t seed, std::int64_t step,
                                  std::int64_t position) {
  SLUICE_CHECK(how.crop_padding >= 0 && step >= 0 && position >= 0, "draws are counted from 0");
  Random random = Random(seed)
                      .Fork("augmentation")
                      .Fork(static_cast<std::uint64_t>(step))
                      .Fork(static_cast<std::uint64_t>(position));
  const std::uint64_t places = 2 * static_cast<std::uint64_t>(how.crop_padding) + 1;
  AugmentationDraw draw;
  draw.top = static_cast<std::int64_t>(random.Below(places));
  draw.left = static_cast<std::int64_t>(random.Below(places));
  draw.flipped = random.Below(2) == 1 && how.flip;
  return draw;
}

}  // namespace sluice::data
