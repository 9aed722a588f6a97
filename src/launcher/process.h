#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace sluice {

// What the kernel says of processes.

// When a process began, in the kernel's ticks; 0 if there is no such process, or if it is a zombie.
// Together with the boot id it tells a process from a later one with the same pid.
unsigned long long StartOf(pid_t pid);
// Where the kernel has put the stack of the program that a process runs. It changes when the
// process replaces itself (exec), if the kernel places programs at random. 0 if the kernel does not
// say.
unsigned long long ImageOf(pid_t pid);
std::string BootId();
// 0 if there is no such process.
pid_t ParentOf(pid_t pid);
// Whether the process is `ancestor` or a descendant of it. True for a descendant only while all
// processes between them live, or have left their children to the ancestor (a subreaper).
bool IsBelow(pid_t pid, pid_t ancestor);
// The children of this process, whichever thread started them, zombies included.
std::vector<pid_t> Children();

// Each program of a launch inherits this variable: the marks of the launchers above it, the
// outermost first, a blank between two.
constexpr const char* kMarks = "SLUICE_LAUNCHERS";
// Kills every process that has this mark, until none is left. False if some are left after a few
// seconds: they cannot be killed, or the kernel is not done with them.
bool KillMarked(const std::string& mark);

// The folders below `root` of all launches that have a living process. They are found in the
// environments of processes.
std::set<std::string> LaunchesAlive(const std::string& root);

// Kills the children of this process that are not in `known`, and the orphans that come to it when
// they die (it must be a subreaper), until none is left. False if some are left after a few
// seconds.
bool KillStrays(const std::vector<pid_t>& known);

}  // namespace sluice
