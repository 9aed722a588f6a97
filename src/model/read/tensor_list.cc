#include "model/read/tensor_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/read/program_limits.h"
#include "model/read/tensor_meta.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kStrided = 7;  // the number of the dense layout

std::int64_t ReadNumber(CheckedJson& checked, const JsonValue& json, std::string_view what) {
  const std::int64_t number = checked.IntegerOf(json, "as_int");
  if (number < 0 || number > kMaxSize)
    checked.Fail(
        fmt::format("{}: expected numbers from 0 to {}, found {}", what, kMaxSize, number));
  return number;
}

std::vector<std::int64_t> ReadNumbers(CheckedJson& checked, const JsonValue& object,
                                      std::string_view name) {
  std::vector<std::int64_t> numbers;
  const std::vector<JsonValue> list = checked.ListOf(object, name);
  if (list.size() > kMaxRank) {
    checked.Unsupported(
        fmt::format("{}: expected at most {} dimensions, found {}", name, kMaxRank, list.size()));
  }
  for (const JsonValue& each : list) {
    if (!checked.ok()) break;
    numbers.push_back(ReadNumber(checked, each, name));
  }
  return numbers;
}

// Whether a tensor has at most kMaxSize elements, where a size of 0 counts as 1. If so, the sizes
// can be multiplied in any order without overflow.
bool HasFewElements(const std::vector<std::int64_t>& sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    const std::int64_t at_least = std::max<std::int64_t>(size, 1);
    if (elements > kMaxSize / at_least) return false;
    elements *= at_least;
  }
  return true;
}

StoredTensor ReadStored(CheckedJson& checked, const JsonValue& entry, std::string_view folder) {
  StoredTensor tensor;
  if (entry.Find("use_pickle").and_then(&JsonValue::Boolean).value_or(false)) {
    checked.Unsupported("is a pickle, which may hold a program: only plain tensors are read");
    return tensor;
  }
  const auto meta = checked.Member(entry, "tensor_meta");
  if (!meta) return tensor;
  tensor.storage.member = fmt::format("{}{}", folder, checked.TextOf(entry, "path_name"));
  tensor.sizes = ReadNumbers(checked, *meta, "sizes");
  tensor.storage.strides = ReadNumbers(checked, *meta, "strides");
  tensor.trainable = checked.BooleanOf(*meta, "requires_grad");
  if (const auto dtype = checked.Member(*meta, "dtype"))
    tensor.dtype = ReadDType(checked, *dtype, "dtype");
  if (const auto offset = checked.Member(*meta, "storage_offset"))
    tensor.storage.offset = ReadNumber(checked, *offset, "storage_offset");
  const auto layout = meta->Find("layout").and_then(&JsonValue::Integer);
  if (layout.value_or(kStrided) != kStrided) {
    checked.Unsupported(fmt::format("expected a dense tensor, found one of layout {}", *layout));
  } else if (!HasFewElements(tensor.sizes)) {
    checked.Unsupported(fmt::format("expected at most {} elements, found [{}]", kMaxSize,
                                    fmt::join(tensor.sizes, ", ")));
  } else if (tensor.storage.strides.size() != tensor.sizes.size()) {
    checked.Fail(fmt::format("expected a stride for each of {} sizes, found {}",
                             tensor.sizes.size(), tensor.storage.strides.size()));
  }
  return tensor;
}

}  // namespace

void ReadTensorList(CheckedJson& checked, const JsonValue& list, std::string_view what,
                    std::string_view folder, StoredTensors& tensors) {
  checked.Look(std::string(what));
  for (const auto& [name, entry] : checked.MembersOf(list, "config")) {
    if (!checked.ok()) return;
    checked.Look(fmt::format("{}: '{}'", what, Shown(name)));
    if (!tensors.emplace(name, ReadStored(checked, entry, folder)).second)
      checked.Fail("is in the list of weights, too");
  }
}

}  // namespace sluice::model
