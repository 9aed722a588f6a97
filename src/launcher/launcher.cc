#include "launcher/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "launcher/capture.h"
#include "launcher/claim.h"
#include "launcher/process.h"
#include "launcher/process_limits.h"

namespace sluice {
namespace {

constexpr int kUsage = 2;
constexpr int kNeverRan = 127;
constexpr int kCannotWrite = 126;
constexpr long long kDrainMs = 1000;  // for how long output is read after the program has ended
constexpr long long kDiskPatienceMs = 30'000;  // how long to wait for a full disk at the end
constexpr int kAgainMs = 20;

long long NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1'000'000;
}

int OpenOutput(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
};

// The limits that the program is to have. Nothing if none were given, or if the text is not one of
// limits: then the program has the launcher's.
std::optional<ProcessLimits> TakeProgramLimits() {
  const char* text = std::getenv(kProgramLimits);
  if (text == nullptr) return std::nullopt;
  const std::optional<ProcessLimits> limits = ParseLimits(text);
  unsetenv(kProgramLimits);
  return limits;
}

// What becomes the program's, and not the launcher's.
struct Program {
  char** arguments;
  std::optional<ProcessLimits> limits;
};

// Errors that are the machine's fault and not the program's.
bool IsOfMachine(int error) {
  return error == EAGAIN || error == ENOMEM || error == ENFILE || error == EMFILE ||
         error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO;
}

// Runs in the child between fork and exec. The child leads a new process group, with default
// signals and the mark of its launcher. It waits for a byte on the socket `line`. The launcher
// sends the byte once FOLDER/program holds the child's pid. Then the child becomes the program. If
// that fails, it writes the errno to `line`.
[[noreturn]] void BecomeProgram(const Program& program, int line, const Pipe& out,
                                const Pipe& err) {
  setpgid(0, 0);
  // If the launcher is killed, the kernel kills the program, and the controller kills the processes
  // that the program started.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char word = 0;
  if (read(line, &word, 1) != 1) _exit(kNeverRan);  // the launcher died first
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  if (nothing != STDIN_FILENO) close(nothing);
  dup2(out.write_end, STDOUT_FILENO);
  dup2(err.write_end, STDERR_FILENO);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (program.limits) ApplyLimits(*program.limits);
  execvp(program.arguments[0], program.arguments);
  const int error = errno;
  (void)!write(line, &error, sizeof error);
  _exit(kNeverRan);
}

// Starts the program. It never runs before FOLDER/program names its process. Returns 0 on success,
// else an errno.
int Start(const std::string& folder, const Program& program, const Pipe& out, const Pipe& err,
          pid_t& pid) {
  int line[2];  // the launcher's end and the child's end
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) return errno;
  pid = fork();
  if (pid == 0) {
    close(line[0]);
    BecomeProgram(program, line[1], out, err);
  }
  int error = pid < 0 ? errno : 0;
  close(line[1]);
  if (error == 0) {
    setpgid(pid, pid);
    const char go = 1;
    if (!WriteProgram(folder, pid)) {
      error = errno;
    } else if (write(line[0], &go, 1) == 1) {
      // Waits until the child has become the program, or has said why it could not.
      if (read(line[0], &error, sizeof error) != sizeof error) error = 0;
    }
  }
  close(line[0]);  // a child that has received no byte ends now
  if (error != 0 && pid > 0) waitpid(pid, nullptr, 0);
  return error;
}

void AddMark(const Claim& claim) {
  const char* outer = std::getenv(kMarks);
  const std::string mark = MarkOf(claim);
  setenv(kMarks, (outer != nullptr ? std::string(outer) + " " + mark : mark).c_str(), 1);
}

// Watches the program from its start until no process that it started is left.
class Watch {
 public:
  Watch(pid_t program, int signals, long long grace_ms, Capture out, Capture err)
      : program_(program),
        signals_(signals),
        grace_ms_(grace_ms),
        out_(std::move(out)),
        err_(std::move(err)) {}

  ExitRecord UntilEnd() {
    while (!ended_ || children_left_ || MoreToWrite()) Step();
    out_.GiveUp();
    record_.dropped_bytes = out_.dropped_bytes() + err_.dropped_bytes();
    record_.lost_bytes = out_.lost_bytes();
    return record_;
  }

 private:
  bool MoreToWrite() const {
    const bool more_comes = (out_open_ || err_open_) && NowMs() < ended_at_ + kDrainMs;
    return more_comes || (out_.waits() && NowMs() < ended_at_ + kDiskPatienceMs);
  }

