// A library to preload for versions of valgrind that do not know pidfds. It returns a pipe in place
// of a pidfd. A shell holds the other end of the pipe open until the process has ended. This adds
// almost nothing to the instructions that valgrind counts: the shell is another process, and each
// launch makes only one such call.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 4096

extern char** environ;

static pid_t process_of[MOST];  // the process for each descriptor

static int open_pidfd(pid_t process) {
  static const char kWait[] =
      "while [ -e /proc/$1/status ] && ! grep -q '^State:.Z' /proc/$1/status; do sleep 0.005; done";
  int ends[2];
  if (kill(process, 0) != 0 || pipe2(ends, O_CLOEXEC) != 0) return -1;
  if (ends[0] >= MOST) {
    errno = EMFILE;
    return -1;
  }
  char number[16];
  snprintf(number, sizeof number, "%d", (int)process);
  char* arguments[] = {"sh", "-c", (char*)kWait, "sh", number, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 9);
  char* bare[] = {"PATH=/usr/bin:/bin", NULL};
  pid_t shell = 0;
  const int error = posix_spawn(&shell, "/bin/sh", &actions, NULL, arguments, bare);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    errno = error;
    return -1;
  }
  process_of[ends[0]] = process;
  return ends[0];
}

long syscall(long number, ...) {
  static long (*next)(long, ...);
  if (next == NULL) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_pidfd_open) return open_pidfd((pid_t)a[0]);
  if (number == SYS_pidfd_send_signal) return kill(process_of[a[0]], (int)a[1]);
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  static int (*next)(idtype_t, id_t, siginfo_t*, int);
  if (next == NULL) next = (int (*)(idtype_t, id_t, siginfo_t*, int))dlsym(RTLD_NEXT, "waitid");
  if (type == (idtype_t)P_PIDFD) return next(P_PID, (id_t)process_of[id], info, options);
  return next(type, id, info, options);
}
