#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/read/test_program.h"
#include "model/read/test_zip.h"

// Archives for tests of the trainer.
namespace sluice::train {

inline std::string BytesOfFloats(const std::vector<float>& numbers) {
  std::string bytes;
  for (const float number : numbers) model::AppendBytes(bytes, number);
  return bytes;
}

// A file with the program and its tensors: weight_0, weight_1 and so on.
inline std::string WriteArchive(const std::string& path, const model::TestProgram& made,
                                const std::vector<std::string>& weights) {
  model::TestZip zip{
      .members = {{"net/data/weights/model_weights_config.json", made.weights.dump()},
                  {"net/data/constants/model_constants_config.json", made.constants.dump()},
                  {"net/models/model.json", made.program.dump()},
                  {"net/archive_format", "pt2"},
                  {"net/archive_version", "0\n"},
                  {"net/byteorder", "little"}}};
  for (std::size_t i = 0; i < weights.size(); ++i)
    zip.members.push_back({"net/data/weights/weight_" + std::to_string(i), weights[i]});
  std::ofstream(path, std::ios::binary) << zip.Bytes();
  return path;
}

// A folder for the running test alone, empty at first.
inline std::string EmptyFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("train_") + test->test_suite_name() + "_" + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string();
}

}  // namespace sluice::train
