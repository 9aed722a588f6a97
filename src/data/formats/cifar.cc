#include "data/formats/cifar.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::data {
namespace {

constexpr std::uint64_t kCifarRowBytes = 1 + 3 * 32 * 32;

}  // namespace

Result<CifarRows> ReadCifar(std::shared_ptr<const ByteSource> source, const std::string& path) {
  const std::uint64_t size = source->size();
  if (size == 0 || size % kCifarRowBytes != 0) {
    return InvalidArgument(fmt::format(
        "{}: expected a file of CIFAR-10 in its binary version, a multiple of {} bytes, found {}: "
        "is it truncated, or the version for Python or MATLAB?",
        path, kCifarRowBytes, size));
  }
  const Rows rows{.source = std::move(source),
                  .path = path,
                  .stride = kCifarRowBytes,
                  .count = static_cast<std::int64_t>(size / kCifarRowBytes)};
  CifarRows cifar{.images = rows, .labels = rows};
  cifar.images.begin = 1;
  cifar.images.type = {.dtype = DType::kUint8, .shape = {3, 32, 32}};
  cifar.labels.type = {.dtype = DType::kUint8, .shape = {}};
  return cifar;
}

}  // namespace sluice::data
