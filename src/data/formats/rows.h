#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/files/byte_source.h"
#include "base/result.h"
#include "data/tensors/tensor_type.h"

namespace sluice::data {

// An example is read at once, and its elements may take 8 times their size in memory.
constexpr std::uint64_t kMaxRowBytes = std::uint64_t{64} << 20;

// Rows of one type in a file, at equal distances: the images of an IDX file, or the labels between
// the images of a CIFAR file. All of them lie within the file.
struct Rows {
  std::shared_ptr<const ByteSource> source;  // two kinds of rows may lie in one file
  std::string path;                          // for messages
  std::uint64_t begin = 0;                   // of the first row
  std::uint64_t stride = 0;                  // from one row to the next
  std::int64_t count = 0;
  TensorType type = {};  // of one row

  // Reads `into.size()` bytes from the first of row `first` on. They may go on into further rows if
  // these lie without gaps. Messages begin with the path.
  Status Read(std::int64_t first, std::span<char> into) const;
};

// The rows of a file that is a table: element [i] of an array of `shape` is row i. The elements
// begin at `begin`, and the file ends with them. Fails with corruption if it does not, with
// invalid_argument if there are no rows, or rows have no elements or more than kMaxRowBytes.
Result<Rows> RowsOfArray(std::shared_ptr<const ByteSource> source, const std::string& path,
                         std::uint64_t begin, const TensorType& array);

// Opens a file. Messages begin with the path.
Result<std::shared_ptr<const ByteSource>> OpenShared(const std::string& path);

}  // namespace sluice::data
