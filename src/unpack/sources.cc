#include "unpack/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files/byte_source.h"
#include "data/formats/idx.h"
#include "data/formats/npy.h"
#include "data/sets/folder_layout.h"

namespace sluice::unpack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kMostSources = 10'000;

std::optional<SourceKind> KindOfSource(const std::string& name, std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return SourceKind::kGzip;
  if (head.starts_with("PK\x03\x04")) return SourceKind::kNpz;
  if (head.starts_with("\x89PNG")) return SourceKind::kSheet;
  if (data::LooksLikeNpy(head) || data::LooksLikeIdx(head)) return SourceKind::kPlain;
  if (name.ends_with(".json") && data::SpeaksOfTargets(name)) return SourceKind::kLabels;
  if (name.ends_with(".bin") || name.ends_with(".txt")) return SourceKind::kPlain;
  return std::nullopt;
}

// Nothing if the file is no data.
Result<std::optional<Source>> LookAt(const std::string& path) {
  SLUICE_ASSIGN(const auto source, OpenFile(path));
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source->size(), kHeadBytes)),
                   '\0');
  if (const auto read = source->Read(0, head); !read)
    return Fail(read.error().code, fmt::format("{}: {}", path, read.error().message));
  Source found{.path = path, .name = fs::path(path).filename().string()};
  const auto kind = KindOfSource(found.name, head);
  if (!kind) return std::optional<Source>();
  found.kind = *kind;
  return std::optional(std::move(found));
}

Result<std::vector<Source>> SourcesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_regular_file(ignored)) names.push_back(std::move(name));
    if (names.size() > kMostSources) {
      return InvalidArgument(
          fmt::format("{}: expected at most {} files, found more: name the files to import", folder,
                      kMostSources));
    }
  }
  if (error) return InvalidArgument(fmt::format("{}: cannot be read: {}", folder, error.message()));
  data::SortNaturally(names);
  std::vector<Source> sources;
  for (const std::string& name : names) {
    SLUICE_ASSIGN(auto source, LookAt((fs::path(folder) / name).string()));
    if (source) sources.push_back(std::move(*source));
  }
  // Beside data, a text is a readme.
  const auto is_text = [](const Source& source) { return source.name.ends_with(".txt"); };
  if (!std::ranges::all_of(sources, is_text)) std::erase_if(sources, is_text);
  return sources;
}

}  // namespace

Result<std::vector<Source>> FindSources(const std::vector<std::string>& paths) {
  constexpr std::string_view kExpected =
      "gzip, .npz, .npy, IDX, .bin or .txt files, or PNG sheets with a JSON list of labels";
  std::vector<Source> all;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      SLUICE_ASSIGN(std::vector<Source> found, SourcesIn(path));
      if (found.empty())
        return InvalidArgument(
            fmt::format("{}: expected a folder with {}, found none", path, kExpected));
      std::ranges::move(found, std::back_inserter(all));
      continue;
    }
    SLUICE_ASSIGN(auto source, LookAt(path));
    if (!source)
      return InvalidArgument(fmt::format("{}: expected {}, found something else", path, kExpected));
    all.push_back(std::move(*source));
  }
  if (all.empty()) return InvalidArgument(fmt::format("expected {}, found no files", kExpected));
  return all;
}

}  // namespace sluice::unpack
