#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files/byte_source.h"
#include "base/result.h"
#include "data/tensors/safetensors_header.h"
#include "data/tensors/whole_file.h"

namespace sluice::data {

// A safetensors file that is read. The whole header is checked when the file is opened. Elements
// are read when they are asked for, one tensor or a part of one at a time.
class TensorFile {
 public:
  // Fails with not_found if there is no such file, with corruption if it is damaged, with
  // invalid_argument if it is no safetensors file or exceeds the bounds of SafetensorsHeader.
  // Messages begin with the path.
  static Result<TensorFile> Open(const std::string& path);
  static Result<TensorFile> Open(std::unique_ptr<ByteSource> source, std::string path);

  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // Null if there is no tensor of this name.
  const StoredTensor* Find(std::string_view name) const;

  // Reads elements of a tensor of this file, from its byte `offset` on, until `into` is full.
  Status Read(const StoredTensor& tensor, std::uint64_t offset, std::span<char> into) const;
  // Reads all elements; `into` is as long as the tensor.
  Status Read(const StoredTensor& tensor, std::span<char> into) const {
    return Read(tensor, 0, into);
  }

 private:
  TensorFile(std::unique_ptr<ByteSource> source, std::string path, SafetensorsHeader header,
             std::uint64_t begin);

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  SafetensorsHeader header_;
  std::uint64_t begin_;                                       // of the elements in the file
  std::unordered_map<std::string_view, std::size_t> places_;  // in the header's tensors
};

// A safetensors file that is written, in parts and in any order. It appears under its name when
// Commit succeeds (WholeFile). The same tensors and metadata give the same bytes.
class TensorFileWriter {
 public:
  struct Declared {
    std::string name;
    TensorType type;
  };
  // Fails with invalid_argument if the names are not unique or a bound is exceeded.
  static Result<TensorFileWriter> Create(const std::string& path, std::vector<Declared> tensors,
                                         std::map<std::string, std::string> metadata);

  // All elements of a declared tensor.
  Status Write(std::string_view name, std::span<const char> bytes);
  // Every declared tensor was written, each once.
  Status Commit();

 private:
  TensorFileWriter(WholeFile file, SafetensorsHeader header, std::uint64_t begin);

  WholeFile file_;
  SafetensorsHeader header_;
  std::uint64_t begin_;
  std::map<std::string, std::size_t, std::less<>> missing_;  // not written yet; place in the header
};

}  // namespace sluice::data
