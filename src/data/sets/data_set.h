#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/batches/normalisation.h"
#include "data/sets/data_spec.h"
#include "data/sets/examples.h"

namespace sluice::data {

// A file of a data set, for the record of the study that trains on it.
struct FileRecord {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // of its bytes
};

// Data that was opened and checked.
struct DataSet {
  DataKind kind = DataKind::kGuess;
  std::shared_ptr<const Examples> train;
  std::shared_ptr<const Examples> validation;  // null: there are none
  std::shared_ptr<const Examples> test;        // null: there are none
  Normalisation normalisation;
  std::vector<FileRecord> files;  // of training, then validation, then test
  // Of the bytes of all files and of how they are used: the split and the normalisation, but not
  // where the files are, nor what they are called.
  std::uint64_t hash = 0;

  // What trials are evaluated on; null: there is nothing.
  const std::shared_ptr<const Examples>& evaluated() const {
    return validation ? validation : test;
  }
};

// Opens the files, and checks their headers, their sizes, and every label and token. Fails with
// not_found or invalid_argument if a file or the spec is wrong, with corruption if a file is
// damaged. Messages begin with the file, or with the name of the field.
Result<DataSet> OpenDataSet(const DataSpec& spec);

// The hash of a file's bytes, as in FileRecord.
Result<std::uint64_t> HashFile(const std::string& path);

}  // namespace sluice::data
