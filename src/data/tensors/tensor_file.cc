#include "data/tensors/tensor_file.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace sluice::data {
namespace {

static_assert(std::endian::native == std::endian::little, "files and memory have the same order");

constexpr std::uint64_t kLengthBytes = 8;

std::unexpected<Error> OfFile(const std::string& path, const Error& error) {
  return Fail(error.code, fmt::format("{}: {}", path, error.message));
}

}  // namespace

TensorFile::TensorFile(std::unique_ptr<ByteSource> source, std::string path,
                       SafetensorsHeader header, std::uint64_t begin)
    : source_(std::move(source)),
      path_(std::move(path)),
      header_(std::move(header)),
      begin_(begin) {
  // The names stay where they are when the vector is moved with this object.
  for (std::size_t i = 0; i < header_.tensors.size(); ++i)
    places_.emplace(header_.tensors[i].name, i);
}

Result<TensorFile> TensorFile::Open(const std::string& path) {
  SLUICE_ASSIGN(std::unique_ptr<ByteSource> source, OpenFile(path));
  return Open(std::move(source), path);
}

Result<TensorFile> TensorFile::Open(std::unique_ptr<ByteSource> source, std::string path) {
  const std::uint64_t size = source->size();
  if (size < kLengthBytes) {
    return InvalidArgument(fmt::format(
        "{}: expected a safetensors file, found {} bytes: is it truncated?", path, size));
  }
  std::uint64_t length = 0;
  if (const auto read = source->Read(0, {reinterpret_cast<char*>(&length), sizeof(length)}); !read)
    return OfFile(path, read.error());
  if (length > SafetensorsHeader::kMaxBytes) {
    return InvalidArgument(fmt::format(
        "{}: expected a safetensors file with a header of at most {} bytes, found {}: is it "
        "another kind of file?",
        path, SafetensorsHeader::kMaxBytes, length));
  }
  if (length > size - kLengthBytes) {
    return Corruption(fmt::format("{}: expected a header of {} bytes, found {}: is it truncated?",
                                  path, length, size - kLengthBytes));
  }
  std::string json(static_cast<std::size_t>(length), '\0');
  if (const auto read = source->Read(kLengthBytes, json); !read) return OfFile(path, read.error());
  const std::uint64_t begin = kLengthBytes + length;
  auto header = SafetensorsHeader::Parse(json, size - begin);
  if (!header) return OfFile(path, header.error());
  return TensorFile(std::move(source), std::move(path), std::move(*header), begin);
}

const StoredTensor* TensorFile::Find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &header_.tensors[found->second];
}

Status TensorFile::Read(const StoredTensor& tensor, std::uint64_t offset,
                        std::span<char> into) const {
  SLUICE_CHECK(offset <= tensor.bytes && into.size() <= tensor.bytes - offset,
               "only elements of the tensor are read");
  if (const auto read = source_->Read(begin_ + tensor.begin + offset, into); !read)
    return OfFile(path_, read.error());
  return {};
}

TensorFileWriter::TensorFileWriter(WholeFile file, SafetensorsHeader header, std::uint64_t begin)
    : file_(std::move(file)), header_(std::move(header)), begin_(begin) {
  for (std::size_t i = 0; i < header_.tensors.size(); ++i)
    missing_.emplace(header_.tensors[i].name, i);
}

Result<TensorFileWriter> TensorFileWriter::Create(const std::string& path,
                                                  std::vector<Declared> tensors,
                                                  std::map<std::string, std::string> metadata) {
  std::vector<StoredTensor> stored;
  stored.reserve(tensors.size());
  for (Declared& tensor : tensors)
    stored.push_back({.name = std::move(tensor.name), .type = std::move(tensor.type)});
  auto header = SafetensorsHeader::LayOut(std::move(stored), std::move(metadata));
  if (!header) return OfFile(path, header.error());
  const std::string json = header->Json();
  const std::uint64_t length = json.size();
  const std::uint64_t begin = kLengthBytes + length;
  const std::uint64_t data_bytes =
      header->tensors.empty() ? 0 : header->tensors.back().begin + header->tensors.back().bytes;
  SLUICE_ASSIGN(WholeFile file, WholeFile::Create(path));
  SLUICE_TRY(file.WriteAt(0, {reinterpret_cast<const char*>(&length), sizeof(length)}));
  SLUICE_TRY(file.WriteAt(kLengthBytes, json));
  SLUICE_TRY(file.Resize(begin + data_bytes));
  return TensorFileWriter(std::move(file), std::move(*header), begin);
}

Status TensorFileWriter::Write(std::string_view name, std::span<const char> bytes) {
  const auto found = missing_.find(name);
  SLUICE_CHECK(found != missing_.end(), "a declared tensor is written once");
  const StoredTensor& tensor = header_.tensors[found->second];
  SLUICE_CHECK(bytes.size() == tensor.bytes, "a tensor has as many bytes as its type says");
  SLUICE_TRY(file_.WriteAt(begin_ + tensor.begin, bytes));
  missing_.erase(found);
  return {};
}

Status TensorFileWriter::Commit() {
  SLUICE_CHECK(missing_.empty(), "every declared tensor was written");
  return file_.Commit();
}

}  // namespace sluice::data
