#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/sampler.h"

namespace sluice {

// A low-discrepancy sequence in the unit cube: Sobol's construction with Owen's scrambling.
//
// On each axis every aligned run of 2^k points has one point in each of the 2^k equal intervals. On
// pairs of the first axes, boxes are filled almost as evenly. An axis consists of a primitive
// polynomial over GF(2), found by trying one polynomial after the other, and of the first columns
// of its matrix. Of a few such matrices, the one that fills boxes most evenly together with the
// earlier axes is taken. So there is no table and no limit on the number of axes. The scrambling, a
// nested random permutation of digits, keeps this evenness and gives each seed its own sequence.
class SobolSequence {
 public:
  SobolSequence(std::size_t axes, std::uint64_t seed);

  // The point at an index below 2^32, each coordinate in (0, 1).
  std::vector<double> At(std::uint64_t index) const;

 private:
  struct AxisBits {
    std::vector<std::uint32_t> columns;  // 32, the first in the highest bit
    std::uint64_t seed = 0;
  };
  std::vector<AxisBits> axes_;
};

// The points of a scrambled Sobol sequence that satisfy the constraints, in the order of the
// sequence. Once ten thousand points in a row do not satisfy them (fewer points if there are more
// than a hundred axes), points are drawn at random. A proposal is a function of seed and counter
// alone.
class SobolSampler final : public Sampler {
 public:
  SobolSampler(const Space& space, std::uint64_t seed);

  // Returns nothing if no point is found that satisfies the constraints, and without constraints
  // after 2^32 points.
  std::optional<Point> Propose(std::uint64_t counter) override;
  void Observe(const Observation&) override {}

 private:
  Space space_;
  SobolSequence sequence_;
  // With constraints: `index_` is the index in the sequence that follows the index of proposal
  // `proposed_` - 1. An older proposal is found by starting again from 0.
  std::uint64_t proposed_ = 0;
  std::uint64_t index_ = 0;
  std::uint64_t seed_ = 0;
  // The first proposal that is drawn at random, once known.
  std::optional<std::uint64_t> drawn_from_;
};

}  // namespace sluice
