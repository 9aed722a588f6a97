#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/batches/augmentation.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

enum class DataKind : std::uint8_t {
  kGuess,    // from names and first bytes
  kIdx,      // images and labels of MNIST and its like
  kCifar10,  // the binary version
  kNpy,      // arrays of inputs and of targets
  kTokens,   // numbers without a header
  kText,     // bytes, a vocabulary of 256
};

// "guess", "idx", "cifar10", "npy", "tokens", "text"
std::string_view Name(DataKind kind);
std::optional<DataKind> DataKindOf(std::string_view name);

// The files of one part of the data, in order.
struct DataFiles {
  std::vector<std::string> inputs;
  // As many as inputs for IDX and .npy. Empty for the other kinds, whose files hold both.
  std::vector<std::string> targets;

  bool operator==(const DataFiles&) const = default;
};

enum class NormaliseBy : std::uint8_t {
  kNothing,  // images are in [0, 1], other numbers as they are
  kMeasure,  // mean and deviation of the training examples
  kGiven,
};

// What data a study trains on. All that is not said has a usual value. Paths are absolute, or
// relative to the working folder. Whether it makes sense is checked by OpenDataSet, whose messages
// name the fields as a study file would.
struct DataSpec {
  DataKind kind = DataKind::kGuess;
  // A folder whose files have usual names (LayoutOfFolder): it gives the parts that are not named
  // below. Or one file of training examples. May be empty if `train` is named.
  std::string path = {};
  DataFiles train = {};
  DataFiles validation = {};
  DataFiles test = {};

  // Parts of the training examples that become validation and test examples, for parts without
  // files. They are drawn with `split_seed`; of tokens and texts the last examples are taken.
  double validation_fraction = 0;
  double test_fraction = 0;
  std::uint64_t split_seed = 0;

  std::optional<std::int64_t> classes = {};  // else as many as the training labels need
  std::int64_t window = 0;                   // tokens and texts: how long an example is
  std::int64_t vocabulary = 0;               // tokens
  DType token_type = DType::kUint16;         // uint8, uint16, uint32, int32 or int64

  NormaliseBy normalise = NormaliseBy::kNothing;
  std::vector<double> mean = {};       // kGiven
  std::vector<double> deviation = {};  // kGiven
  Augmentation augmentation = {};
};

}  // namespace sluice::data
