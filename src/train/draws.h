#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::train {

// Where the random numbers of a step come from. The numbers of a trial depend on the node that
// draws and on the logical element alone: not on the other trials, nor on how tensors are laid out.
class Draws {
 public:
  virtual ~Draws() = default;
  // Fills `bits` with the uniform numbers of this trial for the elements 0, 1, ... of a node.
  virtual void Fill(std::size_t trial, std::uint32_t node, std::span<std::uint32_t> bits) const = 0;
};

// Counter-based: a number is Philox4x32-10 of the key (seed of the trial) and the counter (step,
// node, element).
class CounterDraws : public Draws {
 public:
  // The step of a trial is its own: trials of one run may be at different steps.
  struct Trial {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
  };
  explicit CounterDraws(std::vector<Trial> trials) : trials_(std::move(trials)) {}
  void Fill(std::size_t trial, std::uint32_t node, std::span<std::uint32_t> bits) const override;

 private:
  std::vector<Trial> trials_;
};

// Four words for a counter and a key.
struct PhiloxWords {
  std::uint32_t word[4];
};
PhiloxWords Philox(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1);

}  // namespace sluice::train
