#pragma once

namespace sluice::train {

// The program `sluice-trainer`. Returns its exit status: 0, 1 if it failed, 2 for wrong usage.
int RunTrainer(int argc, char** argv);

}  // namespace sluice::train
