#pragma once

namespace sluice {

// The command `sluice`: does what it is asked and returns the exit status: 0 done, 1 failed, 2
// wrong usage or input, 130 paused or interrupted. Errors go to standard error, a line each, as
// "sluice: what is wrong".
int RunSluice(int argc, char** argv);

}  // namespace sluice
