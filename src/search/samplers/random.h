#pragma once

#include <cstdint>

#include "search/sampler.h"

namespace sluice {

// Independent draws from the unit cube, repeated until the constraints hold. A proposal is a
// function of seed and counter alone.
class RandomSampler final : public Sampler {
 public:
  RandomSampler(const Space& space, std::uint64_t seed)
      : space_(space), stream_(Random(seed).Fork("random")) {}

  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation&) override {}

 private:
  Space space_;
  Random stream_;
};

}  // namespace sluice
