#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "search/sampler.h"
#include "space/enumeration.h"

namespace sluice {

// Every point of a discrete space once. The order is that of a counter with the parameters' values
// as digits, the last parameter turning fastest. An inactive parameter does not turn, and points at
// which a constraint fails are left out (space/enumeration.h). A proposal is a function of the
// counter alone.
class GridSampler final : public Sampler {
 public:
  // Fails on a continuous parameter, saying what to do, on more than 2^53 points, and on a space
  // with conditions or constraints that takes too long to enumerate.
  static Result<std::unique_ptr<GridSampler>> Make(const Space& space);

  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation&) override {}

  std::uint64_t size() const { return size_; }

 private:
  GridSampler(const Space& space, std::uint64_t size) : space_(space), size_(size) {}

  std::optional<Point> Enumerated(std::uint64_t counter);

  Space space_;
  std::uint64_t size_;
  // The place after the last proposal, where the next proposal mostly is.
  std::optional<PointEnumerator> points_;
  std::uint64_t next_ = 0;
};

}  // namespace sluice
