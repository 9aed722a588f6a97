#include "launcher/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "launcher/small_file.h"

namespace sluice {
namespace {

constexpr int kKillRounds = 2000;
constexpr long kKillRoundNs = 2'000'000;
constexpr std::size_t kLongestEnvironment = 8 << 20;
constexpr int kDeepestTree = 1000;

// Calls `visit` with each entry of a folder under /proc that is a number: a process or a thread.
template <typename Visit>
void ForEachNumber(const char* folder, Visit visit) {
  DIR* listing = opendir(folder);
  if (listing == nullptr) return;
  while (const dirent* entry = readdir(listing)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0)
      visit(static_cast<pid_t>(std::atol(entry->d_name)));
  }
  closedir(listing);
}

// The fields of /proc/PID/stat after the command's name; empty if there is no such process. The
// last ')' ends the name, which may itself contain any characters.
std::string StatOf(pid_t pid) {
  const std::string stat = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? std::string()
                                                                      : stat.substr(name_end + 2);
}

// The rest of `stat` from the field with this number on. Field 3 is the first after the name.
const char* Field(const std::string& stat, int number) {
  const char* rest = stat.c_str();
  for (int field = 3; field < number; ++field) {
    rest = std::strchr(rest, ' ');
    if (rest == nullptr) return "";
    ++rest;
  }
  return rest;
}

bool IsZombie(const std::string& stat) { return stat[0] == 'Z' || stat[0] == 'X'; }

std::string EnvironmentOf(pid_t pid) {
  std::string text;
  const int descriptor =
      open(("/proc/" + std::to_string(pid) + "/environ").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  char buffer[65536];
  ssize_t size = 0;
  while (text.size() < kLongestEnvironment && (size = read(descriptor, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(size));
  close(descriptor);
  return text;
}

// The value of a variable in an environment; empty if it has none.
std::string VariableOf(const std::string& environment, const std::string& name) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::string variable = environment.c_str() + at;
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
    at += variable.size() + 1;
  }
  return "";
}

bool HasMark(const std::string& environment, const std::string& mark) {
  const std::string marks = " " + VariableOf(environment, kMarks) + " ";
  return marks.find(" " + mark + " ") != std::string::npos;
}

// Whether a process is about to become another program. For a moment, such a process has memory and
// no environment yet. (Threads of the kernel have no environment either, but never have memory.)
// Returns false for a process that this process may not inspect: the kernel hides its addresses,
// and says that its code is at 1.
bool IsBecoming(pid_t pid) {
  struct stat owner{};
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &owner) != 0 || owner.st_uid != geteuid())
    return false;
  const std::string its = StatOf(pid);
  const auto number = [&](int field) { return std::strtoull(Field(its, field), nullptr, 10); };
  return !its.empty() && !IsZombie(its) && number(23) != 0 && number(26) != 1 && number(51) == 0;
}

void Rest() {
  const timespec round{.tv_sec = 0, .tv_nsec = kKillRoundNs};
  nanosleep(&round, nullptr);
}

}  // namespace

unsigned long long StartOf(pid_t pid) {
  const std::string stat = StatOf(pid);
  return stat.empty() || IsZombie(stat) ? 0 : std::strtoull(Field(stat, 22), nullptr, 10);
}

unsigned long long ImageOf(pid_t pid) {
  const std::string stat = StatOf(pid);
  return stat.empty() ? 0 : std::strtoull(Field(stat, 28), nullptr, 10);
}

std::string BootId() {
  std::string boot = ReadSmallFile("/proc/sys/kernel/random/boot_id");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot;
}

pid_t ParentOf(pid_t pid) {
  const std::string stat = StatOf(pid);
  return stat.empty() ? 0 : static_cast<pid_t>(std::atol(Field(stat, 4)));
}

bool IsBelow(pid_t pid, pid_t ancestor) {
  for (int depth = 0; pid > 0 && depth < kDeepestTree; ++depth) {
    if (pid == ancestor) return true;
    pid = ParentOf(pid);
  }
  return false;
}

std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  bool listed = false;  // whether the kernel lists the children; not every kernel has such lists
  ForEachNumber("/proc/self/task", [&](pid_t thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/children";
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    listed = true;
    std::string text;
    char buffer[4096];
    ssize_t size = 0;
    while ((size = read(descriptor, buffer, sizeof buffer)) > 0)
      text.append(buffer, static_cast<std::size_t>(size));
    close(descriptor);
    char* rest = text.data();
    for (long child; (child = std::strtol(rest, &rest, 10)) > 0;)
      children.push_back(static_cast<pid_t>(child));
  });
  if (listed) return children;
  ForEachNumber("/proc", [&](pid_t pid) {
    if (ParentOf(pid) == getpid()) children.push_back(pid);
  });
  return children;
}

bool KillMarked(const std::string& mark) {
  for (int round = 0; round < kKillRounds; ++round) {
    bool found = false;
    bool unclear = false;
    ForEachNumber("/proc", [&](pid_t pid) {
      const std::string environment = EnvironmentOf(pid);
      if (environment.empty()) unclear = unclear || IsBecoming(pid);
      if (pid == getpid() || !HasMark(environment, mark)) return;
      found = true;
      kill(pid, SIGKILL);
    });
    if (!found && !unclear) return true;
    Rest();
  }
  return false;
}

std::set<std::string> LaunchesAlive(const std::string& root) {
  std::set<std::string> folders;
  ForEachNumber("/proc", [&](pid_t pid) {
    const std::string file = VariableOf(EnvironmentOf(pid), "SLUICE_TRIAL_FILE");
    if (file.starts_with(root + "/")) folders.insert(file.substr(0, file.rfind('/')));
  });
  return folders;
}

bool KillStrays(const std::vector<pid_t>& known) {
  for (int round = 0; round < kKillRounds; ++round) {
    bool found = false;
    for (const pid_t child : Children()) {
      if (std::find(known.begin(), known.end(), child) != known.end()) continue;
      found = true;
      kill(child, SIGKILL);
      waitpid(child, nullptr, WNOHANG);
    }
    if (!found) return true;
    Rest();
  }
  return false;
}

}  // namespace sluice
