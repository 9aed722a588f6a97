#pragma once

namespace sluice {

// The parent of a trial's program: outlives the controller, captures the program's output, and
// writes down how it ended.
//
//   sluice-launcher FOLDER GRACE_MS CAP_BYTES PROGRAM [ARGUMENT...]
//
// Claims the launch in FOLDER (and leaves at once if somebody else has), starts PROGRAM in a
// process group of its own with output to FOLDER/stdout and FOLDER/stderr, and ends with it.
// SIGTERM asks the whole group to end and kills it after the grace period; SIGUSR1 kills it at
// once. Whatever the program leaves behind in its group is killed.
// The variable kDescriptorLimit, which the program does not see, is how many it may open.
constexpr const char* kDescriptorLimit = "SLUICE_DESCRIPTORS";
int RunLauncher(int argc, char** argv);

}  // namespace sluice