  void Step() {
    pollfd polled[] = {{signals_, POLLIN, 0},
                       {out_open_ ? out_.descriptor() : -1, POLLIN, 0},
                       {err_open_ ? err_.descriptor() : -1, POLLIN, 0}};
    if (poll(polled, 3, TimeoutMs()) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) out_open_ = out_.Pump();
    if (polled[2].revents != 0) err_open_ = err_.Pump();
    if (out_.waits()) out_.TryAgain();
    if (err_.waits()) err_.TryAgain();
    if (polled[0].revents != 0) Signals();
    if (!ended_ && kill_at_ != 0 && NowMs() >= kill_at_) Kill();
    if (ended_ && children_left_) KillRest();
  }

  int TimeoutMs() const {
    if (ended_ || out_.waits() || err_.waits()) return kAgainMs;
    if (kill_at_ == 0) return -1;
    const long long left = kill_at_ - NowMs();
    return left > 0 ? static_cast<int>(left < 60000 ? left : 60000) : 0;
  }

  void Signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTERM && kill_at_ == 0 && !ended_) {
        record_.asked = true;
        kill(-program_, SIGTERM);
        kill_at_ = NowMs() + grace_ms_;
      }
      if (info.ssi_signo == SIGUSR1 && !ended_) Kill();
      if (info.ssi_signo == SIGCHLD) Reap();
    }
  }

  void Kill() {
    kill(-program_, SIGKILL);
    kill(program_, SIGKILL);    // the program may have joined another group
    kill_at_ = NowMs() + 1000;  // kills again, in case a process was just being started
  }

  // Reaps children. The launcher is a subreaper, so a process that the program started becomes its
  // child once the process's own parent is dead.
  void Reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != program_) continue;
      record_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      record_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      ended_ = true;
      ended_at_ = NowMs();
      kill(-program_, SIGKILL);
    }
    children_left_ = pid == 0;
  }

  // Kills the launcher's children, which include orphans of children that have died. It is called
  // until none is left, except those that the launcher may not kill.
  void KillRest() {
    int refused = 0;
    int killed = 0;
    for (const pid_t child : Children()) {
      const bool may = kill(child, SIGKILL) == 0 || errno != EPERM;
      ++(may ? killed : refused);
    }
    Reap();
    if (!children_left_ || killed > 0 || NowMs() < ended_at_ + kDrainMs) return;
    record_.unkilled = refused;
    children_left_ = false;
  }

  pid_t program_;
  int signals_;
  long long grace_ms_;
  Capture out_;
  Capture err_;
  bool out_open_ = true;
  bool err_open_ = true;
  bool ended_ = false;
  bool children_left_ = true;
  long long kill_at_ = 0;
  long long ended_at_ = 0;
  ExitRecord record_;
};

// Writes the exit record, and tries again if the machine cannot write it, for example because the
// disk is full. If the folder is gone, gives up.
void WriteExitPatiently(const std::string& folder, const ExitRecord& record) {
  const long long until = NowMs() + kDiskPatienceMs;
  while (!WriteExit(folder, record) && IsOfMachine(errno) && NowMs() < until)
    poll(nullptr, 0, kAgainMs);
}

}  // namespace

int RunLauncher(int argc, char** argv) {
  if (argc < 5) {
    constexpr char kText[] =
        "usage: sluice-launcher FOLDER GRACE_MS CAP_BYTES PROGRAM [ARGUMENT...]\n";
    (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
    return kUsage;
  }
  const std::string folder = argv[1];
  const long long grace_ms = std::atoll(argv[2]);
  const long long cap_bytes = std::atoll(argv[3]);

  sigset_t mask;
  sigfillset(&mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGUSR1);
  const int signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  const Program program{.arguments = argv + 4, .limits = TakeProgramLimits()};

  const Claim claim = ClaimOfSelf(folder);
  switch (MakeClaim(folder, claim)) {
    case Claimed::kMade: break;
    // Another launcher carries the launch, or a controller took it back.
    case Claimed::kTaken: return 0;
    case Claimed::kFailed: return kCannotWrite;
  }
  AddMark(claim);

  Pipe out;
  Pipe err;
  pid_t pid = 0;
  ExitRecord record;
  const int out_file = OpenOutput(folder + "/stdout");
  const int err_file = OpenOutput(folder + "/stderr");
  const bool ready = signals >= 0 && out_file >= 0 && err_file >= 0 && out.Open() && err.Open();
  const int unready = ready ? 0 : errno;
  const int error = ready ? Start(folder, program, out, err, pid) : unready;
  if (error != 0) {
    record.code = 127;
    record.machine = !ready || IsOfMachine(error);
    record.error =
        std::string("cannot start '") + program.arguments[0] + "': " + std::strerror(error);
  } else {
    close(out.write_end);
    close(err.write_end);
    record = Watch(pid, signals, grace_ms, Capture(out.read_end, out_file, cap_bytes),
                   Capture(err.read_end, err_file, cap_bytes))
                 .UntilEnd();
  }
  WriteExitPatiently(folder, record);
  return record.code;
}

}  // namespace sluice
