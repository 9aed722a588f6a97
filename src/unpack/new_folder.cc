#include "unpack/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "base/json_reader.h"
#include "data/tensors/whole_file.h"

namespace sluice::unpack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;

std::unexpected<Error> CannotMake(const std::string& path, int error) {
  return Unavailable(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The names of the files that the record of a folder speaks of; none if it has no record.
std::set<std::string> RecordedFiles(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  const fs::path record = folder / NewFolder::kRecord;
  if (!fs::is_regular_file(record, error) || fs::file_size(record, error) > kMaxRecordBytes)
    return names;
  std::ifstream file(record, std::ios::binary);
  const std::string json((std::istreambuf_iterator<char>(file)), {});
  const auto document = JsonDocument::Read(json);
  if (!document) return names;
  JsonMembers members(document->object());
  for (const JsonValue& each : members.List("files")) {
    const auto name = each.Find("name");
    if (name && name->Text()) names.emplace(*name->Text());
  }
  names.emplace(NewFolder::kRecord);
  return names;
}

// A file that no import made is never removed.
Status CheckMayReplace(const std::string& path) {
  const std::set<std::string> recorded = RecordedFiles(path);
  if (recorded.empty()) {
    return FailedPrecondition(fmt::format(
        "{}: expected a folder that 'sluice data import' made, found one without {}, which is not "
        "replaced: name another folder",
        path, NewFolder::kRecord));
  }
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    if (!recorded.contains(name) || !entry->is_regular_file(ignored)) {
      return FailedPrecondition(
          fmt::format("{}: '{}' is not from the import that made this folder, and would be lost: "
                      "move it, or name another folder",
                      path, name));
    }
  }
  return error ? CannotMake(path, error.value()) : Status{};
}

int SyncPath(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  close(descriptor);
  return error;
}

}  // namespace

Result<NewFolder> NewFolder::Create(const std::string& given, bool replace) {
  const std::string path = WithoutSlashes(given);
  struct stat about{};
  const bool exists = lstat(path.c_str(), &about) == 0;
  if (exists && !(replace && S_ISDIR(about.st_mode))) {
    return FailedPrecondition(
        fmt::format("{}: exists already: name another folder{}", path,
                    S_ISDIR(about.st_mode) ? ", or replace this one with --replace" : ""));
  }
  if (exists) SLUICE_TRY(CheckMayReplace(path));
  std::string temporary = path + ".XXXXXX";
  if (mkdtemp(temporary.data()) == nullptr) {
    const int error = errno;
    if (error != ENOENT && error != ENOTDIR) return CannotMake(path, error);
    return InvalidArgument(fmt::format(
        "{}: expected a folder in a folder that exists: make the outer one first", path));
  }
  const mode_t mask = umask(0);
  umask(mask);
  chmod(temporary.c_str(), 0777 & ~mask);
  return NewFolder(path, std::move(temporary), exists);
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      replaces_(other.replaces_) {}

NewFolder::~NewFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

Status NewFolder::Commit(const std::string& record_json) {
  SLUICE_ASSIGN(data::WholeFile record,
                data::WholeFile::Create(temporary_ + "/" + std::string(kRecord)));
  SLUICE_TRY(record.Append(record_json));
  SLUICE_TRY(record.Commit());
  if (const int error = SyncPath(temporary_); error != 0) return CannotMake(path_, error);
  if (!replaces_) {
    // Unlike rename(), it does not replace an empty folder that was made in the meantime.
    if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0 &&
        (errno != EINVAL || rename(temporary_.c_str(), path_.c_str()) != 0))
      return CannotMake(path_, errno);
    temporary_.clear();
  } else {
    SLUICE_TRY(CheckMayReplace(path_));  // files may have been added meanwhile
    // Then the old folder has the temporary name, and goes with this object.
    if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
      if (errno != EINVAL) return CannotMake(path_, errno);
      // The file system cannot exchange two folders at once.
      const std::string old = temporary_ + ".old";
      if (rename(path_.c_str(), old.c_str()) != 0) return CannotMake(path_, errno);
      if (rename(temporary_.c_str(), path_.c_str()) != 0) return CannotMake(path_, errno);
      temporary_ = old;
    }
  }
  const std::string around = fs::absolute(path_).parent_path().string();
  if (const int error = SyncPath(around); error != 0) return CannotMake(path_, error);
  return {};
}

}  // namespace sluice::unpack
