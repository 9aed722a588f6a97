#include "data/sets/row_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/sets/whole_numbers.h"

namespace sluice::data {
namespace {

bool IsWhole(DType dtype) { return !IsFloating(dtype); }

// How rows of a file are given to the trainer.
TensorType GivenType(const TensorType& type, bool keep_uint8) {
  TensorType given = type;
  if (IsWhole(type.dtype) && !(keep_uint8 && type.dtype == DType::kUint8))
    given.dtype = DType::kInt64;
  return given;
}

Status ReadAs(const TensorType& given, const Rows& rows, std::int64_t row, std::span<char> into) {
  SLUICE_CHECK(into.size() == *BytesOf(given), "the buffer is as long as the example");
  if (given.dtype == rows.type.dtype) return rows.Read(row, into);
  const std::size_t elements = into.size() / sizeof(std::int64_t);
  std::string bytes(elements * BytesOf(rows.type.dtype), '\0');
  SLUICE_TRY(rows.Read(row, bytes));
  WidenToInt64(rows.type.dtype, bytes, {reinterpret_cast<std::int64_t*>(into.data()), elements});
  return {};
}

class RowExamples final : public Examples {
 public:
  RowExamples(std::vector<RowPair> pairs, std::int64_t classes)
      : pairs_(std::move(pairs)),
        input_(GivenType(pairs_.front().inputs.type, true)),
        target_(GivenType(pairs_.front().targets.type, false)),
        classes_(classes) {
    std::int64_t end = 0;
    for (const RowPair& pair : pairs_) ends_.push_back(end += pair.inputs.count);
  }

  std::int64_t count() const override { return ends_.back(); }
  const TensorType& input() const override { return input_; }
  const TensorType& target() const override { return target_; }
  std::int64_t classes() const override { return classes_; }
  Status ReadInput(std::int64_t which, std::span<char> into) const override {
    const auto [pair, row] = Find(which);
    return ReadAs(input_, pair->inputs, row, into);
  }
  Status ReadTarget(std::int64_t which, std::span<char> into) const override {
    const auto [pair, row] = Find(which);
    return ReadAs(target_, pair->targets, row, into);
  }

 private:
  std::pair<const RowPair*, std::int64_t> Find(std::int64_t which) const {
    SLUICE_CHECK(which >= 0 && which < count(), "only examples there are can be read");
    const auto at = std::ranges::upper_bound(ends_, which);
    const auto place = static_cast<std::size_t>(at - ends_.begin());
    return {&pairs_[place], which - (place == 0 ? 0 : ends_[place - 1])};
  }

  std::vector<RowPair> pairs_;
  std::vector<std::int64_t> ends_;  // of each pair's examples
  TensorType input_;
  TensorType target_;
  std::int64_t classes_;
};

Status CheckFits(const RowPair& pair, const RowPair& first) {
  if (pair.inputs.count != pair.targets.count) {
    return InvalidArgument(fmt::format(
        "{}: expected as many targets as {} has examples, {}, found {}: are they of another part?",
        pair.targets.path, pair.inputs.path, pair.inputs.count, pair.targets.count));
  }
  const auto differs = [](const Rows& rows, const Rows& from) -> Status {
    if (rows.type == from.type) return {};
    return InvalidArgument(fmt::format("{}: expected rows of {}, as in {}, found {}", rows.path,
                                       Text(from.type), from.path, Text(rows.type)));
  };
  SLUICE_TRY(differs(pair.inputs, first.inputs));
  return differs(pair.targets, first.targets);
}

// The number of classes.
Result<std::int64_t> CheckLabels(const std::vector<RowPair>& pairs,
                                 std::optional<std::int64_t> classes) {
  const std::int64_t below = classes.value_or(kMostClasses);
  std::int64_t largest = 0;
  for (const RowPair& pair : pairs) {
    std::optional<std::pair<std::int64_t, std::int64_t>> wrong;
    SLUICE_TRY(ForEachWholeNumber(pair.targets, [&](std::int64_t row, std::int64_t label) {
      if (label < 0 || label >= below) wrong = {row, label};
      largest = std::max(largest, label);
      return !wrong;
    }));
    if (wrong) {
      return InvalidArgument(fmt::format("{}: expected labels from 0 to {}, found {} at row {}: {}",
                                         pair.targets.path, below - 1, wrong->second, wrong->first,
                                         classes
                                             ? "is it of another data set, or 'classes' too small?"
                                             : "number the classes from 0 on"));
    }
  }
  return classes.value_or(largest + 1);
}

}  // namespace

Result<std::shared_ptr<const Examples>> MakeRowExamples(std::vector<RowPair> pairs,
                                                        std::optional<std::int64_t> classes) {
  SLUICE_CHECK(!pairs.empty(), "there are files of examples");
  for (const RowPair& pair : pairs) SLUICE_TRY(CheckFits(pair, pairs.front()));
  std::int64_t found = 0;
  if (IsWhole(pairs.front().targets.type.dtype)) {
    SLUICE_ASSIGN(found, CheckLabels(pairs, classes));
  } else if (classes) {
    return InvalidArgument(fmt::format(
        "{}: expected labels of {} classes, found {}: leave out 'classes', or write labels as "
        "whole numbers",
        pairs.front().targets.path, *classes, Text(pairs.front().targets.type)));
  }
  return std::make_shared<const RowExamples>(std::move(pairs), found);
}

}  // namespace sluice::data
