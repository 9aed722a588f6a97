#include "exec/session/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "exec/controller/run_controller.h"
#include "exec/socket/connection.h"
#include "exec/start_printing.h"
#include "exec/version.h"
#include "launcher/claim.h"

namespace sluice {
namespace {

using std::chrono::steady_clock;

// How long another process may hold the store before that is an error.
constexpr auto kStorePatience = std::chrono::seconds(10);
constexpr useconds_t kTryEveryUs = 10'000;

// Before studies had a controller of their own, each was run by the command that made it.
bool IsOfEarlierSluice(const LockHolder& holder) { return holder.purpose.starts_with("tuning '"); }

bool IsInUse(const Error& error) { return error.message.contains("in use by process"); }

std::unexpected<Error> Gone() {
  return Unavailable("the controller of the store has gone: try again");
}

// Everything that can be read until the process closes its output, or has said that it is ready.
std::string ReadStart(int output) {
  std::string said;
  std::array<char, 4096> buffer;
  while (!said.ends_with("ready\n")) {
    const ssize_t size = read(output, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    said.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return said;
}

// The path of this program, whose last name is also that of the process. If it was replaced since
// this process began, the program that this process runs.
std::string OwnProgram() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || !std::filesystem::exists(path, error)) return "/proc/self/exe";
  return path.string();
}

std::string EndOf(int status) {
  return WIFSIGNALED(status) ? fmt::format("it was ended by signal {}", WTERMSIG(status))
                             : fmt::format("it ended with status {}", WEXITSTATUS(status));
}

// Starts a controller in a session of its own, and waits until it accepts connections. It outlives
// this process. If it cannot run, fails with its own words.
Status StartController(const StorePaths& paths) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0)
    return Unavailable(fmt::format("cannot start a controller: {}", std::strerror(errno)));
  const auto pid = StartPrinting({.path = OwnProgram(),
                                  .words = {"sluice", "controller", "--store", paths.database,
                                            "--log", paths.run + "/controller.log"},
                                  .folder = "/",
                                  .prints_to = output[1],
                                  .detached = true});
  close(output[1]);
  std::string said = pid ? ReadStart(output[0]) : "";
  close(output[0]);
  if (!pid) return std::unexpected(pid.error());
  if (said.ends_with("ready\n")) return {};  // the system may have complained before
  int status = 0;
  waitpid(*pid, &status, 0);
  while (said.ends_with('\n')) said.pop_back();
  if (said.starts_with("sluice: ")) said.erase(0, 8);
  if (said.empty())
    said = fmt::format("the controller of the store could not be started: {}", EndOf(status));
  return FailedPrecondition(said);
}

}  // namespace

Result<Link> Link::Connect(const StorePaths& paths) {
  SLUICE_ASSIGN(const int descriptor, ConnectTo(paths.socket));
  return Link(descriptor);
}

Result<Link> Link::ConnectOrStart(const StorePaths& paths) {
  const auto until = steady_clock::now() + kStorePatience;
  while (true) {
    auto link = Connect(paths);
    const LockHolder holder = FindLockHolder(paths);
    if (link && !IsOfEarlierSluice(holder)) return link;
    if (holder.pid == 0) {
      const Status started = StartController(paths);
      if (started) continue;
      // Another process may have taken the store since, and may have released it again.
      if (!IsInUse(started.error()) || steady_clock::now() > until)
        return std::unexpected(started.error());
    } else if (IsOfEarlierSluice(holder) || steady_clock::now() > until) {
      return InUse(paths, holder);
    }
    usleep(kTryEveryUs);  // it is about to listen, to leave, or to release the store
  }
}

Result<Link> Link::Borrowed(const StorePaths& paths) {
  const auto until = steady_clock::now() + kStorePatience;
  while (true) {
    SLUICE_ASSIGN(Link link, ConnectOrStart(paths));
    const Status lent = link.Borrow();
    if (lent) return link;
    if (lent.error().code != ErrorCode::kUnavailable || steady_clock::now() > until)
      return std::unexpected(lent.error());
    usleep(kTryEveryUs);  // it was about to leave, or dies
  }
}

