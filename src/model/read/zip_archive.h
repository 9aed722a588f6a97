#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/byte_source.h"
#include "base/result.h"

namespace sluice::model {

// A zip file with members that are stored uncompressed, as PyTorch writes them. Any part of a
// member can be read without the rest. Nothing is ever written to a path named by a member. The
// limits below bound the memory, whatever the file says. Members that are compressed (deflate) are
// accepted only where the caller unpacks them itself.
class ZipArchive {
 public:
  static constexpr std::size_t kMaxMembers = 200'000;
  static constexpr std::size_t kMaxDirectoryBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMaxNameBytes = 1024;

  struct Member {
    std::uint64_t header = 0;  // where its local header begins
    std::uint64_t size = 0;
    std::uint32_t checksum = 0;
    std::uint64_t packed_size = 0;  // what lies in the file; the same as `size` if it is stored
    bool is_deflated = false;
  };
  // What is said of the file's writer in messages, and what its members may be.
  struct Kind {
    std::string_view writer;
    bool may_be_deflated;
  };
  static constexpr Kind kTorchArchive = {"torch.export.save or sluice.export", false};

  // Fails with corruption if the file is damaged. Fails with invalid_argument if the file is not a
  // zip file, is compressed or encrypted in a way that its kind may not be, or exceeds the limits.
  static Result<ZipArchive> Open(std::unique_ptr<ByteSource> source, Kind kind = kTorchArchive);

  // Finds a member by its whole name. Null if there is no such member.
  const Member* Find(std::string_view name) const;
  const std::map<std::string, Member, std::less<>>& members() const { return members_; }

  // All bytes of a member, checked against its checksum. Fails with not_found if there is no such
  // member, and with invalid_argument if the member has more than `most` bytes. The member must be
  // stored, not deflated.
  Result<std::string> Read(std::string_view name, std::size_t most) const;
  // The bytes of a member as they lie in the file, to be read in parts. The source is valid while
  // the archive lives, even after the archive is moved.
  Result<std::unique_ptr<ByteSource>> OpenMember(const Member& member) const;

 private:
  ZipArchive(std::unique_ptr<ByteSource> source, Kind kind)
      : source_(std::move(source)), kind_(kind) {}
  Status ReadDirectory();
  Status AddMember(std::string_view& rest, std::uint64_t end);

  std::unique_ptr<ByteSource> source_;
  Kind kind_;
  std::map<std::string, Member, std::less<>> members_;
};

// The checksum of zip files (CRC-32 of ISO 3309).
std::uint32_t Crc32(std::string_view bytes);

}  // namespace sluice::model
