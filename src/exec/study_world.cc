#include "exec/study_world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "exec/descriptor_limit.h"

extern char** environ;

namespace sluice {
namespace {

constexpr std::string_view kWorldVersion = "sluice world 1\n";
constexpr std::string_view kVariables = "variables=";

// Linux starts no program with more than a few MiB of environment.
constexpr std::size_t kMostWorldBytes = std::size_t{16} << 20;

constexpr std::string_view kOwnFile = "a regular file of this user";

std::string WorldFile(const std::string& study_folder) { return study_folder + "/world"; }

bool IsVariable(std::string_view text) { return text.contains('='); }

std::unexpected<Error> Damaged(std::string_view expected, std::string_view found) {
  return Corruption(fmt::format("expected {}, found {}", expected, found));
}

// The next item of the text, which loses it. Nothing if no zero byte ends it.
std::optional<std::string_view> NextItem(std::string_view& text) {
  const std::size_t end = text.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(end + 1);
  return item;
}

std::optional<std::size_t> CountIn(std::string_view item) {
  if (!item.starts_with(kVariables)) return std::nullopt;
  item.remove_prefix(kVariables.size());
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), count);
  if (error != std::errc() || end != item.data() + item.size()) return std::nullopt;
  return count;
}

std::unexpected<Error> CannotKeep(const std::string& path, int error) {
  return Unavailable(
      fmt::format("{}: cannot keep the environment of the study's programs: {}; once this file can "
                  "be written, the same command works",
                  path, ::strerror(error)));
}

// Writes the whole text, and syncs it. Returns 0, or else an errno.
int WriteAndSync(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(descriptor) == 0 ? 0 : errno;
}

// Reads until the file ends, or `most` bytes are read. Returns 0, or else an errno.
int ReadUpTo(int descriptor, std::size_t most, std::string& text) {
  char buffer[65536];
  while (text.size() < most) {
    const ssize_t size =
        read(descriptor, buffer, std::min<std::size_t>(sizeof buffer, most - text.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return 0;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return 0;
}

// The text of an open file that should hold a world.
Result<std::string> TextOf(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return Unavailable(::strerror(errno));
  if (!S_ISREG(status.st_mode)) return Damaged(kOwnFile, "something that is no regular file");
  if (status.st_uid != geteuid())
    return Damaged(kOwnFile, fmt::format("one of user {}", status.st_uid));
  std::string text;
  if (const int error = ReadUpTo(descriptor, kMostWorldBytes + 1, text); error != 0)
    return Unavailable(::strerror(error));
  if (text.size() > kMostWorldBytes) return Damaged("at most 16 MiB", "more");
  return text;
}

Result<StudyWorld> ReadWorldAt(const std::string& path) {
  // Without O_NONBLOCK, open() would wait at a pipe that has no writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0 && errno == ENOENT)
    return NotFound(fmt::format("{}: no environment was kept for this study", path));
  if (descriptor < 0 && errno == ELOOP) return Damaged(kOwnFile, "a link");
  if (descriptor < 0) return Unavailable(::strerror(errno));
  const Result<std::string> text = TextOf(descriptor);
  close(descriptor);
  if (!text) return std::unexpected(text.error());
  return DecodeWorld(*text);
}

}  // namespace

std::optional<std::string> StudyWorld::Find(std::string_view name) const {
  for (const std::string_view variable : environment) {
    if (variable.substr(0, variable.find('=')) == name)
      return std::string(variable.substr(name.size() + 1));
  }
  return std::nullopt;
}

StudyWorld CaptureWorld() {
  StudyWorld world;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (IsVariable(*variable)) world.environment.emplace_back(*variable);
  }
  world.limits = LimitsOfSelf();
  rlimit& descriptors = world.limits.resources[RLIMIT_NOFILE];
  descriptors.rlim_cur = std::min(DescriptorLimitAtStart(), descriptors.rlim_max);
  return world;
}

std::string EncodeWorld(const StudyWorld& world) {
  std::string text(kWorldVersion);
  const auto add = [&text](std::string_view item) {
    text += item;
    text += '\0';
  };
  add(FormatLimits(world.limits));
  add(fmt::format("{}{}", kVariables, world.environment.size()));
  for (const std::string& variable : world.environment) add(variable);
  return text;
}

Result<StudyWorld> DecodeWorld(std::string_view text) {
  if (!text.starts_with(kWorldVersion))
    return Damaged("a file that begins with 'sluice world 1'", "another beginning");
  text.remove_prefix(kWorldVersion.size());
  StudyWorld world;
  const auto limits = ParseLimits(NextItem(text).value_or(""));
  if (!limits) return Damaged("a umask and 16 resource limits", "something else");
  world.limits = *limits;
  const auto count = CountIn(NextItem(text).value_or(""));
  if (!count) return Damaged("the number of variables", "something else");
  while (!text.empty()) {
    const auto variable = NextItem(text);
    if (!variable) return Damaged("variables that end with a zero byte", "one that is cut off");
    if (!IsVariable(*variable)) return Damaged("variables NAME=value", "one without '='");
    world.environment.emplace_back(*variable);
  }
  if (world.environment.size() != *count) {
    return Damaged(fmt::format("{} variables", *count),
                   fmt::format("{}", world.environment.size()));
  }
  return world;
}

Status KeepWorld(const std::string& study_folder, const StudyWorld& world) {
  const std::string path = WorldFile(study_folder);
  const std::string text = EncodeWorld(world);
  if (text.size() > kMostWorldBytes) {
    return FailedPrecondition(
        fmt::format("expected an environment of at most 16 MiB, found {} bytes: start sluice with "
                    "fewer or shorter variables",
                    text.size()));
  }
  std::error_code error;
  std::filesystem::create_directories(study_folder, error);
  if (error) return CannotKeep(path, error.value());
  // mkostemp makes a new file and follows no link. Whatever the umask is, the file has mode 0600
  // before anything is in it.
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return CannotKeep(path, errno);
  int failure = fchmod(descriptor, 0600) == 0 ? WriteAndSync(descriptor, text) : errno;
  close(descriptor);
  if (failure == 0 && rename(temporary.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) return {};
  unlink(temporary.c_str());
  return CannotKeep(path, failure);
}

Result<StudyWorld> ReadWorld(const std::string& study_folder) {
  const std::string path = WorldFile(study_folder);
  Result<StudyWorld> world = ReadWorldAt(path);
  if (world || world.error().code == ErrorCode::kNotFound) return world;
  return Fail(world.error().code,
              fmt::format("{}: the environment of the study's programs cannot be read: {}; 'sluice "
                          "resume' writes it anew",
                          path, world.error().message));
}

Result<StudyWorld> KeepOwnWorld(const std::string& study_folder) {
  SLUICE_TRY(KeepWorld(study_folder, CaptureWorld()));
  return ReadWorld(study_folder);
}

}  // namespace sluice
