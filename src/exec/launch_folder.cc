#include "exec/launch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "launcher/claim.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostSpoolBytes = 256 << 20;
constexpr std::int64_t kTailBytes = 8192;
constexpr std::size_t kLongestTail = 300;

// The last line of a file that says something: for a Python program, the exception itself.
std::string LastLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::int64_t size = file.tellg();
  file.seekg(std::max<std::int64_t>(0, size - kTailBytes));
  std::string tail((std::istreambuf_iterator<char>(file)), {});
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ' || tail.back() == '\r'))
    tail.pop_back();
  const std::size_t line = tail.rfind('\n');
  return tail.substr(line == std::string::npos ? 0 : line + 1, kLongestTail);
}

}  // namespace

std::string TrialFolders::Launch(wire::LaunchRef at) const {
  return fmt::format("{}/{}/launch-{}", root_, Number(at.trial), Number(at.launch));
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

Status TrialFolders::MakeFresh(wire::LaunchRef at) const {
  const std::string folder = Launch(at);
  if (ReadClaim(folder)) {
    KillProgram(folder);
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
    KillProgram(host_folder);  // its launcher was killed: what it left behind must not go on unseen
    return {LaunchEnd::Kind::kLost, "its launcher was killed"};
  }
  if (!exit->error.empty()) return {LaunchEnd::Kind::kFailed, exit->error};
  if (exit->code == 0 && exit->signal == 0) {
    const bool paused = access((launch_folder + "/paused").c_str(), F_OK) == 0;
    return {paused ? LaunchEnd::Kind::kPaused : LaunchEnd::Kind::kDone, ""};
  }
  const std::string last = LastLine(host_folder + "/stderr");
  const std::string how = exit->signal != 0 ? fmt::format("killed by signal {} ({})", exit->signal,
                                                          strsignal(exit->signal))
                                            : fmt::format("exit code {}", exit->code);
  return {LaunchEnd::Kind::kFailed, last.empty() ? how : fmt::format("{}: {}", how, last)};
}

std::vector<std::string> ReadSpool(const std::string& launch_folder) {
  std::vector<std::string> lines;
  std::ifstream file(launch_folder + "/spool.jsonl", std::ios::binary);
  std::string line;
  std::int64_t read = 0;
  while (std::getline(file, line) && !file.eof()) {
    read += static_cast<std::int64_t>(line.size());
    if (read > kMostSpoolBytes) break;
    lines.push_back(line);
  }
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

Status WriteFile(const std::string& path, std::string_view text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
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
