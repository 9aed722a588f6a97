#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "data/formats/rows.h"

namespace sluice::data {

struct CifarRows {
  Rows images;  // uint8 [3, 32, 32]
  Rows labels;  // uint8 []
};

// Reads a file of CIFAR-10 in its binary version: for each image a label and 3072 bytes. It has no
// header. Fails with invalid_argument if the file is empty or its size is no multiple of that.
Result<CifarRows> ReadCifar(std::shared_ptr<const ByteSource> source, const std::string& path);

constexpr std::int64_t kCifarClasses = 10;

}  // namespace sluice::data
