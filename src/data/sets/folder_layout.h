#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "data/sets/data_spec.h"

namespace sluice::data {

struct FolderLayout {
  DataKind kind = DataKind::kGuess;
  DataFiles train;
  DataFiles validation;
  DataFiles test;
};

enum class DataPart : std::uint8_t { kTrain, kValidation, kTest };

// Which part a file's name speaks of: "t10k-images-idx3-ubyte" and "test_batch.bin" are for tests,
// "val.bin" for validation, all others for training.
DataPart PartOf(std::string_view name);

// Whether a file's name speaks of labels or targets: "train-labels-idx1-ubyte", "y_train.npy".
bool SpeaksOfTargets(std::string_view name);

// In the order people count: data_batch_2 comes before data_batch_10.
void SortNaturally(std::vector<std::string>& names);

// What the names of a folder's files say. `names` are without the folder; `kind` restricts which
// files count. Of files of several kinds, texts and .bin files that nothing says to be tokens give
// way to the others. Fails with invalid_argument if the names do not tell; messages say which files
// to name.
Result<FolderLayout> LayoutOfNames(std::vector<std::string> names, DataKind kind);

// The same for a folder on the disk, with the paths of the files. Files whose names begin with a
// point do not count.
Result<FolderLayout> LayoutOfFolder(const std::string& folder, DataKind kind);

}  // namespace sluice::data
