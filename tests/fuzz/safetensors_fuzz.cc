// rooms: data

// Any bytes at all are a safetensors file or are refused with a message. What is taken is read in
// whole, and a file of the same tensors says the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "data/tensors/tensor_file.h"

namespace {

using namespace sluice;

void CheckRefusal(const Error& error) {
  if (!error.message.starts_with("it: ") || error.message.size() < 10) std::abort();
  if (error.code != ErrorCode::kInvalidArgument && error.code != ErrorCode::kCorruption)
    std::abort();
}

void Try(std::string bytes) {
  const std::size_t size = bytes.size();
  const auto file = data::TensorFile::Open(FromMemory(std::move(bytes)), "it");
  if (!file) return CheckRefusal(file.error());
  std::uint64_t end = 0;
  for (const data::StoredTensor& tensor : file->tensors()) {
    if (tensor.begin != end || tensor.bytes > size) std::abort();
    end += tensor.bytes;
    if (file->Find(tensor.name) != &tensor) std::abort();
    std::string elements(tensor.bytes, '\0');
    if (!file->Read(tensor, elements)) std::abort();
  }
  const auto again = data::SafetensorsHeader::LayOut(file->tensors(), file->metadata());
  if (!again) std::abort();
  const auto read = data::SafetensorsHeader::Parse(again->Json(), end);
  if (!read || read->metadata != file->metadata()) std::abort();
  if (read->tensors.size() != file->tensors().size()) std::abort();
}

}  // namespace

// The length before the header is set right, or most inputs would end there.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  Try(input);
  const std::size_t end = input.rfind('}');
  if (end == std::string::npos) return 0;
  const std::size_t begin = input.find('{');
  if (begin > end) return 0;
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<char>((end + 1 - begin) >> (8 * i));
  Try(bytes + input.substr(begin));
  return 0;
}
