#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/tensors/tensor_file.h"
#include "model/evaluate/comparison.h"
#include "model/graph.h"
#include "train/torch.h"

namespace sluice::train {

// An output that was computed, beside the one that sluice.export stored.
struct ComparedOutput {
  std::string name;       // of the stored one: "eval_output.0"
  double difference = 0;  // the largest |computed - stored|, of numbers that are finite
  double bound = 0;       // the largest difference that counts as equal
  // What differs, beginning with the name; empty if nothing does.
  std::string problem;
};

// What the trainer computes for the inputs that sluice.export stored beside an archive
// (docs/models.md), against the outputs that are stored there too.
struct ExamplesCheck {
  // Outputs in training. Unchecked if the network draws random numbers in training: the stored
  // outputs are of PyTorch's numbers, and trials have their own.
  model::Comparison training;
  // Outputs of the evaluation graph, against those of module.eval(). Also if it draws: then it
  // differs, unless the outputs do not depend on what is drawn.
  model::Comparison evaluation;
  std::vector<std::string> notes;       // of the evaluation (MakeEvaluation)
  std::vector<ComparedOutput> outputs;  // all that were compared
};

// An output counts as equal if no element differs by more than this fraction of the output's
// largest magnitude, or of 0.01 if that is larger. The trainer adds in another order than PyTorch,
// so an element differs by a few rounding errors of 6e-8 for each operator on the way to it. Over
// the 138 networks of tests/model the largest fraction is 2e-6. Whole numbers and truth values must
// be the same.
constexpr double kExamplesBound = 1e-4;
// The same if the graph computes in float16 or bfloat16 anywhere: their rounding errors are 5e-4
// and 4e-3.
constexpr double kExamplesBoundOfHalf = 3e-2;

// Runs both graphs of an archive in float32 on the CPU, on the inputs in the file ARCHIVE.examples.
// Without that file everything is unchecked.
// Fails in the words of the readers of archives and of files of tensors; with invalid_argument if
// the trainer cannot run the network in training, or if the file's inputs are not those of the
// network. If it cannot run the evaluation graph, the evaluation differs.
Result<ExamplesCheck> CheckExamples(const std::string& archive);

// The same for a graph and its tensors, which are in the order of its parameters; of tied ones the
// first counts.
Result<ExamplesCheck> CheckExamples(const model::Graph& training,
                                    std::span<const at::Tensor> parameters,
                                    const data::TensorFile& examples);

}  // namespace sluice::train
