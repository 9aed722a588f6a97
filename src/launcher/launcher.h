#pragma once

namespace sluice {

// The parent of a trial's program. It outlives the controller, captures the program's output, and
// records how the program ended.
//
//   sluice-launcher FOLDER GRACE_MS CAP_BYTES PROGRAM [ARGUMENT...]
//
// The launcher claims the launch in FOLDER, and exits immediately if the launch is claimed already.
// It starts PROGRAM in a process group of its own, with output to FOLDER/stdout and FOLDER/stderr.
// PROGRAM does not run before FOLDER/program names its process. If the launcher dies, the kernel
// kills PROGRAM.
//
// On SIGTERM, the launcher asks the program's group to end, and kills the group after the grace
// period. On SIGUSR1, it kills the group immediately. When the program has ended, the launcher
// kills every process that the program started, whatever group or session the process is in. It
// writes the exit record when no process of the launch is left, except those that it may not kill.
// Then it exits.
//
// The variable kProgramLimits has the umask and the resource limits that PROGRAM gets, as
// FormatLimits writes them. The launcher removes the variable from the program's environment. The
// launcher itself keeps the umask and the limits that it was started with.
constexpr const char* kProgramLimits = "SLUICE_PROGRAM_LIMITS";
int RunLauncher(int argc, char** argv);

}  // namespace sluice
