#pragma once

namespace sluice {

// The command `sluice`. It runs the verb that was typed and returns the exit status: 0 (done), 1
// (failed), 2 (wrong usage or input) or 130 (paused or interrupted). Errors go to standard error,
// one per line, as "sluice: what is wrong".
int RunSluice(int argc, char** argv);

}  // namespace sluice
