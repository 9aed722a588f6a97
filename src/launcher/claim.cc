#include "launcher/claim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launcher/process.h"
#include "launcher/small_file.h"

namespace sluice {
namespace {

// Exit records that begin with this word have more fields than the first form.
constexpr const char* kSecondForm = "v2";
// Flags of an exit record.
constexpr int kOfMachine = 1;
constexpr int kAsked = 2;

std::string NextWord(const char*& text) {
  const char* end = std::strpbrk(text, " \n");
  std::string word = end != nullptr ? std::string(text, end) : std::string(text);
  text = end != nullptr ? end + 1 : text + word.size();
  return word;
}

std::string LineFrom(const char* text) {
  std::string line = text;
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

// "DEVICE:INODE" of a folder; empty if stat fails.
std::string IdentityOf(const std::string& folder) {
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0) return {};
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

bool IsIdentity(const std::string& word) {
  return word.find(':') != std::string::npos &&
         word.find_first_not_of("0123456789:") == std::string::npos;
}

Claim ClaimOf(pid_t pid, const std::string& host) {
  return {.pid = pid, .start = StartOf(pid), .boot = BootId(), .host = host};
}

std::string Format(const Claim& claim, const std::string& folder) {
  return std::to_string(claim.pid) + " " + std::to_string(claim.start) + " " +
         (claim.boot.empty() ? "-" : claim.boot) + " " + IdentityOf(folder) + " " + claim.host +
         "\n";
}

std::optional<Claim> ReadClaimFile(const std::string& folder, const char* name) {
  const std::string text = ReadSmallFile(folder + "/" + name);
  if (text.empty()) return std::nullopt;
  const char* rest = text.c_str();
  Claim claim;
  claim.pid = static_cast<pid_t>(std::atol(NextWord(rest).c_str()));
  claim.start = std::strtoull(NextWord(rest).c_str(), nullptr, 10);
  claim.boot = NextWord(rest);
  // Claims of the first form do not say where they were made.
  const char* behind = rest;
  if (const std::string identity = NextWord(behind); IsIdentity(identity)) {
    claim.copied = identity != IdentityOf(folder);
    rest = behind;
  }
  claim.host = LineFrom(rest);
  return claim;
}

}  // namespace

Claim ClaimOfSelf(const std::string& host) { return ClaimOf(getpid(), host); }

Claimed MakeClaim(const std::string& folder, const Claim& claim) {
  // The claim is written to a file of its own and linked into place. So no reader sees a part of a
  // claim, and only one process succeeds in linking.
  const std::string aside = folder + "/claim." + std::to_string(getpid());
  if (!WriteSmallFile(aside, Format(claim, folder))) {
    const int error = errno;
    unlink(aside.c_str());
    errno = error;
    return Claimed::kFailed;
  }
  const int error = link(aside.c_str(), (folder + "/claim").c_str()) == 0 ? 0 : errno;
  unlink(aside.c_str());
  errno = error;
  if (error == 0) return Claimed::kMade;
  return error == EEXIST ? Claimed::kTaken : Claimed::kFailed;
}

std::optional<Claim> ReadClaim(const std::string& folder) { return ReadClaimFile(folder, "claim"); }

bool IsAlive(const Claim& claim) {
  return !claim.copied && claim.pid > 0 && claim.start != 0 && claim.boot == BootId() &&
         StartOf(claim.pid) == claim.start;
}

std::string MarkOf(const Claim& claim) {
  return claim.boot + "." + std::to_string(claim.pid) + "." + std::to_string(claim.start);
}

bool WriteProgram(const std::string& folder, pid_t pid) {
  return WriteSmallFile(folder + "/program", Format(ClaimOf(pid, folder), folder));
}

bool KillLaunch(const std::string& folder) {
  const std::optional<Claim> program = ReadClaimFile(folder, "program");
  if (program && IsAlive(*program)) kill(-program->pid, SIGKILL);
  const std::optional<Claim> claim = ReadClaim(folder);
  if (!claim || claim->copied || claim->pid == 0 || claim->boot != BootId()) return true;
  return KillMarked(MarkOf(*claim));
}

void KillOrphans(const std::string& root) {
  for (const std::string& folder : LaunchesAlive(root)) {
    const std::optional<Claim> claim = ReadClaim(folder);
    if (claim && !claim->copied && !IsAlive(*claim)) KillLaunch(folder);
  }
}

bool WriteExit(const std::string& folder, const ExitRecord& record) {
  const std::string aside = folder + "/exit.tmp";
  const std::string text =
      std::string(kSecondForm) + " " + std::to_string(record.code) + " " +
      std::to_string(record.signal) + " " + std::to_string(record.dropped_bytes) + " " +
      std::to_string(record.lost_bytes) + " " + std::to_string(record.unkilled) + " " +
      std::to_string((record.machine ? kOfMachine : 0) + (record.asked ? kAsked : 0)) + " " +
      record.error + "\n";
  return WriteSmallFile(aside, text) && rename(aside.c_str(), (folder + "/exit").c_str()) == 0;
}

std::optional<ExitRecord> ReadExit(const std::string& folder) {
  const std::string text = ReadSmallFile(folder + "/exit");
  if (text.empty()) return std::nullopt;
  const char* rest = text.c_str();
  ExitRecord record;
  std::string word = NextWord(rest);
  const bool second = word == kSecondForm;
  if (second) word = NextWord(rest);
  record.code = std::atoi(word.c_str());
  record.signal = std::atoi(NextWord(rest).c_str());
  record.dropped_bytes = std::atoll(NextWord(rest).c_str());
  if (second) {
    record.lost_bytes = std::atoll(NextWord(rest).c_str());
    record.unkilled = std::atoi(NextWord(rest).c_str());
    const int flags = std::atoi(NextWord(rest).c_str());
    record.machine = (flags & kOfMachine) != 0;
    record.asked = (flags & kAsked) != 0;
  }
  record.error = LineFrom(rest);
  return record;
}

}  // namespace sluice
