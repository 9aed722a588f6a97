#include "client/checkpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "client/number_text.h"

namespace sluice::client {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLatest = "latest";
constexpr std::string_view kBest = "best";
constexpr std::string_view kPrevious = ".previous";
constexpr std::string_view kWriting = ".writing";
constexpr std::string_view kWork = "/.sluice-work";
constexpr std::string_view kPast = "/.sluice-past";

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}
bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::unexpected<Error> DiskFailed(const std::string& path, int error) {
  return Unavailable(fmt::format("{}: cannot be saved: {}", path, std::strerror(error)));
}

// The work of a checkpoint. Nothing if the folder is not one that Save has made.
std::optional<Work> WorkOf(const std::string& checkpoint) {
  const int descriptor = open((checkpoint + std::string(kWork)).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::array<char, 32> buffer{};
  const ssize_t size = read(descriptor, buffer.data(), buffer.size());
  close(descriptor);
  if (size <= 0) return std::nullopt;
  return NumberIn<Work>({buffer.data(), static_cast<std::size_t>(size)});
}

// The sizes of all files below a folder. Links are not followed.
std::int64_t BytesBelow(const std::string& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    struct stat about{};
    if (lstat(each->path().c_str(), &about) != 0) continue;
    const bool is_folder =
        S_ISDIR(about.st_mode) || (S_ISLNK(about.st_mode) && IsFolder(each->path().string()));
    if (!is_folder) bytes += about.st_size;
  }
  return bytes;
}

// Removes as much as can be removed.
void RemoveTree(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    if (fs::is_directory(each->symlink_status(ignored))) {
      RemoveTree(each->path());
    } else {
      unlink(each->path().c_str());
    }
  }
  rmdir(folder.c_str());
}

}  // namespace

Checkpoints::Checkpoints(Client& client, const wire::Assign& assign, AtStep at_step)
    : client_(client),
      at_(assign.at),
      folder_(assign.checkpoint_dir),
      at_step_(std::move(at_step)) {}

std::string Checkpoints::Sub(std::string_view name) const {
  return fmt::format("{}/{}", folder_, name);
}

Result<std::optional<std::string>> Checkpoints::Latest() {
  if (folder_.empty()) return std::optional<std::string>();
  const std::string latest = Sub(kLatest);
  if (!IsFolder(latest)) {
    SLUICE_ASSIGN(const OwnerLock lock, OwnerLock::Take(folder_, at_));
    if (!lock.other()) PutBack();
  }
  return IsFolder(latest) ? std::optional(latest) : std::nullopt;
}

Result<std::optional<std::string>> Checkpoints::Best() {
  SLUICE_ASSIGN(best_work_, client_.BestWork(at_));
  SLUICE_TRY(Latest());  // may rename `.previous` back to `latest`
  // It is still in `.previous` if the process was killed before PutAway.
  for (const std::string_view name : {kLatest, kBest, kPrevious})
    if (IsBest(Sub(name))) return std::optional(Sub(name));
  return std::optional<std::string>();
}

Result<bool> Checkpoints::Save(Work work, const Write& write, bool is_past) {
  if (folder_.empty())
    return FailedPrecondition("expected a checkpoint folder in the assignment, found none");
  SLUICE_ASSIGN(const bool is_refused, client_.IsRefused(at_));
  if (is_refused) return false;
  work_ = work;
  is_past_ = is_past;
  Result<bool> saved = SaveAsOwner(work, write);
  if (!saved && !writing_.empty()) {
    const auto lock = OwnerLock::Take(folder_, at_);
    Discard();
  }
  writing_.clear();
  return saved;
}

Result<bool> Checkpoints::SaveAsOwner(Work work, const Write& write) {
  SLUICE_ASSIGN(const bool has_begun, DoAsOwner(&Checkpoints::Begin));
  if (!has_begun) return false;
  SLUICE_TRY(write(writing_));
  SLUICE_ASSIGN(const bool is_refused, client_.IsRefused(at_));
  if (is_refused) {
    SLUICE_ASSIGN(const OwnerLock lock, OwnerLock::Take(folder_, at_));
    Discard();
    return false;
  }
  SLUICE_ASSIGN(const bool is_ours, DoAsOwner(&Checkpoints::NoteWork));
  if (!is_ours) return false;
  SLUICE_TRY(SyncTree(writing_));
  // The reports must be on disk first. The next launch goes on from the checkpoint and does not
  // repeat earlier reports, so a report that is not on disk now could be lost for good.
  SLUICE_TRY(client_.Secure(at_));
  SLUICE_ASSIGN(const bool is_in_place, DoAsOwner(&Checkpoints::PutInPlace));
  if (!is_in_place) return false;
  SLUICE_TRY(client_.Saved(at_, work, BytesBelow(folder_)));
  return true;
}

