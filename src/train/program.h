#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/graph.h"
#include "train/step.h"

namespace sluice::train {

struct ProgramOptions {
  // Devices and the type float32 that a graph names are these instead. The caller also makes `real`
  // the default type of the process.
  at::Device device = at::kCPU;
  at::ScalarType real = at::kFloat;
  // Operators that torch.autocast runs in a lower type run in this one. Parameters and gradients
  // stay `real`, which is float32 then. Empty: there is no autocast but in regions that name it.
  std::optional<at::ScalarType> autocast = std::nullopt;
  // Of the graph's inputs: those that each trial has its own of. Empty: none.
  std::vector<bool> stacked_inputs = {};
  // Of the graph's parameters: those that each trial has its own of although this graph neither
  // trains nor writes them. An evaluation reads the running statistics of each trial. Of tied
  // parameters the first counts. Empty: none.
  std::vector<bool> stacked_parameters = {};
};

// A node whose operator has no rule for several trials. It is called by functorch's vmap if that
// computes what a loop over the trials does, and otherwise trial by trial.
struct Fallback {
  model::NodeId node{};
  std::string op;
  std::string why;
  bool vmap = false;
};

// Is told of each step of a run, on the thread that runs.
class StepWatch {
 public:
  virtual ~StepWatch() = default;
  virtual void Begins(model::NodeId node) = 0;
  virtual void Ends(model::NodeId node) = 0;
};

// What a program is run on.
struct Feed {
  std::int64_t trials = 1;
  // In the order of the graph's. A stacked one has its trials in front; of tied parameters the
  // first is read.
  std::span<const at::Tensor> parameters;
  std::span<const Value> inputs;
  const Draws* draws = nullptr;
  // For nodes of Program::dropout() whose rates are not those in the graph.
  std::span<const DropoutRates> dropout = {};
  StepWatch* watch = nullptr;
};

struct Outcome {
  std::vector<Value> outputs;
  // Buffers that the network has written, by the place of the parameter: their new tensors, with
  // the trials in front.
  std::vector<std::pair<std::size_t, at::Tensor>> written;
  // Nodes that ran trial by trial: those of fallbacks(), and rare cases of others.
  std::vector<model::NodeId> looped;
};

// A network, prepared to be run for several trials at once: each step calls one operator for all of
// them. It holds nothing of a run, so it can be run from several threads, and for any number of
// trials and any batch. Gradients are PyTorch's own: those of the sum over the trials of a loss are
// each trial's alone.
class Program {
 public:
  // Fails with invalid_argument at a node that calls what is not a functional operator of tensors
  // and numbers, that gives it wrong arguments, or that writes in place what can be seen under
  // another name. The message names the node.
  static Result<Program> Prepare(const model::Graph& graph, const ProgramOptions& options = {});

  // Fails with invalid_argument where PyTorch refuses an operator; with failed_precondition if that
  // operator was given NaN or infinity, as when a trial has diverged; and with out_of_memory where
  // there is not enough memory. The message names the node.
  Result<Outcome> Run(const Feed& feed) const;

  // Whether each trial has its own of this parameter: it is trained or written, or the options say
  // so.
  bool stacked(std::size_t parameter) const { return stacked_[parameter]; }
  bool draws() const { return draws_; }
  // The nodes whose rates of dropout can be set in a run.
  std::span<const model::NodeId> dropout() const { return dropout_; }
  std::span<const Fallback> fallbacks() const { return fallbacks_; }
  std::size_t steps() const { return steps_.size(); }

 private:
  friend class Preparation;

  // A value that is there before the first step.
  struct Given {
    std::size_t place = 0;
    Register into = 0;
  };
  struct Constant {
    Register into = 0;
    Value value;
  };

  Status CheckFeed(const Feed& feed) const;
  std::string Where(const Step& step) const;

  std::vector<Step> steps_;
  std::vector<std::string> where_;  // of each step, for messages
  std::vector<model::Region> regions_;
  std::vector<Given> parameters_;  // those that are read or written
  std::vector<Given> inputs_;
  std::vector<Constant> constants_;
  std::vector<Given> written_;
  std::vector<Register> outputs_;
  std::vector<bool> stacked_;
  std::vector<bool> stacked_inputs_;
  std::vector<Fallback> fallbacks_;
  std::vector<model::NodeId> dropout_;  // sorted
  std::size_t registers_ = 0;
  at::Device device_ = at::kCPU;
  std::optional<at::ScalarType> autocast_;
  bool draws_ = false;
};

}  // namespace sluice::train
