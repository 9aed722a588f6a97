#include "model/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/config.h"
#include "model/program_reader.h"

namespace sluice::model {
namespace {

constexpr std::size_t kMaxNoteBytes = 64;  // of the small members that say what the others are

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

Status Archive::ReadGraph() {
  constexpr std::string_view kFormat = "/archive_format";
  for (const auto& [name, member] : zip_.members()) {
    if (!name.ends_with(kFormat) || name.find('/') != name.size() - kFormat.size()) continue;
    if (!root_.empty()) return InvalidArgument("expected one folder with a program, found several");
    root_ = name.substr(0, name.size() - kFormat.size() + 1);
  }
  const auto note = [&](const char* name) {
    auto text = zip_.Read(root_ + name, kMaxNoteBytes).value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  };
  if (root_.empty() || note("archive_format") != "pt2") {
    return InvalidArgument(
        "expected an archive of torch.export.save, found another zip file: a checkpoint of "
        "torch.save holds no "
        "program");
  }
  if (const std::string version = note("archive_version"); version != "0") {
    return InvalidArgument(fmt::format(
        "expected version 0 of the archive, found '{}': export it with PyTorch 2.11 to 2.13",
        Shown(version)));
  }
  if (const std::string order = note("byteorder"); order != "little") {
    return InvalidArgument(
        fmt::format("expected tensors with the lowest byte first, found '{}'", Shown(order)));
  }
  std::vector<std::string> programs;
  const std::string folder = root_ + "models/";
  for (auto member = zip_.members().lower_bound(folder);
       member != zip_.members().end() && member->first.starts_with(folder); ++member)
    programs.push_back(member->first.substr(folder.size()));
  if (programs.size() != 1 || !programs.front().ends_with(".json")) {
    return InvalidArgument(fmt::format("expected one program in it, found {}", programs.size()));
  }
  const std::string name = programs.front().substr(0, programs.front().size() - 5);
  SLUICE_ASSIGN(const std::string program, zip_.Read(folder + programs.front(), kMaxProgramBytes));
  SLUICE_ASSIGN(const std::string weights,
                zip_.Read(fmt::format("{}data/weights/{}_weights_config.json", root_, name),
                          kMaxProgramBytes));
  std::string constants;
  const std::string list = fmt::format("{}data/constants/{}_constants_config.json", root_, name);
  if (zip_.Find(list) != nullptr) {
    SLUICE_ASSIGN(constants, zip_.Read(list, kMaxProgramBytes));
  }
  SLUICE_ASSIGN(graph_, ReadProgram(program, weights, constants));
  return {};
}

const ZipArchive::Member* Archive::MemberOf(const Parameter& parameter) const {
  return zip_.Find(root_ + "data/" + parameter.storage.member);
}

bool Archive::HasTensor(const Parameter& parameter) const {
  const ZipArchive::Member* member = MemberOf(parameter);
  return member != nullptr && member->size > 0;
}

// Every tensor lies within its member.
Status Archive::CheckStorages() {
  for (Parameter& parameter : graph_.parameters) {
    const ZipArchive::Member* member = MemberOf(parameter);
    if (member == nullptr) {
      return Corruption(fmt::format("'{}': its member 'data/{}' is missing", Shown(parameter.name),
                                    Shown(parameter.storage.member)));
    }
    if (member->size == 0) {
      parameter.tied_to.reset();  // all that has no weights shares one member
      continue;
    }
    const auto bytes = static_cast<std::int64_t>(BytesOf(graph_.value(parameter.value).dtype));
    const std::int64_t held = static_cast<std::int64_t>(member->size) / bytes;
    std::int64_t last = parameter.storage.offset;
    bool is_empty = false;
    bool fits = last <= held;
    for (std::size_t d = 0; d < parameter.sizes.size() && fits; ++d) {
      const std::int64_t steps = parameter.sizes[d] - 1;
      is_empty = is_empty || steps < 0;
      const std::int64_t stride = parameter.storage.strides[d];
      if (steps <= 0 || stride == 0) continue;
      fits = stride <= (held - last) / steps;
      if (fits) last += steps * stride;
    }
    if (!is_empty && (!fits || last >= held)) {
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
  const std::size_t width = BytesOf(graph_.value(parameter.value).dtype);
  std::int64_t elements = 1;
  for (const std::int64_t size : parameter.sizes) elements *= size;
  // Runs along the last dimension, evenly spread if there are too many.
  const std::int64_t run =
      parameter.sizes.empty() ? 1 : std::max<std::int64_t>(parameter.sizes.back(), 1);
  const std::int64_t runs = elements / run;
  const std::int64_t stride = parameter.sizes.empty() ? 1 : parameter.storage.strides.back();
  const auto most = static_cast<std::int64_t>(most_elements);
  const std::int64_t taken_run = std::min(run, most);
  const std::int64_t taken_runs = std::min(runs, std::max<std::int64_t>(most / taken_run, 1));
  std::string bytes;
  std::string piece;
  for (std::int64_t i = 0; i < taken_runs; ++i) {
    std::int64_t index = taken_runs == runs ? i : i * (runs / taken_runs);
    std::int64_t begin = parameter.storage.offset;
    for (std::size_t d = parameter.sizes.size(); d-- > 1;) {
      begin += index % parameter.sizes[d - 1] * parameter.storage.strides[d - 1];
      index /= parameter.sizes[d - 1];
    }
    const std::int64_t reach = stride == 0 ? 1 : (taken_run - 1) * stride + 1;
    const bool dense = stride == 1;
    for (std::int64_t j = 0; j < (dense ? 1 : taken_run); ++j) {
      piece.resize(width * static_cast<std::size_t>(dense ? reach : 1));
      const auto at = static_cast<std::uint64_t>(begin + (dense ? 0 : j * stride)) * width;
      if (const Status read = zip_.ReadPart(*member, at, piece); !read) return Failed(read.error());
      bytes += piece;
    }
  }
  return bytes;
}

}  // namespace sluice::model
