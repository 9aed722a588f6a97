#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice::model {

// Where the bytes of an archive are.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills all of `into`, or fails; what lies past the end fails with corruption.
  virtual Status Read(std::uint64_t offset, std::span<char> into) const = 0;
};

// Fails with not_found where there is none, invalid_argument where it is no regular file.
Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);
std::unique_ptr<ByteSource> FromMemory(std::string bytes);

}  // namespace sluice::model
