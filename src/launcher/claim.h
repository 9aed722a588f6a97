#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace sluice {

// Which process carries a launch. A claim is made once, atomically, by whoever is first: the
// launcher that is about to start the program, or a controller that found the launch unclaimed and
// takes it back. So nothing runs twice.
struct Claim {
  pid_t pid = 0;  // 0: taken back, nobody may start it
  // When that process began, in the kernel's ticks: a pid alone may be somebody else's by now.
  unsigned long long start = 0;
  std::string boot;  // and in which life of the machine
  std::string host;  // folder of the launch that process was started for
};

// The calling process, as a claim.
Claim ClaimOfSelf(const std::string& host);
// False if the launch was claimed before. Throws nothing; an unwritable folder counts as claimed by
// somebody else.
bool MakeClaim(const std::string& folder, const Claim& claim);
std::optional<Claim> ReadClaim(const std::string& folder);
// Whether the process of the claim still lives.
bool IsAlive(const Claim& claim);

// The program itself, for the case that its launcher is killed: whoever finds no exit record ends
// what is left of it.
bool WriteProgram(const std::string& folder, pid_t pid);
// Kills the program's whole group, if it still lives.
void KillProgram(const std::string& folder);

// How the program of a launch ended, as its launcher wrote it down.
struct ExitRecord {
  int code = 0;                 // exit code, if it exited
  int signal = 0;               // signal, if it was killed
  std::string error;            // why it could not be started
  long long dropped_bytes = 0;  // output beyond the cap
};
bool WriteExit(const std::string& folder, const ExitRecord& record);
std::optional<ExitRecord> ReadExit(const std::string& folder);

}  // namespace sluice
