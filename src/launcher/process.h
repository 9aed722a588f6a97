#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace sluice {

// What the kernel says of processes.

// When a process began, in the kernel's ticks; 0 if there is none of that number, or a zombie. With
// the machine's boot it tells a process from a later one of the same number.
unsigned long long StartOf(pid_t pid);
// Where the kernel has put the program that a process runs: elsewhere once it has replaced itself
// (exec), where the kernel places programs at random. 0 if the kernel does not say.
unsigned long long ImageOf(pid_t pid);
std::string BootId();
// 0 if there is no such process.
pid_t ParentOf(pid_t pid);
// Whether the process is the ancestor, or was started by it or by what it started. True only while
// all between them live, or have left their children to the ancestor (a subreaper).
bool IsBelow(pid_t pid, pid_t ancestor);
// Of this process, whichever thread started them. Zombies are among them.
std::vector<pid_t> Children();

// Each program of a launch inherits this variable: the marks of the launchers above it, the
// outermost first, a blank between two.
constexpr const char* kMarks = "SLUICE_LAUNCHERS";
// Kills every process whose marks hold this one, until none is left. False if some still are after a
// few seconds: they cannot be killed, or the kernel is not done with them.
bool KillMarked(const std::string& mark);

// Folders below `root` of the launches whose programs, or what those started, are alive: as their
// environments tell.
std::set<std::string> LaunchesAlive(const std::string& root);

// Kills the children of this process that are none of these, and what comes to it when they die (it
// must be a subreaper), until none is left. False if some still are after a few seconds.
bool KillStrays(const std::vector<pid_t>& known);

}  // namespace sluice
