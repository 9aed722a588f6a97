#include "data/formats/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::data {
namespace {

constexpr std::size_t kIdxMarkBytes = 4;
constexpr std::size_t kMaxIdxAxes = 4;
constexpr unsigned char kIdxUint8 = 0x08;
constexpr unsigned char kIdxInt8 = 0x09;

unsigned char ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::string HexOf(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == 0 ? "" : " ", ByteAt(bytes, i));
  return text;
}

}  // namespace

bool LooksLikeIdx(std::string_view first_bytes) {
  if (first_bytes.size() < kIdxMarkBytes || first_bytes[0] != 0 || first_bytes[1] != 0)
    return false;
  const unsigned char type = ByteAt(first_bytes, 2);
  const unsigned char axes = ByteAt(first_bytes, 3);
  return type >= kIdxUint8 && type <= 0x0e && axes >= 1 && axes <= kMaxIdxAxes;
}

Result<Rows> ReadIdx(std::shared_ptr<const ByteSource> source, const std::string& path) {
  std::string head(std::min<std::uint64_t>(source->size(), kIdxMarkBytes + 4 * kMaxIdxAxes), '\0');
  if (const auto read = source->Read(0, head); !read)
    return Fail(read.error().code, fmt::format("{}: {}", path, read.error().message));
  if (!LooksLikeIdx(head)) {
    const bool packed = head.starts_with("\x1f\x8b");
    return InvalidArgument(fmt::format(
        "{}: expected an IDX file, which begins with the bytes 00 00 08 and the number of its axes "
        "(1 to {}), found {}{}",
        path, kMaxIdxAxes, head.empty() ? "an empty file" : HexOf(head.substr(0, kIdxMarkBytes)),
        packed ? ", which is gzip: unpack it with 'sluice data import'" : ""));
  }
  const unsigned char type = ByteAt(head, 2);
  if (type != kIdxUint8 && type != kIdxInt8) {
    return InvalidArgument(
        fmt::format("{}: expected an IDX file of bytes (its third byte is 08), found {:02x}: "
                    "convert it to .npy with NumPy",
                    path, type));
  }
  const std::size_t axes = ByteAt(head, 3);
  const std::size_t begin = kIdxMarkBytes + 4 * axes;
  if (head.size() < begin) {
    return Corruption(fmt::format("{}: expected a header of {} bytes, found {}: is it truncated?",
                                  path, begin, head.size()));
  }
  TensorType array{.dtype = type == kIdxUint8 ? DType::kUint8 : DType::kInt8, .shape = {}};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i)
      size = size << 8 | ByteAt(head, kIdxMarkBytes + 4 * axis + i);
    array.shape.push_back(size);
  }
  return RowsOfArray(std::move(source), path, begin, array);
}

}  // namespace sluice::data
