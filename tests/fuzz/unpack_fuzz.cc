// rooms: unpack

// Any bytes at all are a gzip file, an .npz file or a PNG sheet, or are refused with a message.
// What comes out of them is bounded. The first byte of the input says what the others are.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/read/zip_archive.h"
#include "unpack/inflate.h"
#include "unpack/png_sheet.h"

namespace {

using namespace sluice;
using namespace sluice::unpack;

constexpr std::uint64_t kMostUnpacked = 1 << 20;
constexpr std::uint64_t kMostPixels = 1 << 20;

void CheckRefusal(const Error& error) {
  if (error.message.empty()) std::abort();
  if (error.code != ErrorCode::kInvalidArgument && error.code != ErrorCode::kCorruption)
    std::abort();
}

void TryPacked(const ByteSource& packed, Packing packing) {
  std::uint64_t bytes = 0;
  const auto done =
      Inflate(packed, packing, kMostUnpacked, [&](std::span<const char> piece) -> Status {
        if (piece.empty()) std::abort();
        bytes += piece.size();
        return {};
      });
  if (bytes > kMostUnpacked || (done && *done != bytes)) std::abort();
  if (!done) CheckRefusal(done.error());
}

void TryArrays(std::string bytes) {
  const auto archive = model::ZipArchive::Open(FromMemory(std::move(bytes)), {"numpy.savez", true});
  if (!archive) return CheckRefusal(archive.error());
  for (const auto& [name, member] : archive->members()) {
    const auto packed = archive->OpenMember(member);
    if (!packed) {
      CheckRefusal(packed.error());
    } else if (member.is_deflated) {
      TryPacked(**packed, Packing::kDeflate);
    }
  }
}

void TryPicture(std::string bytes) {
  auto sheet = PngSheet::Open(FromMemory(std::move(bytes)));
  if (!sheet) return CheckRefusal(sheet.error());
  std::string row(std::size_t{sheet->width()} * sheet->channels(), '\0');
  for (std::uint64_t y = 0; y < sheet->height() && y * row.size() < kMostPixels; ++y) {
    const Status read = sheet->ReadRow(row);
    if (!read) return CheckRefusal(read.error());
  }
}

// Checksums would keep most changes from being seen.
void MendChecksums(std::string& png) {
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<unsigned char>(png[at + i]);
    return value;
  };
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t length = number(at);
    if (length > png.size() - at - 12) return;
    const std::uint32_t checksum = model::Crc32(std::string_view(png).substr(at + 4, 4 + length));
    for (std::size_t i = 0; i < 4; ++i)
      png[at + 8 + length + i] = static_cast<char>(checksum >> (24 - 8 * i));
    at += 12 + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 5) {
    case 0: TryPacked(*FromMemory(std::move(bytes)), Packing::kGzip); break;
    case 1: TryPacked(*FromMemory(std::move(bytes)), Packing::kDeflate); break;
    case 2: TryArrays(std::move(bytes)); break;
    case 3: TryPicture(std::move(bytes)); break;
    default: MendChecksums(bytes); TryPicture(std::move(bytes));
  }
  return 0;
}
