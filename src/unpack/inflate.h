#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/files/byte_source.h"
#include "base/result.h"

namespace sluice::unpack {

// Takes bytes in order. An error ends what hands them over.
using ByteSink = std::function<Status(std::span<const char>)>;

enum class Packing {
  kGzip,     // one or more gzip files, one behind the other
  kDeflate,  // as in zip files: without a header, one stream
};

// Unpacks all bytes of a source. Memory stays the same, however many bytes come out of it. Fails
// with corruption if the source is damaged, and with invalid_argument once more than `most_bytes`
// come out: what was handed over by then counts for nothing. Returns how many bytes came out.
Result<std::uint64_t> Inflate(const ByteSource& packed, Packing packing, std::uint64_t most_bytes,
                              const ByteSink& sink);

// The checksum of zip files, of a piece that follows others with this checksum; 0 at first.
std::uint32_t AddToCrc32(std::uint32_t before, std::span<const char> bytes);

}  // namespace sluice::unpack
