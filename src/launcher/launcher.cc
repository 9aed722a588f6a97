#include "launcher/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "launcher/capture.h"
#include "launcher/claim.h"

extern char** environ;

namespace sluice {
namespace {

constexpr int kUsage = 2;
constexpr long long kDrainMs = 1000;  // how long output may still come once the program has ended

long long NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1'000'000;
}

int OpenOutput(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
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

// The controller may have raised its own limit; programs that still use select() would not bear it.
void LowerDescriptorLimit() {
  const char* wanted = std::getenv(kDescriptorLimit);
  rlimit limit{};
  if (wanted == nullptr || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::strtoull(wanted, nullptr, 10);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  unsetenv(kDescriptorLimit);
}

// Starts the program as the leader of a new group, with default signals. 0 on success, else an
// errno.
int Spawn(char** program, const Pipe& out, const Pipe& err, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(&pid, program[0], &actions, &attributes, program, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// The program from its start to its end.
class Watch {
 public:
  Watch(pid_t program, int signals, long long grace_ms, Capture out, Capture err)
      : program_(program),
        signals_(signals),
        grace_ms_(grace_ms),
        out_(std::move(out)),
        err_(std::move(err)) {}

  ExitRecord UntilEnd() {
    while (!ended_ || ((out_open_ || err_open_) && NowMs() < drain_until_)) Step();
    record_.dropped_bytes = out_.dropped_bytes() + err_.dropped_bytes();
    return record_;
  }

 private:
  void Step() {
    pollfd polled[] = {{signals_, POLLIN, 0},
                       {out_open_ ? out_.descriptor() : -1, POLLIN, 0},
                       {err_open_ ? err_.descriptor() : -1, POLLIN, 0}};
    if (poll(polled, 3, TimeoutMs()) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) out_open_ = out_.Pump();
    if (polled[2].revents != 0) err_open_ = err_.Pump();
    if (polled[0].revents != 0) Signals();
    if (!ended_ && kill_at_ != 0 && NowMs() >= kill_at_) Kill();
  }

  int TimeoutMs() const {
    const long long until = ended_ ? drain_until_ : kill_at_;
    if (until == 0) return -1;
    const long long left = until - NowMs();
    return left > 0 ? static_cast<int>(left < 60000 ? left : 60000) : 0;
  }

  void Signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTERM && kill_at_ == 0 && !ended_) {
        kill(-program_, SIGTERM);
        kill_at_ = NowMs() + grace_ms_;
      }
      if (info.ssi_signo == SIGUSR1 && !ended_) Kill();
      if (info.ssi_signo == SIGCHLD) Reap();
    }
  }

  void Kill() {
    kill(-program_, SIGKILL);
    kill_at_ = NowMs() + 1000;  // again, should something in the group have been starting
  }

  void Reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != program_) continue;  // an orphan of the program: we are its subreaper
      record_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      record_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      ended_ = true;
      drain_until_ = NowMs() + kDrainMs;
      kill(-program_, SIGKILL);
    }
  }

  pid_t program_;
  int signals_;
  long long grace_ms_;
  Capture out_;
  Capture err_;
  bool out_open_ = true;
  bool err_open_ = true;
  bool ended_ = false;
  long long kill_at_ = 0;
  long long drain_until_ = 0;
  ExitRecord record_;
};

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

  LowerDescriptorLimit();

  if (!MakeClaim(folder, ClaimOfSelf(folder)))
    return 0;  // the launch was taken back: nobody waits for us

  Pipe out;
  Pipe err;
  pid_t program = 0;
  ExitRecord record;
  const int out_file = OpenOutput(folder + "/stdout");
  const int err_file = OpenOutput(folder + "/stderr");
  int error = signals < 0 || out_file < 0 || err_file < 0 || !out.Open() || !err.Open() ? errno : 0;
  if (error == 0) error = Spawn(argv + 4, out, err, program);
  if (error != 0) {
    record.code = 127;
    record.error = std::string("cannot start '") + argv[4] + "': " + std::strerror(error);
  } else {
    WriteProgram(folder, program);
    close(out.write_end);
    close(err.write_end);
    record = Watch(program, signals, grace_ms, Capture(out.read_end, out_file, cap_bytes),
                   Capture(err.read_end, err_file, cap_bytes))
                 .UntilEnd();
  }
  WriteExit(folder, record);
  return record.code;
}

}  // namespace sluice
