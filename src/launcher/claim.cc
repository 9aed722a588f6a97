#include "launcher/claim.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sluice {
namespace {

std::string ReadSmallFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  char buffer[8192];
  const ssize_t size = read(descriptor, buffer, sizeof buffer);
  close(descriptor);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
}

bool WriteSmallFile(const std::string& path, const std::string& text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return false;
  const bool written =
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return close(descriptor) == 0 && written;
}

std::string NextWord(const char*& text) {
  const char* end = std::strpbrk(text, " \n");
  std::string word = end != nullptr ? std::string(text, end) : std::string(text);
  text = end != nullptr ? end + 1 : text + word.size();
  return word;
}

// Field 22 of /proc/PID/stat, counted behind the command's name, which may hold anything; 0 if
// there is no such process or it is a zombie.
unsigned long long StartOf(pid_t pid) {
  const std::string stat = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return 0;
  if (stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X') return 0;
  const char* rest = stat.c_str() + name_end + 2;
  for (int field = 3; field < 22; ++field) {
    rest = std::strchr(rest, ' ');
    if (rest == nullptr) return 0;
    ++rest;
  }
  return std::strtoull(rest, nullptr, 10);
}

std::string BootId() {
  std::string boot = ReadSmallFile("/proc/sys/kernel/random/boot_id");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot;
}

Claim ClaimOf(pid_t pid, const std::string& host) {
  return {.pid = pid, .start = StartOf(pid), .boot = BootId(), .host = host};
}

std::string Format(const Claim& claim) {
  return std::to_string(claim.pid) + " " + std::to_string(claim.start) + " " +
         (claim.boot.empty() ? "-" : claim.boot) + " " + claim.host + "\n";
}

std::optional<Claim> ReadClaimFile(const std::string& path) {
  const std::string text = ReadSmallFile(path);
  if (text.empty()) return std::nullopt;
  const char* rest = text.c_str();
  Claim claim;
  claim.pid = static_cast<pid_t>(std::atol(NextWord(rest).c_str()));
  claim.start = std::strtoull(NextWord(rest).c_str(), nullptr, 10);
  claim.boot = NextWord(rest);
  claim.host = rest;
  while (!claim.host.empty() && claim.host.back() == '\n') claim.host.pop_back();
  return claim;
}

}  // namespace

Claim ClaimOfSelf(const std::string& host) { return ClaimOf(getpid(), host); }

bool MakeClaim(const std::string& folder, const Claim& claim) {
  // Written aside and linked into place: whoever sees a claim sees all of it, and only one link
  // succeeds.
  const std::string aside = folder + "/claim." + std::to_string(getpid());
  if (!WriteSmallFile(aside, Format(claim))) return false;
  const bool first = link(aside.c_str(), (folder + "/claim").c_str()) == 0;
  unlink(aside.c_str());
  return first;
}

std::optional<Claim> ReadClaim(const std::string& folder) {
  return ReadClaimFile(folder + "/claim");
}

bool IsAlive(const Claim& claim) {
  return claim.pid > 0 && claim.start != 0 && claim.boot == BootId() &&
         StartOf(claim.pid) == claim.start;
}

bool WriteProgram(const std::string& folder, pid_t pid) {
  return WriteSmallFile(folder + "/program", Format(ClaimOf(pid, folder)));
}

void KillProgram(const std::string& folder) {
  const std::optional<Claim> program = ReadClaimFile(folder + "/program");
  if (program && IsAlive(*program)) kill(-program->pid, SIGKILL);
}

bool WriteExit(const std::string& folder, const ExitRecord& record) {
  const std::string aside = folder + "/exit.tmp";
  const std::string text = std::to_string(record.code) + " " + std::to_string(record.signal) + " " +
                           std::to_string(record.dropped_bytes) + " " + record.error + "\n";
  return WriteSmallFile(aside, text) && rename(aside.c_str(), (folder + "/exit").c_str()) == 0;
}

std::optional<ExitRecord> ReadExit(const std::string& folder) {
  const std::string text = ReadSmallFile(folder + "/exit");
  if (text.empty()) return std::nullopt;
  const char* rest = text.c_str();
  ExitRecord record;
  record.code = std::atoi(NextWord(rest).c_str());
  record.signal = std::atoi(NextWord(rest).c_str());
  record.dropped_bytes = std::atoll(NextWord(rest).c_str());
  record.error = rest;
  while (!record.error.empty() && record.error.back() == '\n') record.error.pop_back();
  return record;
}

}  // namespace sluice
