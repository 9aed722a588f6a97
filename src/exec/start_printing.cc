#include "exec/start_printing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstring>

extern char** environ;

namespace sluice {
namespace {

void Detach(posix_spawn_file_actions_t& actions, posix_spawnattr_t& attributes) {
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t blocked;
  sigemptyset(&blocked);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  sigset_t heard;
  sigemptyset(&heard);
  for (const int word : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&heard, word);
  posix_spawnattr_setsigdefault(&attributes, &heard);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

Result<pid_t> StartPrinting(const PrintingProgram& program) {
  std::vector<std::string> words = program.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, program.prints_to, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, program.prints_to, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (program.detached) Detach(actions, attributes);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.path.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return Unavailable(
      fmt::format("cannot start {} in {}: {}", program.path, program.folder, std::strerror(error)));
}

}  // namespace sluice