Link::Link(Link&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Link& Link::operator=(Link&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Link::~Link() {
  if (descriptor_ >= 0) close(descriptor_);
}

int Link::pid() const {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  const bool known = getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0;
  return known ? credentials.pid : 0;
}

Status Link::Tell(const wire::Ask& ask) {
  const std::string line = wire::Encode(wire::FromWorker(ask)) + "\n";
  if (line.size() > wire::kLongestLine) {
    return InvalidArgument(fmt::format(
        "expected at most 1 MiB of points at once while the study runs, found {} points "
        "with more: give them in parts",
        ask.points.size()));
  }
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t size = send(descriptor_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return Gone();
    sent += static_cast<std::size_t>(size);
  }
  return {};
}

Result<wire::Answer> Link::TakeAnswer(Duration patience) {
  constexpr long kLongestPollMs = 60'000;
  std::string reply;
  const auto until = steady_clock::now() + patience;
  while (!reply.contains('\n')) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
    pollfd arrived{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = poll(&arrived, 1, static_cast<int>(std::clamp(left, 0L, kLongestPollMs)));
    if (ready == 0 && left > kLongestPollMs) continue;
    if (ready == 0) return Unavailable("the controller of the store did not answer: try again");
    std::array<char, 4096> buffer;
    const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return Gone();
    reply.append(buffer.data(), static_cast<std::size_t>(size));
  }
  SLUICE_ASSIGN(const wire::ToWorker message,
                wire::DecodeToWorker(reply.substr(0, reply.find('\n'))));
  const auto* answer = std::get_if<wire::Answer>(&message);
  if (answer == nullptr)
    return FailedPrecondition(
        "the controller of the store did not understand: is it of another "
        "version of sluice? Let its studies end, then try again");
  return *answer;
}

Result<wire::Answer> Link::Ask(const wire::Ask& ask, Duration patience) {
  SLUICE_TRY(Tell(ask));
  SLUICE_ASSIGN(wire::Answer answer, TakeAnswer(patience));
  if (!answer.ok) return FailedPrecondition(answer.message);
  return answer;
}

Status Link::Borrow() {
  SLUICE_TRY(Ask({.verb = "lend", .study = "", .trial = {}, .version = kVersion}));
  return {};
}

// The controller says nothing while the pen is borrowed. It closes the connection if it takes the
// pen back.
Status Link::CheckPen() const {
  char byte = 0;
  const ssize_t size = recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
  return Unavailable(
      "the controller of the store has gone, or has waited too long for this command: nothing was "
      "written; try again");
}

Result<std::unique_ptr<Ledger>> Link::OpenLedger(const StorePaths& paths) {
  SLUICE_ASSIGN(auto ledger, Ledger::Open(paths.database));
  ledger->SetGuard([this] { return CheckPen(); });
  return ledger;
}

Result<Pen> Pen::Take(const StorePaths& paths, const std::string& purpose) {
  const auto until = steady_clock::now() + kStorePatience;
  while (true) {
    Pen pen;
    auto link = Link::Connect(paths);
    if (link && !IsOfEarlierSluice(FindLockHolder(paths))) {
      const Status lent = link->Borrow();
      if (lent) {
        pen.link_ = std::move(*link);
        return pen;
      }
      if (lent.error().code != ErrorCode::kUnavailable) return std::unexpected(lent.error());
    }
    auto lock = StoreLock::Acquire(paths, purpose);
    if (lock) {
      pen.lock_ = std::make_unique<StoreLock>(std::move(*lock));
      return pen;
    }
    // A controller may be about to listen, or to leave.
    const bool is_older = IsOfEarlierSluice(FindLockHolder(paths));
    if (!IsInUse(lock.error()) || is_older || steady_clock::now() > until)
      return std::unexpected(lock.error());
    usleep(kTryEveryUs);
  }
}

Result<std::unique_ptr<Ledger>> Pen::OpenLedger(const StorePaths& paths) {
  if (link_) return link_->OpenLedger(paths);
  // Launchers that were killed while no controller lived may have left processes.
  KillOrphans(paths.files + "/studies");
  return OpenLocked(paths, *lock_);
}

}  // namespace sluice
