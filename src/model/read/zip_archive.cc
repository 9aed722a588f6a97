#include "model/read/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace sluice::model {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::uint32_t kEndMark64 = 0x06064b50;
constexpr std::uint32_t kLocatorMark64 = 0x07064b50;
constexpr std::uint32_t kDirectoryMark = 0x02014b50;
constexpr std::uint32_t kLocalMark = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kEndBytes64 = 56;
constexpr std::size_t kDirectoryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kMaxCommentBytes = 0xffff;
constexpr std::uint16_t kSizes64 = 1;  // the kind of the extra field with sizes of 64 bits
constexpr std::uint16_t kDeflated = 8;

static_assert(std::endian::native == std::endian::little);

// Reads a little-endian number. The caller makes sure that there are enough bytes.
template <typename T>
T At(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string_view Taken(std::string_view& rest, std::size_t length) {
  const std::string_view taken = rest.substr(0, length);
  rest.remove_prefix(length);
  return taken;
}

Result<std::string> ReadBytes(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  std::string bytes(length, '\0');
  SLUICE_TRY(source.Read(offset, bytes));
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t members = 0;
};

// Where the end record begins in `tail`. It is the last record whose stated comment length matches
// the number of bytes that follow the record.
std::optional<std::size_t> FindEnd(std::string_view tail) {
  if (tail.size() < kEndBytes) return std::nullopt;
  for (std::size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    if (At<std::uint32_t>(tail, at) != kEndMark) continue;
    if (At<std::uint16_t>(tail, at + 20) == tail.size() - at - kEndBytes) return at;
  }
  return std::nullopt;
}

Result<Directory> FindDirectory(const ByteSource& source, std::string_view writer) {
  const auto tail_size = static_cast<std::size_t>(
      std::min<std::uint64_t>(source.size(), kLocatorBytes + kEndBytes + kMaxCommentBytes));
  SLUICE_ASSIGN(const std::string tail, ReadBytes(source, source.size() - tail_size, tail_size));
  const std::optional<std::size_t> at = FindEnd(tail);
  if (!at) {
    return InvalidArgument(
        fmt::format("expected a zip file, found no directory at its end: did {} write the file, "
                    "and is it complete?",
                    writer));
  }
  const std::uint64_t end = source.size() - tail_size + *at;
  Directory found{.offset = At<std::uint32_t>(tail, *at + 16),
                  .size = At<std::uint32_t>(tail, *at + 12),
                  .members = At<std::uint16_t>(tail, *at + 10)};
  if (*at >= kLocatorBytes && At<std::uint32_t>(tail, *at - kLocatorBytes) == kLocatorMark64) {
    const auto where = At<std::uint64_t>(tail, *at - kLocatorBytes + 8);
    SLUICE_ASSIGN(const std::string large, ReadBytes(source, where, kEndBytes64));
    if (At<std::uint32_t>(large, 0) != kEndMark64)
      return Corruption("the end of its zip directory is damaged");
    found = {.offset = At<std::uint64_t>(large, 48),
             .size = At<std::uint64_t>(large, 40),
             .members = At<std::uint64_t>(large, 32)};
  }
  if (found.offset > end || found.size > end - found.offset)
    return Corruption("its zip directory lies outside of the file");
  if (found.size > ZipArchive::kMaxDirectoryBytes || found.members > ZipArchive::kMaxMembers) {
    return InvalidArgument(fmt::format(
        "expected at most {} members in a directory of {} bytes, found {} in {}",
        ZipArchive::kMaxMembers, ZipArchive::kMaxDirectoryBytes, found.members, found.size));
  }
  return found;
}

// Reads the sizes and places that do not fit into 32 bits. They are in an extra field, in the order
// of `large`.
Status ReadLargeSizes(std::string_view extra, std::span<std::uint64_t* const> large) {
  if (large.empty()) return {};
  while (extra.size() >= 4) {
    const auto kind = At<std::uint16_t>(extra, 0);
    const auto length = At<std::uint16_t>(extra, 2);
    if (length > extra.size() - 4) break;
    if (kind == kSizes64 && length >= 8 * large.size()) {
      for (std::size_t i = 0; i < large.size(); ++i)
        *large[i] = At<std::uint64_t>(extra, 4 + 8 * i);
      return {};
    }
    extra.remove_prefix(4 + std::size_t{length});
  }
  return Corruption("a member's size is missing in its zip directory");
}

class MemberSource final : public ByteSource {
 public:
  MemberSource(const ByteSource& file, std::uint64_t begin, std::uint64_t size)
      : file_(file), begin_(begin), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Status Read(std::uint64_t offset, std::span<char> into) const override {
    if (offset > size_ || into.size() > size_ - offset) {
      return Corruption(fmt::format("expected {} bytes at {} of a member, found {} in all",
                                    into.size(), offset, size_));
    }
    return file_.Read(begin_ + offset, into);
  }

 private:
  const ByteSource& file_;
  std::uint64_t begin_;
  std::uint64_t size_;
};

// Whether a name stays within its folder. Sluice never writes to such a path, but another tool that
// unpacks the file may be less careful.
bool IsPlain(std::string_view name) {
  if (name.empty() || name.front() == '/') return false;
  if (name.find_first_of(std::string_view("\\\0", 2)) != std::string_view::npos) return false;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find('/', from), name.size());
    const std::string_view part = name.substr(from, to - from);
    if (part == "." || part == "..") return false;
    from = to + 1;
  }
  return true;
}

}  // namespace

