#include "ledger/files_owner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;

struct Owner {
  std::string id;
  std::string name;
};

Owner ReadOwner(const std::string& path) {
  Owner owner;
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return owner;
  std::ifstream file(path);
  std::getline(file, owner.id);
  std::getline(file, owner.name);
  return owner;
}

// The id of a store; empty if there is no store yet, or if it is of schema 1, which has no ids.
std::string IdOf(const std::string& database) {
  auto opened = OpenStoreForReading(database);
  if (!opened) return {};
  return StoreId(**opened).value_or("");
}

// Checks that a folder belongs to this user or to root. A link must have been made by one of the
// two as well, and the folder that it leads to is checked.
Status CheckFolder(const std::string& folder) {
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0)
    return Unavailable(fmt::format("{}: cannot look at it ({})", folder, std::strerror(errno)));
  const uid_t us = geteuid();
  const auto is_ours = [&] { return status.st_uid == us || status.st_uid == 0; };
  const bool planted = S_ISLNK(status.st_mode) && status.st_uid != us && status.st_uid != 0;
  if (!planted && S_ISLNK(status.st_mode) && stat(folder.c_str(), &status) != 0)
    return Unavailable(fmt::format("{}: cannot look at it ({})", folder, std::strerror(errno)));
  if (planted || !is_ours()) {
    return FailedPrecondition(
        fmt::format("{}: it belongs to another user (number {}): name another store with --store",
                    folder, status.st_uid));
  }
  if (!S_ISDIR(status.st_mode))
    return FailedPrecondition(fmt::format("{}: expected a folder, found a file", folder));
  return {};
}

Status MakeFolder(const std::string& folder, mode_t mode, mode_t never) {
  if (mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) {
    return FailedPrecondition(fmt::format(
        "{}: cannot make this folder ({}): name a store in a folder you can write with --store",
        folder, std::strerror(errno)));
  }
  SLUICE_TRY(CheckFolder(folder));
  struct stat status{};
  if (stat(folder.c_str(), &status) == 0 && (status.st_mode & never) != 0 &&
      chmod(folder.c_str(), status.st_mode & 07777 & ~never) != 0) {
    return FailedPrecondition(fmt::format("{}: others may use it, and that cannot be changed ({})",
                                          folder, std::strerror(errno)));
  }
  return {};
}

}  // namespace

Status CheckFilesOwner(const StorePaths& paths) {
  const Owner owner = ReadOwner(paths.owner);
  const fs::path own(paths.database);
  const fs::path other = own.parent_path() / owner.name;
  std::error_code error;
  if (owner.id.empty() || owner.name.empty() || owner.name.contains('/') || other == own ||
      !fs::exists(other, error) || IdOf(paths.database) == owner.id)
    return {};
  return FailedPrecondition(fmt::format(
      "{}: this folder holds the files of another store, {}: name a store that ends in another way "
      "with --store",
      paths.files, other.string()));
}

Status OwnFiles(const StorePaths& paths, Database& database) {
  SLUICE_ASSIGN(const std::string id, StoreId(database));
  const std::string name = fs::path(paths.database).filename().string();
  const Owner owner = ReadOwner(paths.owner);
  if (owner.id == id && owner.name == name) return {};
  const std::string text = id + "\n" + name + "\n";
  const std::string aside = paths.owner + ".tmp";
  const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (file >= 0) close(file);
  if (!written || rename(aside.c_str(), paths.owner.c_str()) != 0)
    return Unavailable(
        fmt::format("{}: cannot write ({})", paths.owner, std::strerror(written ? errno : reason)));
  return {};
}

Status MakeOwnFolders(const StorePaths& paths) {
  std::error_code error;
  fs::create_directories(fs::path(paths.files).parent_path(), error);
  SLUICE_TRY(MakeFolder(paths.files, 0777, 0002));
  SLUICE_TRY(MakeFolder(paths.files + "/studies", 0777, 0002));
  return MakeFolder(paths.run, 0700, 0077);
}

}  // namespace sluice
