#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace sluice::data {

// A folder for the running test alone, empty at first.
inline std::string TestFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("data_") + test->test_suite_name() + "_" + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string() + "/";
}

inline std::string WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Little-endian.
template <typename T>
void AppendNumber(std::string& bytes, T value) {
  char raw[sizeof(value)];
  std::memcpy(raw, &value, sizeof(value));
  bytes.append(raw, sizeof(value));
}

inline std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

// An IDX file of bytes.
inline std::string IdxBytes(std::initializer_list<std::uint32_t> sizes, std::string_view elements) {
  std::string bytes("\0\0\x08", 3);
  bytes += static_cast<char>(sizes.size());
  for (const std::uint32_t size : sizes) bytes += BigEndian(size);
  return bytes.append(elements);
}

// An .npy file of version 1.
inline std::string NpyBytes(std::string_view descr, std::string_view shape,
                            std::string_view elements, std::string_view order = "False") {
  std::string header = "{'descr': '" + std::string(descr) +
                       "', 'fortran_order': " + std::string(order) +
                       ", 'shape': " + std::string(shape) + ", }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\0", 8);
  AppendNumber(bytes, static_cast<std::uint16_t>(header.size()));
  return bytes + header + std::string(elements);
}

}  // namespace sluice::data
