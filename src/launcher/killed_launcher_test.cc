// Kills a launcher at each of its system calls, from its first to its last. Each time, the next
// controller must find every process of the launch that still runs, and end it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <cstdlib>

#include "launcher/test_folder.h"

namespace sluice {
namespace {

using ::testing::IsEmpty;

// Processes whose environment has this variable.
std::vector<pid_t> ProcessesWith(const std::string& variable) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (environment.find(variable) == std::string::npos) continue;
    found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

// Where the count of stops begins.
enum class From { kStart, kExitRecord };

// Runs a launcher until the stop with this number, and kills it there. A stop is before or after a
// system call. Returns the number of stops that were reached, which is less than `stop` if the
// launcher ended before.
int KillAtStop(const std::string& folder, const std::string& variable, From from, int stop) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    setenv("SLUICE_TEST_LAUNCH", variable.c_str(), 1);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    std::vector<std::string> items = {
        "sluice-launcher",
        folder,
        "1000",
        "1000",
        "sh",
        "-c",
        "cd " + folder + "; echo > ran; setsid sleep 1000 & echo out; exit 0"};
    std::vector<char*> argv;
    for (std::string& item : items) argv.push_back(item.data());
    argv.push_back(nullptr);
    _exit(RunLauncher(static_cast<int>(items.size()), argv.data()));
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  int at = 0;
  for (bool counts = from == From::kStart; at < stop; at += counts ? 1 : 0) {
    ptrace(PTRACE_SYSCALL, launcher, nullptr, nullptr);
    waitpid(launcher, &status, 0);
    if (!WIFSTOPPED(status)) return at;
    counts = counts || ReadExit(folder).has_value();
  }
  kill(launcher, SIGKILL);
  waitpid(launcher, &status, 0);
  return at;
}

TEST(KilledLauncherTest, LeavesNothingUnseenWhereverItIsKilled) {
  const pid_t probe = fork();
  if (probe == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  int allowed = 0;
  waitpid(probe, &allowed, 0);
  if (!WIFEXITED(allowed) || WEXITSTATUS(allowed) != 0)
    GTEST_SKIP() << "this machine does not let one process trace another";

  int ran = 0;
  int never_ran = 0;
  int written = 0;
  // Kills a launcher at a stop and checks what is left. Returns false if the launcher ended before
  // that stop.
  const auto try_stop = [&](From from, int stop) {
    const std::string name = std::to_string(stop) + (from == From::kStart ? "" : "-after-exit");
    SCOPED_TRACE("stop " + name);
    const LaunchFolder folder;
    const std::string variable = "killed-launcher-" + std::to_string(getpid()) + "-" + name + ".";
    const bool stopped = KillAtStop(folder.path(), variable, from, stop) == stop;
    const bool claimed = ReadClaim(folder.path()).has_value();
    const bool ended = ReadExit(folder.path()).has_value();
    if (!stopped || ended) {
      EXPECT_THAT(ProcessesWith(variable), IsEmpty());
    }
    if (!stopped) return false;
    written += ended ? 1 : 0;
    // What the next controller does.
    EXPECT_TRUE(KillLaunch(folder.path()));
    EXPECT_THAT(ProcessesWith(variable), IsEmpty());
    const bool has_run = std::filesystem::exists(folder.path() + "/ran");
    ++(has_run ? ran : never_ran);
    if (has_run) {
      EXPECT_TRUE(claimed);
      EXPECT_NE(folder.Read("program"), "");
      return true;
    }
    // A child that waited for its launcher never becomes the program.
    usleep(5000);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/ran"));
    EXPECT_THAT(ProcessesWith(variable), IsEmpty());
    return true;
  };
  // The number of stops depends on how often the launcher is woken. The last stop counts as passed
  // only when the launcher ended before its stop several times in a row.
  const int every = std::getenv("SLUICE_SOAK") != nullptr ? 1 : 3;
  for (int stop = 1, past = 0; past < 10; stop += every)
    past = try_stop(From::kStart, stop) ? 0 : past + 1;
  for (int stop = 1; try_stop(From::kExitRecord, stop);) ++stop;
  // The launcher was killed in each phase of its life.
  EXPECT_GT(ran, 5);
  EXPECT_GT(never_ran, 5);
  EXPECT_GT(written, 0);
}

}  // namespace
}  // namespace sluice
