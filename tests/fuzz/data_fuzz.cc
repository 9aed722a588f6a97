// rooms: data

// Any bytes at all are a file of examples in each of the plain formats, or are refused with a
// message. What is taken is read in whole, and lies within its bounds. The first byte of the input
// says what the others are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/cifar.h"
#include "data/formats/idx.h"
#include "data/formats/npy.h"
#include "data/sets/folder_layout.h"
#include "data/sets/row_examples.h"
#include "data/sets/token_examples.h"

namespace {

using namespace sluice;
using namespace sluice::data;

// Reading examples of a byte each, one at a time, would be all that is fuzzed.
constexpr std::int64_t kMostRead = 1000;

void CheckRefusal(const Error& error) {
  if (!error.message.starts_with("it: ") || error.message.size() < 10) std::abort();
  if (error.code != ErrorCode::kInvalidArgument && error.code != ErrorCode::kCorruption)
    std::abort();
}

void TryExamples(const Result<std::shared_ptr<const Examples>>& made) {
  if (!made) return CheckRefusal(made.error());
  const Examples& examples = **made;
  if (examples.count() < 1) std::abort();
  std::string input(*BytesOf(examples.input()), '\0');
  std::string target(*BytesOf(examples.target()), '\0');
  for (std::int64_t i = 0; i < examples.count() && i < kMostRead; ++i) {
    const std::int64_t which = i % 2 == 0 ? i / 2 : examples.count() - 1 - i / 2;
    if (!examples.ReadInput(which, input) || !examples.ReadTarget(which, target)) std::abort();
    if (examples.classes() == 0) continue;
    for (std::size_t at = 0; at < target.size(); at += sizeof(std::int64_t)) {
      std::int64_t label = 0;
      std::copy_n(target.data() + at, sizeof(label), reinterpret_cast<char*>(&label));
      if (label < 0 || label >= examples.classes()) std::abort();
    }
  }
}

void TryRows(const Result<Rows>& rows) {
  if (!rows) return CheckRefusal(rows.error());
  TryExamples(MakeRowExamples({{.inputs = *rows, .targets = *rows}}, std::nullopt));
  TryExamples(MakeRowExamples({{.inputs = *rows, .targets = *rows}}, 5));
}

void TryNames(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (int kind = 0; kind <= static_cast<int>(DataKind::kText); ++kind) {
    const auto layout = LayoutOfNames(names, static_cast<DataKind>(kind));
    if (!layout && layout.error().message.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 5) {
    case 0: TryRows(ReadIdx(FromMemory(bytes), "it")); break;
    case 1: TryRows(ReadNpy(FromMemory(bytes), "it")); break;
    case 2: {
      const auto cifar = ReadCifar(FromMemory(bytes), "it");
      if (!cifar) {
        CheckRefusal(cifar.error());
        break;
      }
      TryExamples(
          MakeRowExamples({{.inputs = cifar->images, .targets = cifar->labels}}, kCifarClasses));
      break;
    }
    case 3: {
      const DType types[] = {DType::kUint8, DType::kUint16, DType::kInt32, DType::kInt64};
      const TokenOptions options{.dtype = types[data[0] / 5 % 4],
                                 .vocabulary = 1 + data[0] / 20 * 10,
                                 .window = 1 + data[0] / 5 % 3};
      TryExamples(MakeTokenExamples({{FromMemory(bytes), "it"}}, options));
      break;
    }
    default: TryNames(bytes);
  }
  return 0;
}
