#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

// A list of examples, each an input and a target. Examples lie in files and are read when they are
// asked for. What a file says of itself, and every label and token, was checked when it was opened;
// so a read fails only if a file changes or cannot be read any more.
class Examples {
 public:
  virtual ~Examples() = default;

  virtual std::int64_t count() const = 0;  // at least 1
  // Of one example. Elements are uint8 (images), floating-point numbers, or int64: all other whole
  // numbers are given as int64, whatever they are in the file.
  virtual const TensorType& input() const = 0;
  virtual const TensorType& target() const = 0;  // likewise, but uint8 becomes int64 too
  // If targets are whole numbers: they are from 0 on and below this. Otherwise 0.
  virtual std::int64_t classes() const = 0;

  // Reads one example, 0 <= which < count(). `into` is as long as its type says.
  virtual Status ReadInput(std::int64_t which, std::span<char> into) const = 0;
  virtual Status ReadTarget(std::int64_t which, std::span<char> into) const = 0;

  // Reads several examples, one behind the other.
  Status ReadInputs(std::span<const std::int64_t> which, std::span<char> into) const;
  Status ReadTargets(std::span<const std::int64_t> which, std::span<char> into) const;
};

// Some of the examples of others, in this order.
std::shared_ptr<const Examples> SubsetOf(std::shared_ptr<const Examples> all,
                                         std::vector<std::int64_t> which);

}  // namespace sluice::data
