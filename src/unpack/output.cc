#include "unpack/output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "unpack/new_folder.h"

namespace sluice::unpack {
namespace {

constexpr std::size_t kMaxFileNameBytes = 200;

bool IsFileName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxFileNameBytes && name.front() != '.' &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos &&
         name != NewFolder::kRecord;
}

}  // namespace

Status Output::Begin(const std::string& name, const std::string& from) {
  SLUICE_CHECK(open_.empty(), "files are written one after the other");
  if (!IsFileName(name)) {
    return InvalidArgument(
        fmt::format("{}: '{}' cannot be the name of a file of the data", from, Shown(name)));
  }
  const auto same = std::ranges::find(files_, name, &ImportedFile::name);
  if (same != files_.end()) {
    return InvalidArgument(fmt::format("{}: '{}' comes from {} too: import them into two folders",
                                       from, name, same->from));
  }
  SLUICE_ASSIGN(data::WholeFile file, data::WholeFile::Create(folder_ + "/" + name));
  open_.push_back(std::move(file));
  files_.push_back({.name = name, .bytes = 0, .from = from});
  return {};
}

Status Output::Write(std::span<const char> bytes) {
  SLUICE_CHECK(!open_.empty(), "a file was begun");
  ImportedFile& file = files_.back();
  if (bytes.size() > room_bytes_) {
    return InvalidArgument(fmt::format(
        "{}: the data is larger unpacked than it may be: allow more with --max-gb", file.from));
  }
  SLUICE_TRY(open_.back().Append(bytes));
  room_bytes_ -= bytes.size();
  file.bytes += bytes.size();
  return progress_(file.name, file.bytes);
}

Status Output::End() {
  SLUICE_CHECK(!open_.empty(), "a file was begun");
  const Status committed = open_.back().Commit();
  open_.clear();
  return committed;
}

}  // namespace sluice::unpack
