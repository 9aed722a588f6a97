#include "unpack/packed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/files/byte_source.h"
#include "base/text.h"
#include "model/read/zip_archive.h"
#include "unpack/inflate.h"

namespace sluice::unpack {
namespace {

constexpr std::uint64_t kCopiedAtOnce = std::uint64_t{1} << 20;
constexpr model::ZipArchive::Kind kNpzFile = {"numpy.savez", true};

std::unexpected<Error> OfSource(const Source& source, const Error& error) {
  if (error.message.starts_with(source.path)) return std::unexpected(error);
  return Fail(error.code, fmt::format("{}: {}", source.path, error.message));
}

Status HandOver(const ByteSource& from, const ByteSink& sink) {
  std::string bytes;
  for (std::uint64_t at = 0; at < from.size(); at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(kCopiedAtOnce, from.size() - at)));
    SLUICE_TRY(from.Read(at, bytes));
    SLUICE_TRY(sink(bytes));
  }
  return {};
}

// The mark of a tar file lies in its first block.
bool LooksLikeTar(std::span<const char> first_bytes) {
  constexpr std::size_t kMarkAt = 257;
  const std::string_view bytes(first_bytes.data(), first_bytes.size());
  return bytes.size() > kMarkAt && bytes.substr(kMarkAt).starts_with("ustar");
}

Status UnpackMember(const model::ZipArchive& archive, const std::string& name,
                    const model::ZipArchive::Member& member, Output& output) {
  SLUICE_ASSIGN(const auto packed, archive.OpenMember(member));
  std::uint32_t checksum = 0;
  std::uint64_t bytes = 0;
  const ByteSink sink = [&](std::span<const char> piece) -> Status {
    checksum = AddToCrc32(checksum, piece);
    bytes += piece.size();
    return output.Write(piece);
  };
  if (member.is_deflated) {
    // The directory says how large the member is. More is not unpacked.
    SLUICE_TRY(Inflate(*packed, Packing::kDeflate, member.size, sink));
  } else {
    SLUICE_TRY(HandOver(*packed, sink));
  }
  if (bytes != member.size || checksum != member.checksum) {
    return Corruption(fmt::format("'{}' is damaged: expected {} bytes with its checksum, found {}",
                                  Shown(name), member.size, bytes));
  }
  return {};
}

Status UnpackMembers(const Source& source, Output& output) {
  SLUICE_ASSIGN(auto file, OpenFile(source.path));
  SLUICE_ASSIGN(const auto archive, model::ZipArchive::Open(std::move(file), kNpzFile));
  if (archive.members().empty()) return InvalidArgument("expected arrays, found none");
  for (const auto& [name, member] : archive.members()) {
    if (!name.ends_with(".npy")) {
      return InvalidArgument(
          fmt::format("expected an .npz file, whose members are .npy files, found '{}' in it: "
                      "unpack it with unzip, and import what is in it",
                      Shown(name)));
    }
    SLUICE_TRY(output.Begin(name, source.name));
    SLUICE_TRY(UnpackMember(archive, name, member, output));
    SLUICE_TRY(output.End());
  }
  return {};
}

Status UnpackGzipMember(const Source& source, Output& output) {
  constexpr std::string_view kEnding = ".gz";
  if (!source.name.ends_with(kEnding)) {
    return InvalidArgument(
        fmt::format("expected a packed file whose name ends with {}, found '{}': rename it",
                    kEnding, source.name));
  }
  SLUICE_ASSIGN(const auto file, OpenFile(source.path));
  SLUICE_TRY(output.Begin(source.name.substr(0, source.name.size() - kEnding.size()), source.name));
  bool is_first = true;
  const ByteSink sink = [&](std::span<const char> piece) -> Status {
    if (std::exchange(is_first, false) && LooksLikeTar(piece)) {
      return InvalidArgument(
          "expected a packed file of data, found a tar file in it: unpack it with 'tar -xf', and "
          "import what is in it");
    }
    return output.Write(piece);
  };
  SLUICE_TRY(Inflate(*file, Packing::kGzip, UINT64_MAX, sink));
  return output.End();
}

Status CopyFile(const Source& source, Output& output) {
  SLUICE_ASSIGN(const auto file, OpenFile(source.path));
  SLUICE_TRY(output.Begin(source.name, source.name));
  SLUICE_TRY(HandOver(*file, [&](std::span<const char> piece) { return output.Write(piece); }));
  return output.End();
}

Status WithPath(const Source& source, Status status) {
  if (!status) return OfSource(source, status.error());
  return status;
}

}  // namespace

Status CopyPlain(const Source& source, Output& output) {
  return WithPath(source, CopyFile(source, output));
}
Status UnpackGzip(const Source& source, Output& output) {
  return WithPath(source, UnpackGzipMember(source, output));
}
Status UnpackNpz(const Source& source, Output& output) {
  return WithPath(source, UnpackMembers(source, output));
}

}  // namespace sluice::unpack
