#include "cli/inspect/captured_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "exec/start_printing.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// Reads until the end of the stream. Returns false if it has not come by then.
bool ReadUntil(int stream, Clock::time_point end, std::string& output) {
  std::array<char, 4096> bytes{};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched{.fd = stream, .events = POLLIN, .revents = 0};
    constexpr long long kLongestWaitMs = 1000;
    const int ready =
        poll(&watched, 1, static_cast<int>(std::min<long long>(left, kLongestWaitMs)));
    if (ready <= 0) continue;
    const ssize_t size = read(stream, bytes.data(), bytes.size());
    if (size == 0) return true;
    if (size < 0 && errno != EINTR) return true;
    if (size < 0) continue;
    const std::size_t room = CapturedRun::kMostOutput - output.size();
    output.append(bytes.data(), std::min(room, static_cast<std::size_t>(size)));
  }
}

}  // namespace

Result<CapturedRun> RunCaptured(const std::vector<std::string>& words, const std::string& folder,
                                Duration patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Unavailable(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const auto pid = StartPrinting(
      {.path = words.front(), .words = words, .folder = folder, .prints_to = ends[1]});
  close(ends[1]);
  if (!pid) {
    close(ends[0]);
    return std::unexpected(pid.error());
  }
  CapturedRun run;
  const bool ended = ReadUntil(ends[0], Clock::now() + patience, run.output);
  close(ends[0]);
  if (!ended) kill(*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!ended)
    return Unavailable(
        fmt::format("{} took longer than {}", words.front(), FormatDuration(patience)));
  if (WIFSIGNALED(status))
    return Unavailable(fmt::format("{} was ended by signal {}", words.front(), WTERMSIG(status)));
  run.exit_status = WEXITSTATUS(status);
  return run;
}

}  // namespace sluice
