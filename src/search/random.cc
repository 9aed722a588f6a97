#include "search/random.h"

#include <vector>

namespace sluice {

std::optional<Point> RandomSampler::Propose(std::uint64_t counter) {
  Random draws = stream_.Fork(counter);
  std::vector<double> unit(space_.size());
  for (double& coordinate : unit) coordinate = draws.Uniform();
  return space_.FromUnit(unit);
}

}  // namespace sluice
