#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/batches/augmentation.h"
#include "data/batches/normalisation.h"
#include "data/sets/examples.h"

namespace sluice::data {

// Makes batches for a network: reads examples, varies training images and normalises. Inputs of
// numbers become float32. Inputs of int64 (tokens) stay as they are.
class BatchReader {
 public:
  // The normalisation and the augmentation were checked for these examples (CheckNormalisation,
  // CheckAugmentation).
  BatchReader(std::shared_ptr<const Examples> examples, Normalisation normalisation,
              Augmentation augmentation, std::uint64_t seed);

  // Of one example, as it is given: float32 or int64.
  const TensorType& input() const { return input_; }
  const Examples& examples() const { return *examples_; }

  // The inputs of these examples, one behind the other, as a batch of this step of training.
  Status ReadForTraining(std::int64_t step, std::span<const std::int64_t> which,
                         std::span<char> into) const;
  // The same without augmentation.
  Status ReadForEvaluation(std::span<const std::int64_t> which, std::span<char> into) const;
  // The targets, in either case.
  Status ReadTargets(std::span<const std::int64_t> which, std::span<char> into) const {
    return examples_->ReadTargets(which, into);
  }

 private:
  void Normalise(std::span<const char> raw, std::span<float> into) const;

  std::shared_ptr<const Examples> examples_;
  Normalisation normalisation_;  // as many means as deviations: one for each channel, or for all
  Augmentation augmentation_;
  std::uint64_t seed_;
  TensorType input_;
  // What a byte becomes: 256 numbers for each mean. Empty if that is computed for each element.
  std::vector<float> of_byte_;
};

// Moves an image [channels, height, width] or [height, width], as DrawAugmentation says: pixels
// from outside are 0. `from` and `into` are different.
void Augment(const TensorType& type, const Augmentation& how, const AugmentationDraw& draw,
             std::span<const char> from, std::span<char> into);

// Fails with invalid_argument unless inputs are images, where anything is to be varied.
Status CheckAugmentation(const Augmentation& how, const TensorType& input);

}  // namespace sluice::data
