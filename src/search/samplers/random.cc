#include "search/samplers/random.h"

#include "space/draw.h"

namespace sluice {

std::optional<Point> RandomSampler::Propose(std::uint64_t counter) {
  Random draws = stream_.Fork(counter);
  return DrawPoint(space_, draws);
}

}  // namespace sluice
