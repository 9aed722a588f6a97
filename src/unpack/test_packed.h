#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/test_files.h"
#include "model/read/test_zip.h"

namespace sluice::unpack {

// Packed bytes for tests: as gzip, or as zip files have them.
inline std::string Deflated(std::string_view bytes, bool as_gzip) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, as_gzip ? 31 : -15, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A zip file of one deflated member, which claims this size.
inline std::string DeflatedZip(const std::string& name, std::string_view bytes,
                               std::uint32_t claimed) {
  using model::AppendBytes;
  const std::string packed = Deflated(bytes, false);
  const auto common = [&](std::string& to) {
    AppendBytes<std::uint16_t>(to, 20);
    AppendBytes<std::uint16_t>(to, 0);
    AppendBytes<std::uint16_t>(to, 8);
    AppendBytes<std::uint32_t>(to, 0);
    AppendBytes(to, model::Crc32(bytes));
    AppendBytes(to, static_cast<std::uint32_t>(packed.size()));
    AppendBytes(to, claimed);
    AppendBytes(to, static_cast<std::uint16_t>(name.size()));
    AppendBytes<std::uint16_t>(to, 0);
  };
  std::string zip;
  AppendBytes<std::uint32_t>(zip, 0x04034b50);
  common(zip);
  zip += name + packed;
  const std::size_t begin = zip.size();
  AppendBytes<std::uint32_t>(zip, 0x02014b50);
  AppendBytes<std::uint16_t>(zip, 20);
  common(zip);
  for (int i = 0; i < 5; ++i) AppendBytes<std::uint16_t>(zip, 0);
  AppendBytes<std::uint32_t>(zip, 0);
  zip += name;
  const std::size_t size = zip.size() - begin;
  AppendBytes<std::uint32_t>(zip, 0x06054b50);
  AppendBytes<std::uint32_t>(zip, 0);
  for (int i = 0; i < 2; ++i) AppendBytes<std::uint16_t>(zip, 1);
  AppendBytes(zip, static_cast<std::uint32_t>(size));
  AppendBytes(zip, static_cast<std::uint32_t>(begin));
  AppendBytes<std::uint16_t>(zip, 0);
  return zip;
}

struct TestPicture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int colour = 2;  // RGB; 0: gray, 6: RGB with alpha
  std::string pixels = {};
  int depth = 8;
  int interlaced = 0;

  std::string Bytes() const {
    std::string rows;
    const std::size_t row = height == 0 ? 0 : pixels.size() / height;
    for (std::size_t y = 0; y < height; ++y) rows += '\0' + pixels.substr(y * row, row);
    // A zlib stream is a deflate stream with two bytes before it and a checksum after it.
    std::string packed = "\x78\x9c" + Deflated(rows, false);
    const auto checksum = static_cast<std::uint32_t>(
        adler32(1, reinterpret_cast<const Bytef*>(rows.data()), static_cast<uInt>(rows.size())));
    packed += data::BigEndian(checksum);
    std::string head = data::BigEndian(width) + data::BigEndian(height);
    for (const int byte : {depth, colour, 0, 0, interlaced}) head += static_cast<char>(byte);
    return "\x89PNG\r\n\x1a\n" + Chunk("IHDR", head) + Chunk("IDAT", packed) + Chunk("IEND", "");
  }

 private:
  static std::string Chunk(const std::string& type, const std::string& bytes) {
    const std::string body = type + bytes;
    return data::BigEndian(static_cast<std::uint32_t>(bytes.size())) + body +
           data::BigEndian(model::Crc32(body));
  }
};

}  // namespace sluice::unpack
