#pragma once

// For tests: a temporary folder for a launch, and a launcher that runs in a process of its own.

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "launcher/claim.h"
#include "launcher/launcher.h"

namespace sluice {

class LaunchFolder {
 public:
  LaunchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-launch-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) abort();
    path_ = name;
  }
  ~LaunchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  LaunchFolder(const LaunchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

// Waits until the condition is true, for at most ten seconds. Returns false if it is not by then.
inline bool Becomes(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Whether there is such a process and it is not a zombie.
inline bool Exists(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

// A launcher in a process of its own.
class TestLauncher {
 public:
  TestLauncher(const std::string& folder, std::vector<std::string> program,
               long long grace_ms = 5000, long long cap_bytes = 1 << 20) {
    std::vector<std::string> items = {"sluice-launcher", folder, std::to_string(grace_ms),
                                      std::to_string(cap_bytes)};
    items.insert(items.end(), program.begin(), program.end());
    pid_ = fork();
    if (pid_ != 0) return;
    std::vector<char*> argv;
    for (std::string& item : items) argv.push_back(item.data());
    argv.push_back(nullptr);
    _exit(RunLauncher(static_cast<int>(items.size()), argv.data()));
  }
  ~TestLauncher() {
    if (pid_ == 0) return;
    kill(pid_, SIGUSR1);
    (void)Wait();
  }

  pid_t pid() const { return pid_; }
  void Signal(int signal) const { kill(pid_, signal); }
  // Waits until the launcher has ended. Returns its exit code; -1 if it was killed.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace sluice
