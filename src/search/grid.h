#pragma once

#include <cstdint>
#include <memory>

#include "search/sampler.h"

namespace sluice {

// Every point of a discrete space once, in the order of a counter whose digits are the parameters'
// values, the last parameter turning fastest. A proposal is a function of the counter alone.
class GridSampler final : public Sampler {
 public:
  // Fails on a continuous parameter, saying what to do, and on more than 2^53 points.
  static Result<std::unique_ptr<Sampler>> Make(const Space& space);

  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation&) override {}

 private:
  GridSampler(const Space& space, std::uint64_t size) : space_(space), size_(size) {}

  Space space_;
  std::uint64_t size_;
};

}  // namespace sluice
