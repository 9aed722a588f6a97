#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "data/batches/batch_order.h"
#include "data/batches/batch_reader.h"
#include "data/sets/data_set.h"
#include "train/bundle/batches.h"

namespace sluice::train {

// Makes the batches of a data set as tensors. The batch of a step of training depends on the data
// set, the study's seed, the batch size and the step alone.
class BatchSource : public Batches {
 public:
  struct Options {
    std::int64_t batch = 1;
    std::uint64_t seed = 0;            // of the study
    at::ScalarType real = at::kFloat;  // the type of inputs and targets that are no whole numbers
    data::Augmentation augmentation;
    bool flattened = false;  // inputs are vectors
    // Whether the targets are an input of the network, too.
    bool targets_are_input = false;
  };
  BatchSource(const data::DataSet& data, const Options& options);

  std::int64_t batch() const override { return options_.batch; }
  std::int64_t steps_per_epoch() const override { return order_.steps_per_epoch(); }
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override;
  std::int64_t evaluation_examples() const override;
  Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const override;

 private:
  struct Read {
    at::Tensor inputs;
    at::Tensor targets;
  };
  Result<Read> ReadStep(std::int64_t step);
  Result<Read> ReadExamples(const data::BatchReader& reader, std::span<const std::int64_t> which,
                            std::int64_t step, bool training) const;
  Batch BatchOf(Value inputs, Value targets, std::int64_t examples) const;

  Options options_;
  data::BatchOrder order_;
  data::BatchReader training_;
  std::optional<data::BatchReader> evaluation_;  // validation examples, else test examples
};

}  // namespace sluice::train