// Handles eight bytes at a time. Table t has the effect of a byte that is followed by t more bytes.
std::uint32_t Crc32(std::string_view bytes) {
  static constexpr auto kTables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) * 0xedb88320U);
      tables[0][i] = value;
    }
    for (std::size_t t = 1; t < tables.size(); ++t)
      for (std::uint32_t i = 0; i < 256; ++i)
        tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    return tables;
  }();
  std::uint32_t crc = ~0U;
  while (bytes.size() >= 8) {
    const std::uint64_t word = At<std::uint64_t>(bytes, 0) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

Result<ZipArchive> ZipArchive::Open(std::unique_ptr<ByteSource> source, Kind kind) {
  ZipArchive archive(std::move(source), kind);
  SLUICE_TRY(archive.ReadDirectory());
  return archive;
}

Status ZipArchive::ReadDirectory() {
  SLUICE_ASSIGN(const Directory directory, FindDirectory(*source_, kind_.writer));
  SLUICE_ASSIGN(const std::string bytes,
                ReadBytes(*source_, directory.offset, static_cast<std::size_t>(directory.size)));
  std::string_view rest = bytes;
  for (std::uint64_t i = 0; i < directory.members; ++i)
    SLUICE_TRY(AddMember(rest, directory.offset));
  if (!rest.empty()) {
    return Corruption(
        fmt::format("expected {} members in its zip directory, found more", directory.members));
  }
  return {};
}

Status ZipArchive::AddMember(std::string_view& rest, std::uint64_t end) {
  if (rest.size() < kDirectoryBytes || At<std::uint32_t>(rest, 0) != kDirectoryMark)
    return Corruption("its zip directory is damaged");
  const std::string_view fixed = Taken(rest, kDirectoryBytes);
  const std::size_t name_size = At<std::uint16_t>(fixed, 28);
  const std::size_t extra_size = At<std::uint16_t>(fixed, 30);
  const std::size_t comment_size = At<std::uint16_t>(fixed, 32);
  if (rest.size() < name_size + extra_size + comment_size)
    return Corruption("its zip directory is damaged");
  const std::string name(Taken(rest, name_size));
  const std::string_view extra = Taken(rest, extra_size);
  rest.remove_prefix(comment_size);

  if (name.size() > kMaxNameBytes || !IsPlain(name)) {
    return InvalidArgument(fmt::format(
        "expected names of members such as 'model/byteorder', of at most {} bytes, found '{}'",
        kMaxNameBytes, Shown(name)));
  }
  Member member{.header = At<std::uint32_t>(fixed, 42),
                .size = At<std::uint32_t>(fixed, 24),
                .checksum = At<std::uint32_t>(fixed, 16)};
  member.packed_size = At<std::uint32_t>(fixed, 20);
  std::vector<std::uint64_t*> large;
  for (std::uint64_t* each : {&member.size, &member.packed_size, &member.header})
    if (*each == 0xffffffff) large.push_back(each);
  SLUICE_TRY(ReadLargeSizes(extra, large));
  const bool encrypted = (At<std::uint16_t>(fixed, 8) & 1) != 0;
  const auto method = At<std::uint16_t>(fixed, 10);
  member.is_deflated = method == kDeflated && kind_.may_be_deflated;
  if (encrypted || (method != 0 && !member.is_deflated)) {
    return InvalidArgument(fmt::format(
        "expected members that are stored{}, found '{}', which is {}: write it again with {}",
        kind_.may_be_deflated ? " or deflated" : "", Shown(name),
        encrypted ? "encrypted" : "compressed", kind_.writer));
  }
  if (!member.is_deflated && member.packed_size != member.size) {
    return Corruption(
        fmt::format("'{}': the archive's zip directory gives two sizes for this member, {} and {}",
                    Shown(name), member.size, member.packed_size));
  }
  if (member.header > end || member.packed_size > end - member.header)
    return Corruption(fmt::format("'{}' lies outside of the file", Shown(name)));
  if (!members_.emplace(name, member).second)
    return Corruption(fmt::format("'{}' is there twice", Shown(name)));
  return {};
}

const ZipArchive::Member* ZipArchive::Find(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

Result<std::string> ZipArchive::Read(std::string_view name, std::size_t most) const {
  const Member* member = Find(name);
  if (member == nullptr) return NotFound(fmt::format("'{}' is missing", Shown(name)));
  SLUICE_CHECK(!member->is_deflated, "only stored members are read whole");
  if (member->size > most) {
    return InvalidArgument(
        fmt::format("'{}': expected at most {} bytes, found {}", Shown(name), most, member->size));
  }
  SLUICE_ASSIGN(const std::unique_ptr<ByteSource> source, OpenMember(*member));
  SLUICE_ASSIGN(std::string bytes, ReadBytes(*source, 0, static_cast<std::size_t>(member->size)));
  if (Crc32(bytes) != member->checksum)
    return Corruption(fmt::format("'{}' is damaged: its checksum differs", Shown(name)));
  return bytes;
}

Result<std::unique_ptr<ByteSource>> ZipArchive::OpenMember(const Member& member) const {
  SLUICE_ASSIGN(const std::string local, ReadBytes(*source_, member.header, kLocalBytes));
  if (At<std::uint32_t>(local, 0) != kLocalMark)
    return Corruption(
        fmt::format("expected the header of a member at {}, found something else", member.header));
  const std::uint64_t data =
      member.header + kLocalBytes + At<std::uint16_t>(local, 26) + At<std::uint16_t>(local, 28);
  return std::make_unique<MemberSource>(*source_, data, member.packed_size);
}

}  // namespace sluice::model
