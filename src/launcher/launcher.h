#pragma once

namespace sluice {

// The parent of a trial's program: outlives the controller, captures the program's output, and
// writes down how it ended.
//
//   sluice-launcher FOLDER GRACE_MS CAP_BYTES PROGRAM [ARGUMENT...]
//
// Claims the launch in FOLDER, and leaves at once if it is taken. Starts PROGRAM in a process group
// of its own with output to FOLDER/stdout and FOLDER/stderr, and ends with it. The program does not
// run before FOLDER/program names its process. It dies with its launcher.
//
// SIGTERM asks the program's group to end; all of it is killed after the grace period. SIGUSR1
// kills at once. When the program has ended, everything it started is killed, in whatever group or
// session. The exit record is written when nothing of the launch is left but processes that the
// launcher may not kill.
//
// The variable kDescriptorLimit is how many descriptors the program may open. The program does not
// see it.
constexpr const char* kDescriptorLimit = "SLUICE_DESCRIPTORS";
int RunLauncher(int argc, char** argv);

}  // namespace sluice
