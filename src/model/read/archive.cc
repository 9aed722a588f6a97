#include "model/read/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/read/program_limits.h"
#include "model/read/program_reader.h"
#include "model/read/strided_reader.h"

namespace sluice::model {
namespace {

// The limit for the small members that hold the format, its version, and the order of bytes.
constexpr std::size_t kMaxNoteBytes = 64;

// Whether the tensor lies within a member of `held` elements.
bool LiesWithin(const Parameter& parameter, std::int64_t held) {
  if (std::ranges::find(parameter.sizes, 0) != parameter.sizes.end()) return true;
  std::int64_t last = parameter.storage.offset;
  if (last >= held) return false;
  for (std::size_t i = 0; i < parameter.sizes.size(); ++i) {
    const std::int64_t steps = parameter.sizes[i] - 1;
    const std::int64_t stride = parameter.storage.strides[i];
    if (steps == 0 || stride == 0) continue;
    if (stride > (held - 1 - last) / steps) return false;
    last += steps * stride;
  }
  return true;
}

}  // namespace

Result<Archive> Archive::Open(const std::string& path) {
  SLUICE_ASSIGN(std::unique_ptr<ByteSource> source, OpenFile(path));
  return Open(std::move(source), path);
}

Result<Archive> Archive::Open(std::unique_ptr<ByteSource> source, const std::string& path) {
  Result<ZipArchive> zip = ZipArchive::Open(std::move(source));
  if (!zip) return Fail(zip.error().code, fmt::format("{}: {}", path, zip.error().message));
  Archive archive(*std::move(zip), path);
  Status read = archive.ReadGraph();
  if (read) read = archive.CheckStorages();
  if (!read) return archive.Failed(read.error());
  return archive;
}

std::unexpected<Error> Archive::Failed(const Error& error) const {
  return Fail(error.code, fmt::format("{}: {}", path_, error.message));
}

Status Archive::FindRoot() {
  constexpr std::string_view kFormat = "/archive_format";
  for (const auto& [name, member] : zip_.members()) {
    if (!name.ends_with(kFormat) || name.find('/') != name.size() - kFormat.size()) continue;
    if (!root_.empty()) return InvalidArgument("expected one folder with a program, found several");
    root_ = name.substr(0, name.size() - kFormat.size() + 1);
  }
  std::string format;
  if (!root_.empty()) {
    SLUICE_ASSIGN(format, ReadNote("archive_format"));
  }
  if (format != "pt2") {
    return InvalidArgument(
        "expected an archive of torch.export.save, found another zip file: a checkpoint of "
        "torch.save holds no program, and PyTorch before 2.11 may have exported it in another way");
  }
  SLUICE_ASSIGN(const std::string version, ReadNote("archive_version"));
  if (version != "0") {
    return InvalidArgument(fmt::format(
        "expected version 0 of the archive, found '{}': export it with PyTorch 2.11 to 2.13",
        Shown(version)));
  }
  SLUICE_ASSIGN(const std::string order, ReadNote("byteorder"));
  if (order != "little") {
    return InvalidArgument(fmt::format(
        "expected tensors with the lowest byte first, found '{}': export it on another machine",
        Shown(order)));
  }
  return {};
}

Status Archive::ReadGraph() {
  SLUICE_TRY(FindRoot());
  const std::string folder = root_ + "models/";
  SLUICE_ASSIGN(const std::string name, NameOfProgram(folder));
  SLUICE_ASSIGN(const std::string program, zip_.Read(folder + name + ".json", kMaxProgramBytes));
  const std::string list = fmt::format("{}data/weights/{}_weights_config.json", root_, name);
  if (zip_.Find(list) == nullptr)
    return Corruption(fmt::format("its list of weights '{}' is missing", Shown(list)));
  SLUICE_ASSIGN(const std::string weights, zip_.Read(list, kMaxProgramBytes));
  std::string constants;
  const std::string other = fmt::format("{}data/constants/{}_constants_config.json", root_, name);
  if (zip_.Find(other) != nullptr) {
    SLUICE_ASSIGN(constants, zip_.Read(other, kMaxProgramBytes));
  }
  SLUICE_ASSIGN(graph_, ReadProgram(program, weights, constants));
  return {};
}

// Empty if there is no such member.
Result<std::string> Archive::ReadNote(std::string_view name) const {
  const std::string whole = fmt::format("{}{}", root_, name);
  if (zip_.Find(whole) == nullptr) return "";
  SLUICE_ASSIGN(std::string text, zip_.Read(whole, kMaxNoteBytes));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<std::string> Archive::NameOfProgram(const std::string& folder) const {
  constexpr std::string_view kEnd = ".json";
  std::vector<std::string> programs;
  for (auto member = zip_.members().lower_bound(folder);
       member != zip_.members().end() && member->first.starts_with(folder); ++member)
    programs.push_back(member->first.substr(folder.size()));
  if (programs.size() != 1) {
    return InvalidArgument(
        fmt::format("expected one program in '{}', found {}", Shown(folder), programs.size()));
  }
  std::string name = programs.front();
  if (!name.ends_with(kEnd)) {
    return InvalidArgument(fmt::format("expected a program in '{}' that ends with {}, found '{}'",
                                       Shown(folder), kEnd, Shown(name)));
  }
  name.resize(name.size() - kEnd.size());
  return name;
}

const ZipArchive::Member* Archive::MemberOf(const Parameter& parameter) const {
  return zip_.Find(root_ + "data/" + parameter.storage.member);
}

bool Archive::HasTensor(const Parameter& parameter) const {
  const ZipArchive::Member* member = MemberOf(parameter);
  return member != nullptr && member->size > 0;
}

// Checks that every tensor lies within its member.
Status Archive::CheckStorages() {
  for (Parameter& parameter : graph_.parameters) {
    const ZipArchive::Member* member = MemberOf(parameter);
    if (member == nullptr) {
      return Corruption(fmt::format("'{}': its member 'data/{}' is missing", Shown(parameter.name),
                                    Shown(parameter.storage.member)));
    }
    if (member->size == 0) {
      parameter.tied_to.reset();  // tensors without values share a member, but are not tied
      continue;
    }
    const auto bytes = BytesOf(graph_.value(parameter.value).dtype);
    const auto held = static_cast<std::int64_t>(member->size / bytes);
    if (!LiesWithin(parameter, held)) {
      return Corruption(
          fmt::format("'{}': expected a tensor of [{}], found only {} elements in 'data/{}'",
                      Shown(parameter.name), fmt::join(parameter.sizes, ", "), held,
                      Shown(parameter.storage.member)));
    }
  }
  return {};
}

Result<std::string> Archive::ReadTensor(const Parameter& parameter,
                                        std::size_t most_elements) const {
  const ZipArchive::Member* member = MemberOf(parameter);
  if (member == nullptr || member->size == 0) {
    return Failed({ErrorCode::kFailedPrecondition,
                   fmt::format("'{}' was exported without its values", Shown(parameter.name))});
  }
  Result<std::unique_ptr<ByteSource>> source = zip_.OpenMember(*member);
  if (!source) return Failed(source.error());
  Result<std::string> bytes =
      ReadStrided(**source,
                  {.element_bytes = BytesOf(graph_.value(parameter.value).dtype),
                   .offset = parameter.storage.offset,
                   .sizes = parameter.sizes,
                   .strides = parameter.storage.strides},
                  most_elements);
  if (!bytes) return Failed(bytes.error());
  return bytes;
}

}  // namespace sluice::model
