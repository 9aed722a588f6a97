// Preloaded into a process under test, it stands between the process and the disk:
//   SLUICE_FAULT_UNDER=DIR          only files below DIR are meant
//   SLUICE_FAULT_NOSPACE_AFTER=N    writes fail with ENOSPC once N bytes were written
//   SLUICE_FAULT_NOLOCKS=1          locks fail with ENOLCK, as on a network folder without them
//   SLUICE_FAULT_SYNC_MS=X          every sync takes at least X milliseconds
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_llong written_bytes;

static int is_meant(int descriptor) {
  const char* under = getenv("SLUICE_FAULT_UNDER");
  if (under == NULL) return 1;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = '\0';
  return strncmp(path, under, strlen(under)) == 0;
}

static int is_full(int descriptor, size_t size) {
  const char* limit = getenv("SLUICE_FAULT_NOSPACE_AFTER");
  if (limit == NULL || !is_meant(descriptor)) return 0;
  if (atomic_fetch_add(&written_bytes, (long long)size) + (long long)size <= atoll(limit)) return 0;
  errno = ENOSPC;
  return 1;
}

#define REAL(name)               \
  static __typeof__(name)* real; \
  if (real == NULL) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)

ssize_t write(int descriptor, const void* bytes, size_t size) {
  REAL(write);
  return is_full(descriptor, size) ? -1 : real(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  REAL(pwrite);
  return is_full(descriptor, size) ? -1 : real(descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  REAL(pwrite64);
  return is_full(descriptor, size) ? -1 : real(descriptor, bytes, size, offset);
}

static void until_synced(struct timespec begin) {
  const char* wanted = getenv("SLUICE_FAULT_SYNC_MS");
  if (wanted == NULL) return;
  const double end_ms = (double)begin.tv_sec * 1e3 + (double)begin.tv_nsec / 1e6 + atof(wanted);
  const struct timespec until = {(time_t)(end_ms / 1e3),
                                 (long)((end_ms - (double)(time_t)(end_ms / 1e3) * 1e3) * 1e6)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int fsync(int descriptor) {
  REAL(fsync);
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const int result = real(descriptor);
  until_synced(begin);
  return result;
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const int result = real(descriptor);
  until_synced(begin);
  return result;
}

static int is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

static int locked_fcntl(int (*real)(int, int, ...), int descriptor, int command, void* argument) {
  if (getenv("SLUICE_FAULT_NOLOCKS") != NULL && is_lock(command) && is_meant(descriptor)) {
    errno = ENOLCK;
    return -1;
  }
  return real(descriptor, command, argument);
}

int fcntl(int descriptor, int command, ...) {
  REAL(fcntl);
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return locked_fcntl(real, descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) {
  REAL(fcntl64);
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return locked_fcntl(real, descriptor, command, argument);
}
