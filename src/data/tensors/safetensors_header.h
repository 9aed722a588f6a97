#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

// A tensor in a safetensors file, and where its elements are.
struct StoredTensor {
  std::string name;
  TensorType type;
  std::uint64_t begin = 0;  // after the header
  std::uint64_t bytes = 0;

  bool operator==(const StoredTensor&) const = default;
};

// What a safetensors file says of itself: 8 bytes with the length of a JSON text, that text, and
// then the elements of all tensors, one after the other.
struct SafetensorsHeader {
  // Bounds on what is read. A checkpoint of 100,000 tensors has a text of 10 MB. A text that is all
  // values takes 8 times its size in memory while it is read.
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;
  static constexpr std::size_t kMaxTensors = 250'000;
  static constexpr std::size_t kMaxNameBytes = 1024;
  static constexpr std::size_t kMaxAxes = 64;

  std::vector<StoredTensor> tensors;  // in the order of their elements; no gap, no overlap
  std::map<std::string, std::string> metadata;

  // Reads the JSON text of a file that has `data_bytes` bytes after it. Fails with corruption if
  // the text contradicts itself or that size, with invalid_argument if it exceeds the bounds above
  // or has a type of elements that is not in DType.
  static Result<SafetensorsHeader> Parse(std::string_view json, std::uint64_t data_bytes);

  // The header of these tensors, which it lays out: larger elements come first, so that all are
  // aligned, then by name. So the same tensors always give the same file. Fails with
  // invalid_argument if a name is there twice or exceeds the bounds.
  static Result<SafetensorsHeader> LayOut(std::vector<StoredTensor> tensors,
                                          std::map<std::string, std::string> metadata);

  // The JSON text, padded with blanks so that the elements begin at a multiple of 8 in the file.
  std::string Json() const;
};

}  // namespace sluice::data
