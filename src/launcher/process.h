#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace sluice {

// What the kernel says about processes.

// When a process began, in the kernel's ticks; 0 if there is no such process, or if it is a zombie.
// The pid, this time and the boot id together identify a process, also if its pid is used again.
unsigned long long StartOf(pid_t pid);
// The address of the stack of the program that a process runs; 0 if the kernel does not say. The
// address changes when the process replaces itself (exec), if the kernel places stacks at random.
unsigned long long ImageOf(pid_t pid);
std::string BootId();
// The parent of a process; 0 if there is no such process.
pid_t ParentOf(pid_t pid);
// Whether the process is `ancestor` or a descendant of it. A descendant is recognised only if each
// process between the two lives, or has died and left its children to `ancestor` (a subreaper).
bool IsBelow(pid_t pid, pid_t ancestor);
// The children of this process, whichever thread started them, zombies included.
std::vector<pid_t> Children();

// The environment variable with the marks of the launchers above a process, the outermost first,
// with a blank between two marks. Every process of a launch inherits it.
constexpr const char* kMarks = "SLUICE_LAUNCHERS";
// Kills every process that has this mark, until none is left. Returns false if some are left after
// a few seconds: they cannot be killed, or the kernel has not ended them yet.
bool KillMarked(const std::string& mark);

// The folders below `root` of all launches that have a living process. They are found in the
// environments of processes.
std::set<std::string> LaunchesAlive(const std::string& root);

// Kills and reaps the children of this process that are not in `known`, until none is left. This
// process must be a subreaper, so that the children of those it kills become its own children, and
// are killed too. Returns false if some are left after a few seconds.
bool KillStrays(const std::vector<pid_t>& known);

}  // namespace sluice
