#pragma once

#include <set>
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

// Which kind a file's name speaks of: kGuess if it does not tell.
DataKind KindOfName(std::string_view name);

// Which part a file's name speaks of: "t10k-images-idx3-ubyte", "test_batch.bin" and "holdout.bin"
// are for tests, "val.bin" and "x_eval.npy" for validation, all others for training.
DataPart PartOf(std::string_view name);

// Whether a file's name speaks of labels or targets: "train-labels-idx1-ubyte", "y_train.npy".
bool SpeaksOfTargets(std::string_view name);

// In the order people count: data_batch_2 comes before data_batch_10.
void SortNaturally(std::vector<std::string>& names);

// What a folder is not asked for, since the study names it.
struct NamedApart {
  bool train = false;
  bool validation = false;
  bool test = false;
  std::set<std::string> files = {};  // of the folder, without its path
};

// What the names of a folder's files say. `names` are without the folder; `kind` restricts which
// files count. Of files of several kinds, texts and .bin files that nothing says to be tokens give
// way to the others. Fails with invalid_argument if the names do not tell; messages say which files
// to name. Parts that are named apart stay empty, whatever the files are; if training examples are
// among them, `kind` is known, and a folder without any file of that kind gives nothing.
Result<FolderLayout> LayoutOfNames(std::vector<std::string> names, DataKind kind,
                                   const NamedApart& apart = {});

// The same for a folder on the disk, with the paths of the files. Files whose names begin with a
// point do not count.
Result<FolderLayout> LayoutOfFolder(const std::string& folder, DataKind kind,
                                    const NamedApart& apart = {});

}  // namespace sluice::data
