#include "exec/launch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "control/assignment.h"
#include "launcher/claim.h"
#include "launcher/small_file.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostSpoolBytes = 256 << 20;
constexpr off_t kTailBytes = 8192;
constexpr std::size_t kLongestTail = 300;
constexpr std::size_t kMostTailLines = 8;

bool IsBlank(char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; }

// The last lines of a file that are not blank: at most kMostTailLines lines, as many as fit into
// kLongestTail bytes, and only from the file's last kTailBytes bytes. For a Python program they
// show the exception and where it was raised.
std::vector<std::string> LastLines(const std::string& path) {
  const int file = OpenRegular(path);
  if (file < 0) return {};
  const off_t size = lseek(file, 0, SEEK_END);
  std::string tail(kTailBytes, '\0');
  const ssize_t read = pread(file, tail.data(), tail.size(), std::max<off_t>(0, size - kTailBytes));
  close(file);
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read)));
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  while (!tail.empty() && lines.size() < kMostTailLines) {
    while (!tail.empty() && IsBlank(tail.back())) tail.pop_back();
    const std::size_t before = tail.rfind('\n');
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    std::string line = tail.substr(begin, kLongestTail);
    bytes += line.size() + 1;
    if (line.empty() || (!lines.empty() && bytes > kLongestTail)) break;
    lines.insert(lines.begin(), std::move(line));
    tail.resize(begin);
  }
  return lines;
}

// Says why a launch failed. The first line has how the launch ended and the last line of its
// output, for views that show one line. The last lines of the output follow.
std::string FailureOf(const std::string& how, const std::vector<std::string>& last) {
  if (last.empty()) return how;
  std::string text = fmt::format("{}: {}", how, last.back());
  if (last.size() == 1 || text.size() > kLongestTail) return text;
  return fmt::format("{}\n{}", text, fmt::join(last, "\n"));
}

}  // namespace

std::string TrialFolders::Launch(wire::LaunchRef at) const {
  return fmt::format("{}/{}/launch-{}", root_, Number(at.trial), Number(at.launch));
}

std::optional<wire::LaunchRef> TrialFolders::LaunchAt(const std::string& folder) {
  constexpr std::string_view kPrefix = "launch-";
  const fs::path path(folder);
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return ParseWorkerName(
      fmt::format("{}.{}", path.parent_path().filename().string(), name.substr(kPrefix.size())));
}

std::string TrialFolders::Checkpoint(TrialId trial) const {
  return fmt::format("{}/{}/checkpoint", root_, Number(trial));
}

Status TrialFolders::Make(wire::LaunchRef at) const {
  const std::string folder = Launch(at);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return Unavailable(fmt::format("{}: cannot make this folder: {}", folder, error.message()));
  return {};
}

Status TrialFolders::MakeFresh(wire::LaunchRef at, const std::function<Status()>& guard) const {
  const std::string folder = Launch(at);
  if (ReadClaim(folder)) {
    if (guard) SLUICE_TRY(guard());
    KillLaunch(folder);
    SLUICE_TRY(MoveAside(folder));
  }
  return Make(at);
}

Status MoveAside(const std::string& folder) {
  std::error_code error;
  for (int number = 1; fs::exists(folder, error); ++number) {
    const std::string aside = fmt::format("{}.old-{}", folder, number);
    if (fs::exists(aside, error)) continue;
    fs::rename(folder, aside, error);
    if (error)
      return Unavailable(fmt::format("{}: cannot move it aside: {}", folder, error.message()));
  }
  return {};
}

LaunchEnd ReadLaunchEnd(const std::string& launch_folder, const std::string& host_folder) {
  const std::optional<ExitRecord> exit = ReadExit(host_folder);
  if (!exit) {
    const std::optional<Claim> claim = ReadClaim(host_folder);
    if (!claim) {
      return {LaunchEnd::Kind::kNotStarted,
              fmt::format("{}: its launcher could not write here, or was killed", host_folder)};
    }
    if (claim->copied)
      return {LaunchEnd::Kind::kLost, "it ran in the store that this one is a copy of"};
    // The launcher was killed. The processes that it left must not run on unnoticed.
    const bool gone = KillLaunch(host_folder);
    return {LaunchEnd::Kind::kLost,
            gone ? "its launcher was killed"
                 : "its launcher was killed, and a process that it left cannot be killed"};
  }
  if (!exit->error.empty()) {
    return {exit->machine ? LaunchEnd::Kind::kNotStarted : LaunchEnd::Kind::kFailed, exit->error};
  }
  const bool speaks = access((host_folder + "/speaks").c_str(), F_OK) == 0;
  if (exit->code == 0 && exit->signal == 0 && exit->lost_bytes > 0 && !speaks) {
    return {LaunchEnd::Kind::kLost,
            fmt::format("{} bytes of its standard output, perhaps with results, could not be "
                        "written",
                        exit->lost_bytes)};
  }
  if (exit->code == 0 && exit->signal == 0) {
    if (access((launch_folder + "/paused").c_str(), F_OK) == 0)
      return {LaunchEnd::Kind::kPaused, ""};
    return {exit->asked ? LaunchEnd::Kind::kCutShort : LaunchEnd::Kind::kDone, ""};
  }
  const std::string how = exit->signal != 0 ? fmt::format("killed by signal {} ({})", exit->signal,
                                                          strsignal(exit->signal))
                                            : fmt::format("exit code {}", exit->code);
  return {LaunchEnd::Kind::kFailed, FailureOf(how, LastLines(host_folder + "/stderr"))};
}

std::vector<std::string> ReadSpool(const std::string& launch_folder) {
  std::vector<std::string> lines;
  const int file = OpenRegular(launch_folder + "/spool.jsonl");
  if (file < 0) return lines;
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t size = 0;
  for (std::int64_t left = kMostSpoolBytes;
       left > 0 && (size = read(file, buffer.data(), buffer.size())) > 0; left -= size) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t line = 0;
    for (std::size_t end; (end = text.find('\n', line)) != std::string::npos; line = end + 1)
      lines.push_back(text.substr(line, end - line));
    text.erase(0, line);
  }
  close(file);
  return lines;
}

std::int64_t FolderBytes(const std::string& folder) {
  std::int64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored) && !entry->is_symlink(ignored)) {
      total += static_cast<std::int64_t>(entry->file_size(ignored));
    }
  }
  return total;
}

Status WriteSecret(const std::string& folder) {
  std::array<unsigned char, 16> drawn{};
  if (getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size()))
    return Unavailable(fmt::format("cannot draw a secret: {}", ::strerror(errno)));
  return WriteFile(folder + "/secret", fmt::format("{:02x}", fmt::join(drawn, "")), 0600);
}

Status WriteFile(const std::string& path, std::string_view text, mode_t mode) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
  if (descriptor < 0)
    return Unavailable(fmt::format("{}: cannot write: {}", path, ::strerror(errno)));
  const ssize_t written = write(descriptor, text.data(), text.size());
  const int error =
      written == static_cast<ssize_t>(text.size()) ? 0 : (written < 0 ? errno : ENOSPC);
  close(descriptor);
  if (error != 0) return Unavailable(fmt::format("{}: cannot write: {}", path, ::strerror(error)));
  return {};
}

}  // namespace sluice
