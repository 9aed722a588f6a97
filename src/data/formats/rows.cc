#include "data/formats/rows.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace sluice::data {

Status Rows::Read(std::int64_t first, std::span<char> into) const {
  SLUICE_CHECK(first >= 0 && first < count, "only rows of the file are read");
  const auto read = source->Read(begin + static_cast<std::uint64_t>(first) * stride, into);
  if (!read) return Fail(read.error().code, fmt::format("{}: {}", path, read.error().message));
  return {};
}

Result<Rows> RowsOfArray(std::shared_ptr<const ByteSource> source, const std::string& path,
                         std::uint64_t begin, const TensorType& array) {
  const auto bytes = BytesOf(array);
  if (!bytes || array.shape.empty()) {
    return InvalidArgument(
        fmt::format("{}: expected an array of examples, found {}", path, Text(array)));
  }
  if (*bytes == 0) {
    return InvalidArgument(
        fmt::format("{}: expected examples, found none: its array is {}", path, Text(array)));
  }
  const std::uint64_t found = source->size() - begin;
  if (found != *bytes) {
    return Corruption(fmt::format("{}: expected {} bytes of {} after its header, found {}: {}",
                                  path, *bytes, Text(array), found,
                                  found < *bytes ? "is it truncated?" : "is something appended?"));
  }
  const std::uint64_t row_bytes = *bytes / static_cast<std::uint64_t>(array.shape[0]);
  if (row_bytes > kMaxRowBytes) {
    return InvalidArgument(fmt::format("{}: expected examples of at most {} bytes, found {} in {}",
                                       path, kMaxRowBytes, row_bytes, Text(array)));
  }
  Rows rows{.source = std::move(source), .path = path, .begin = begin, .count = array.shape[0]};
  rows.type = {.dtype = array.dtype, .shape = {array.shape.begin() + 1, array.shape.end()}};
  rows.stride = row_bytes;
  return rows;
}

Result<std::shared_ptr<const ByteSource>> OpenShared(const std::string& path) {
  SLUICE_ASSIGN(std::unique_ptr<ByteSource> source, OpenFile(path));
  return std::shared_ptr<const ByteSource>(std::move(source));
}

}  // namespace sluice::data
