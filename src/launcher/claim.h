#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace sluice {

// Which process carries a launch. A claim is made once, atomically, by whichever process is first:
// the launcher that is about to start the program, or a controller that found the launch unclaimed
// and takes it back. So nothing runs twice.
struct Claim {
  pid_t pid = 0;  // 0: taken back, so that no launcher starts it
  // When that process began, in the kernel's ticks: the pid alone may be another process's by now.
  unsigned long long start = 0;
  std::string boot;  // boot id of the machine at that time
  std::string host;  // folder of the launch that the process was started for
  // The claim was made in another folder, of which this one is a copy: the process is not this
  // store's.
  bool copied = false;
};

// The calling process, as a claim.
Claim ClaimOfSelf(const std::string& host);

enum class Claimed {
  kMade,
  kTaken,   // the launch was claimed before
  kFailed,  // the folder cannot be written: errno says why
};
// A claim counts only in the folder it was made in, identified by device and inode. It stays valid
// when the folder is moved.
Claimed MakeClaim(const std::string& folder, const Claim& claim);
std::optional<Claim> ReadClaim(const std::string& folder);
// Whether the process of the claim still lives, and is this store's.
bool IsAlive(const Claim& claim);
// What the processes of a launch carry in their environment (kMarks): the launcher's claim.
std::string MarkOf(const Claim& claim);

// Records the process of the program, for the case that its launcher is killed. Written before the
// program runs.
bool WriteProgram(const std::string& folder, pid_t pid);
// Kills what is left of a launch without an exit record: the program's process group, and every
// process with the mark of its launcher. False if something still lives.
bool KillLaunch(const std::string& folder);

// The same for every launch below `root` that has a dead launcher. These include the launches of
// idle workers, which the ledger does not believe to be running.
void KillOrphans(const std::string& root);

// How the program of a launch ended, as its launcher wrote it down.
struct ExitRecord {
  int code = 0;                 // exit code, if it exited
  int signal = 0;               // signal, if it was killed
  std::string error = {};       // why it could not be started
  bool machine = false;         // that was the machine's fault: a full disk, no more processes
  bool asked = false;           // it was asked to end (SIGTERM) before it did
  long long dropped_bytes = 0;  // output beyond the cap
  long long lost_bytes = 0;     // standard output that could not be written, results perhaps
  int unkilled = 0;             // processes it left that we may not kill
};
bool WriteExit(const std::string& folder, const ExitRecord& record);
std::optional<ExitRecord> ReadExit(const std::string& folder);

}  // namespace sluice
