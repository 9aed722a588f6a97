#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "model/read/byte_source.h"

namespace sluice::model {

// A zip file whose members are stored as they are, as PyTorch writes them: any part of a member can be read
// without the rest. Nothing is ever written to a path of its names. Memory is bounded by what the limits below
// allow, whatever the file says.
class ZipArchive {
 public:
  static constexpr std::size_t kMaxMembers = 200'000;
  static constexpr std::size_t kMaxDirectoryBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMaxNameBytes = 1024;

  struct Member {
    std::uint64_t header = 0;  // where its local header begins
    std::uint64_t size = 0;
    std::uint32_t checksum = 0;
  };

  // Fails with corruption, or with invalid_argument where it is no zip file or one that is compressed or encrypted.
  static Result<ZipArchive> Open(std::unique_ptr<ByteSource> source);

  // By its whole name.
  const Member* Find(std::string_view name) const;
  const std::map<std::string, Member, std::less<>>& members() const { return members_; }

  // All of it, if that is no more than `most` bytes; its checksum is held against it. Fails with not_found where there
  // is none of this name.
  Result<std::string> Read(std::string_view name, std::size_t most) const;
  // Its bytes, to be read in parts; of use while the archive lives, wherever that is moved.
  Result<std::unique_ptr<ByteSource>> OpenMember(const Member& member) const;

 private:
  explicit ZipArchive(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  Status ReadDirectory();
  Status AddMember(std::string_view& rest, std::uint64_t end);

  std::unique_ptr<ByteSource> source_;
  std::map<std::string, Member, std::less<>> members_;
};

// As zip files have it (CRC-32 of ISO 3309).
std::uint32_t Crc32(std::string_view bytes);

}  // namespace sluice::model
