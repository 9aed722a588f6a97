#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "model/read/zip_archive.h"

namespace sluice::model {

// Appends the bytes of a value, the lowest byte first.
template <typename T>
void AppendBytes(std::string& bytes, T value) {
  char raw[sizeof(value)];
  std::memcpy(raw, &value, sizeof(value));
  bytes.append(raw, sizeof(value));
}

struct TestMember {
  std::string name;
  std::string bytes = {};
  std::uint16_t method = 0;  // of compression
  std::uint16_t flags = 0;
  bool large = false;  // sizes and place are written as for a file beyond 4 GiB
};

struct TestZip {
  std::vector<TestMember> members = {};
  std::string comment = {};
  bool large = false;  // the same for the sizes and the place of the directory

  std::string Bytes() const {
    std::string bytes;
    std::string directory;
    for (const TestMember& member : members) {
      AppendDirectory(member, bytes.size(), directory);
      AppendLocal(member, bytes);
    }
    const std::size_t begin = bytes.size();
    bytes += directory;
    if (large) AppendLargeEnd(begin, directory.size(), bytes);
    AppendBytes<std::uint32_t>(bytes, 0x06054b50);
    AppendBytes<std::uint32_t>(bytes, 0);  // disks
    for (int i = 0; i < 2; ++i)
      AppendBytes<std::uint16_t>(bytes,
                                 large ? 0xffff : static_cast<std::uint16_t>(members.size()));
    AppendBytes<std::uint32_t>(bytes, large ? ~0U : static_cast<std::uint32_t>(directory.size()));
    AppendBytes<std::uint32_t>(bytes, large ? ~0U : static_cast<std::uint32_t>(begin));
    AppendBytes<std::uint16_t>(bytes, static_cast<std::uint16_t>(comment.size()));
    return bytes + comment;
  }

 private:
  static void AppendCommon(const TestMember& member, std::string& bytes) {
    const auto size = static_cast<std::uint32_t>(member.bytes.size());
    AppendBytes<std::uint16_t>(bytes, 20);  // version
    AppendBytes(bytes, member.flags);
    AppendBytes(bytes, member.method);
    AppendBytes<std::uint32_t>(bytes, 0);  // time
    AppendBytes(bytes, Crc32(member.bytes));
    for (int i = 0; i < 2; ++i) AppendBytes<std::uint32_t>(bytes, member.large ? ~0U : size);
    AppendBytes(bytes, static_cast<std::uint16_t>(member.name.size()));
  }
  static void AppendLocal(const TestMember& member, std::string& bytes) {
    AppendBytes<std::uint32_t>(bytes, 0x04034b50);
    AppendCommon(member, bytes);
    AppendBytes<std::uint16_t>(bytes, 3);  // length of an extra field, which readers skip
    bytes += member.name + "pad" + member.bytes;
  }
  static void AppendDirectory(const TestMember& member, std::uint64_t place, std::string& bytes) {
    AppendBytes<std::uint32_t>(bytes, 0x02014b50);
    AppendBytes<std::uint16_t>(bytes, 20);
    AppendCommon(member, bytes);
    AppendBytes<std::uint16_t>(bytes, member.large ? 32 : 0);
    for (int i = 0; i < 5; ++i) AppendBytes<std::uint16_t>(bytes, 0);  // comment, disk, attributes
    AppendBytes<std::uint32_t>(bytes, member.large ? ~0U : static_cast<std::uint32_t>(place));
    bytes += member.name;
    if (!member.large) return;
    AppendBytes<std::uint32_t>(bytes, 0x9999);  // another extra field, empty
    AppendBytes<std::uint16_t>(bytes, 1);
    AppendBytes<std::uint16_t>(bytes, 24);
    AppendBytes<std::uint64_t>(bytes, member.bytes.size());
    AppendBytes<std::uint64_t>(bytes, member.bytes.size());
    AppendBytes<std::uint64_t>(bytes, place);
  }
  void AppendLargeEnd(std::uint64_t begin, std::uint64_t size, std::string& bytes) const {
    const std::uint64_t place = bytes.size();
    AppendBytes<std::uint32_t>(bytes, 0x06064b50);
    AppendBytes<std::uint64_t>(bytes, 44);
    AppendBytes<std::uint32_t>(bytes, 0);  // versions
    AppendBytes<std::uint64_t>(bytes, 0);  // disks
    for (int i = 0; i < 2; ++i) AppendBytes<std::uint64_t>(bytes, members.size());
    AppendBytes(bytes, size);
    AppendBytes(bytes, begin);
    AppendBytes<std::uint32_t>(bytes, 0x07064b50);
    AppendBytes<std::uint32_t>(bytes, 0);  // disk
    AppendBytes(bytes, place);
    AppendBytes<std::uint32_t>(bytes, 1);  // disks
  }
};

}  // namespace sluice::model
