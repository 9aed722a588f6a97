#include "client/settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <variant>

#include "base/text.h"

namespace sluice::client {
namespace {

constexpr std::size_t kLongestSecret = 200;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the first bytes of a file, `most_bytes` at most.
Result<std::string> ReadStart(const std::string& path, std::size_t most_bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return NotFound(fmt::format("{}: {}", path, std::strerror(errno)));
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t size = 0;
  while (text.size() < most_bytes && (size = read(file, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  close(file);
  text.resize(std::min(text.size(), most_bytes));
  return text;
}

Result<wire::Assign> ReadTrialFile(const std::string& path) {
  SLUICE_ASSIGN(const std::string text, ReadStart(path, wire::kLongestLine + 1));
  auto message = wire::DecodeToWorker(Trimmed(text));
  if (!message)
    return InvalidArgument(fmt::format("SLUICE_TRIAL_FILE: {}: {}", path, message.error().message));
  if (auto* assign = std::get_if<wire::Assign>(&*message)) return std::move(*assign);
  return InvalidArgument(
      fmt::format("SLUICE_TRIAL_FILE: {}: expected a message of the type 'assign'", path));
}

}  // namespace

Result<Settings> SettingsFromEnvironment(int capacity, bool several_shapes) {
  const std::string trial_file = Variable("SLUICE_TRIAL_FILE");
  Settings settings;
  settings.socket_path = Variable("SLUICE_SOCKET");
  settings.worker = Variable("SLUICE_WORKER");
  settings.capacity = capacity;
  settings.several_shapes = several_shapes;
  if (trial_file.empty() || settings.socket_path.empty()) {
    return FailedPrecondition(
        fmt::format("expected {} in the environment: start this program through `sluice tune`",
                    trial_file.empty() ? "SLUICE_TRIAL_FILE" : "SLUICE_SOCKET"));
  }
  SLUICE_ASSIGN(settings.first, ReadTrialFile(trial_file));
  const auto folder = std::filesystem::path(trial_file).parent_path();
  settings.secret = ReadStart((folder / "secret").string(), kLongestSecret).value_or("");
  if (settings.worker.empty()) {
    settings.worker =
        fmt::format("{}.{}", Number(settings.first.at.trial), Number(settings.first.at.launch));
  }
  return settings;
}

}  // namespace sluice::client