Result<bool> Checkpoints::DoAsOwner(Change change) {
  std::uint64_t owner = 0;
  {
    SLUICE_ASSIGN(const OwnerLock lock, OwnerLock::Take(folder_, at_));
    if (!lock.other()) {
      SLUICE_ASSIGN(best_work_, client_.BestWork(at_));
      SLUICE_TRY((this->*change)());
      return true;
    }
    owner = *lock.other();
    Discard();
  }
  client_.GiveUp(at_, owner);
  return false;
}

Status Checkpoints::Begin() {
  PutBack();
  SLUICE_TRY(PutAway());  // removes a `.previous` that is left over beside `latest`
  Remove(Sub(kWriting));
  // Each launch has a folder of its own: a process of an earlier launch may still be writing.
  const std::string writing = fmt::format("{}/{}", Sub(kWriting), Number(at_.launch));
  std::error_code error;
  fs::create_directories(writing, error);
  if (error) return DiskFailed(writing, error.value());
  writing_ = writing;
  return {};
}

void Checkpoints::Discard() {
  if (writing_.empty()) return;
  Remove(std::exchange(writing_, ""));
  Step();
  rmdir(Sub(kWriting).c_str());  // fails if another launch writes there
  Step();
}

Status Checkpoints::NoteWork() {
  const auto write = [](const std::string& path, const std::string& text) -> Status {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    return file ? Status() : DiskFailed(path, errno);
  };
  if (is_past_) SLUICE_TRY(write(writing_ + std::string(kPast), ""));
  return write(writing_ + std::string(kWork), fmt::format("{}\n", work_));
}

Status Checkpoints::PutInPlace() {
  const std::string latest = Sub(kLatest);
  if (Exists(latest)) SLUICE_TRY(Rename(latest, Sub(kPrevious)));
  SLUICE_TRY(Rename(writing_, latest));
  writing_.clear();
  SLUICE_TRY(Sync(folder_));
  SLUICE_TRY(PutAway());
  Remove(Sub(kWriting));
  return {};
}

// Renames `.previous` back to `latest` if a launch was killed between the two renames.
void Checkpoints::PutBack() {
  if (IsFolder(Sub(kLatest))) return;
  // It fails if there is no `.previous`, or if another process has renamed it first.
  std::ignore = Rename(Sub(kPrevious), Sub(kLatest));
}

// Removes `.previous`, or renames it to `best` if it was saved at the best report's work. A folder
// `best` without `.sluice-work` was made by the program itself, and is left alone.
Status Checkpoints::PutAway() {
  const std::string best = Sub(kBest);
  const std::string previous = Sub(kPrevious);
  if (!Exists(best) || WorkOf(best)) {
    if (Exists(best) && !IsBest(best)) Remove(best);
    if (!Exists(best) && IsBest(previous)) SLUICE_TRY(Rename(previous, best));
  }
  Remove(previous);
  return {};
}

bool Checkpoints::IsBest(const std::string& checkpoint) const {
  return best_work_ && WorkOf(checkpoint) == best_work_ && !Exists(checkpoint + std::string(kPast));
}

Status Checkpoints::Rename(const std::string& from, const std::string& to) {
  Step();
  const int result = std::rename(from.c_str(), to.c_str());
  const int error = errno;
  Step();
  return result == 0 ? Status() : DiskFailed(from, error);
}

Status Checkpoints::Sync(const std::string& path) {
  Step();
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return DiskFailed(path, errno);
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  Step();
  return error == 0 ? Status() : DiskFailed(path, error);
}

Status Checkpoints::SyncTree(const std::string& root) {
  std::error_code error;
  for (fs::directory_iterator each(root, error), end; !error && each != end;
       each.increment(error)) {
    const fs::file_status status = each->symlink_status(error);
    if (error) break;
    if (fs::is_directory(status)) {
      SLUICE_TRY(SyncTree(each->path().string()));
    } else if (!fs::is_symlink(status)) {
      SLUICE_TRY(Sync(each->path().string()));
    }
  }
  if (error) return DiskFailed(root, error.value());
  return Sync(root);
}

void Checkpoints::Remove(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) return;
  Step();
  RemoveTree(path);
  Step();
}

}  // namespace sluice::client
