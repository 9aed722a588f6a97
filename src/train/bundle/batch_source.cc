#include "train/bundle/batch_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace sluice::train {
namespace {

at::ScalarType TypeOf(data::DType dtype) {
  switch (dtype) {
    case data::DType::kFloat32: return at::kFloat;
    case data::DType::kFloat64: return at::kDouble;
    case data::DType::kFloat16: return at::kHalf;
    case data::DType::kBfloat16: return at::kBFloat16;
    case data::DType::kInt64: return at::kLong;
    case data::DType::kUint8: return at::kByte;
    default: break;
  }
  SLUICE_CHECK(false, "examples are floating-point numbers, bytes or int64");
}

// Room for so many elements of this type, and the bytes of it.
at::Tensor RoomFor(const data::TensorType& one, std::size_t count) {
  Sizes sizes{static_cast<std::int64_t>(count)};
  sizes.append(one.shape.begin(), one.shape.end());
  return at::empty(sizes, TypeOf(one.dtype));
}

std::span<char> BytesIn(const at::Tensor& tensor) {
  return {static_cast<char*>(tensor.data_ptr()), tensor.nbytes()};
}

}  // namespace

BatchSource::BatchSource(const data::DataSet& data, const Options& options)
    : options_(options),
      order_({.examples = data.train->count(), .batch = options.batch, .seed = options.seed}),
      training_(data.train, data.normalisation, options.augmentation, options.seed) {
  if (const auto examples = data.evaluated())
    evaluation_.emplace(examples, data.normalisation, data::Augmentation{}, options.seed);
}

std::int64_t BatchSource::evaluation_examples() const {
  return evaluation_ ? evaluation_->examples().count() : 0;
}

Result<BatchSource::Read> BatchSource::ReadExamples(const data::BatchReader& reader,
                                                    std::span<const std::int64_t> which,
                                                    std::int64_t step, bool training) const {
  Read read{RoomFor(reader.input(), which.size()),
            RoomFor(reader.examples().target(), which.size())};
  SLUICE_TRY(training ? reader.ReadForTraining(step, which, BytesIn(read.inputs))
                      : reader.ReadForEvaluation(which, BytesIn(read.inputs)));
  SLUICE_TRY(reader.ReadTargets(which, BytesIn(read.targets)));
  if (read.inputs.is_floating_point()) read.inputs = read.inputs.to(options_.real);
  if (options_.flattened) read.inputs = read.inputs.flatten(1);
  if (read.targets.is_floating_point()) read.targets = read.targets.to(options_.real);
  return read;
}

Result<BatchSource::Read> BatchSource::ReadStep(std::int64_t step) {
  return ReadExamples(training_, order_.At(step), step, true);
}

Batch BatchSource::BatchOf(Value inputs, Value targets, std::int64_t examples) const {
  Batch batch{.inputs = {std::move(inputs)}, .target = std::move(targets), .examples = examples};
  if (options_.targets_are_input) batch.inputs.push_back(batch.target);
  return batch;
}

Result<Batch> BatchSource::ForTraining(std::span<const std::int64_t> steps) {
  SLUICE_CHECK(!steps.empty(), "a batch is for at least one trial");
  std::vector<std::int64_t> cohorts(steps.begin(), steps.end());
  std::ranges::sort(cohorts);
  cohorts.erase(std::ranges::unique(cohorts).begin(), cohorts.end());
  std::vector<at::Tensor> inputs, targets;
  for (const std::int64_t step : cohorts) {
    SLUICE_ASSIGN(Read read, ReadStep(step));
    inputs.push_back(std::move(read.inputs));
    targets.push_back(std::move(read.targets));
  }
  const std::int64_t examples = inputs.front().size(0);
  if (cohorts.size() == 1)
    return BatchOf(Shared(std::move(inputs[0])), Shared(std::move(targets[0])), examples);
  std::vector<std::int64_t> cohort_of;
  for (const std::int64_t step : steps)
    cohort_of.push_back(std::ranges::lower_bound(cohorts, step) - cohorts.begin());
  const at::Tensor gather = at::tensor(cohort_of, at::kLong);
  return BatchOf(Stacked(at::stack(inputs).index_select(0, gather)),
                 Stacked(at::stack(targets).index_select(0, gather)), examples);
}

Result<Batch> BatchSource::ForEvaluation(std::int64_t first, std::int64_t count) const {
  SLUICE_CHECK(evaluation_, "there is data to evaluate on");
  std::vector<std::int64_t> which(static_cast<std::size_t>(count));
  std::iota(which.begin(), which.end(), first);
  SLUICE_ASSIGN(Read read, ReadExamples(*evaluation_, which, 0, false));
  return BatchOf(Shared(std::move(read.inputs)), Shared(std::move(read.targets)), count);
}

}  // namespace sluice::train
