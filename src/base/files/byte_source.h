#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice {

// The bytes of a file or of memory, to be read in parts.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills all of `into`, or fails. A read past the end fails with corruption.
  virtual Status Read(std::uint64_t offset, std::span<char> into) const = 0;
};

// Fails with not_found if there is no such file, and with invalid_argument if the file cannot be
// opened or is not a regular file.
Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);
std::unique_ptr<ByteSource> FromMemory(std::string bytes);

}  // namespace sluice
