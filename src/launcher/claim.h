#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace sluice {

// Which process carries a launch. A launch is claimed once, atomically, by the process that is
// first: the launcher that is about to start the program, or a controller that found the launch
// unclaimed and takes the launch back. So nothing runs twice.
struct Claim {
  pid_t pid = 0;  // 0: a controller took the launch back, so no launcher starts it
  // When the process began, in the kernel's ticks. The pid alone does not identify the process,
  // because it may belong to another process by now.
  unsigned long long start = 0;
  std::string boot;  // boot id of the machine at that time
  std::string host;  // folder of the launch that the process was started for
  // The claim was made in another folder, and this folder is a copy of that one. So the process
  // does not belong to this store.
  bool copied = false;
};

// A claim by the calling process.
Claim ClaimOfSelf(const std::string& host);

enum class Claimed {
  kMade,
  kTaken,   // the launch was claimed before
  kFailed,  // the folder cannot be written; errno says why
};
// Writes the claim of the launch that has this folder. A claim counts only in the folder in which
// it was made. The folder is identified by device and inode, so the claim stays valid when the
// folder is moved.
Claimed MakeClaim(const std::string& folder, const Claim& claim);
std::optional<Claim> ReadClaim(const std::string& folder);
// Whether the process of the claim still lives and belongs to this store.
bool IsAlive(const Claim& claim);
// The mark of a launcher, made from its claim. The processes of a launch have the mark in their
// environment (kMarks).
std::string MarkOf(const Claim& claim);

// Records which process is the program, for the case that its launcher is killed. Must be called
// before the program runs. Returns false, with errno set, if the record cannot be written.
bool WriteProgram(const std::string& folder, pid_t pid);
// Kills the processes that are left of a launch without an exit record: the program's process
// group, and every process with the mark of the launch's launcher. Returns false if one still
// lives.
bool KillLaunch(const std::string& folder);

// Does the same for every launch below `root` whose launcher is dead. These include the launches of
// idle workers, which the ledger does not believe to be running.
void KillOrphans(const std::string& root);

// How the program of a launch ended, as recorded by its launcher.
struct ExitRecord {
  int code = 0;                 // exit code, if it exited
  int signal = 0;               // signal, if it was killed
  std::string error = {};       // why it could not be started
  bool machine = false;         // `error` is the machine's fault: a full disk, no more processes
  bool asked = false;           // it was asked to end (SIGTERM) before it ended
  long long dropped_bytes = 0;  // output beyond the cap
  long long lost_bytes = 0;     // standard output that could not be written; may include results
  int unkilled = 0;             // processes it left that the launcher may not kill
};
bool WriteExit(const std::string& folder, const ExitRecord& record);
std::optional<ExitRecord> ReadExit(const std::string& folder);

}  // namespace sluice
