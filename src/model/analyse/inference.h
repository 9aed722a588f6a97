#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/analyse/dims.h"
#include "model/graph.h"

namespace sluice::model {

using Shape = std::vector<Dim>;

// A number in a node's arguments that is the size of something: it has to change when that does.
struct SizeInArgument {
  NodeId node{};
  std::size_t argument = 0;
  std::size_t element = 0;  // of a list
  Dim dim{};
  bool from_end = false;  // the argument is minus that
};

// A parameter that a node multiplies with: along some of its axes products are summed up, the others are what it gives.
struct Use {
  std::uint32_t parameter = 0;  // into Graph::parameters; of those that are tied, the first
  NodeId node{};
  ValueId operand{};  // of the node: the parameter, or what it is with its axes in another order
  std::vector<bool> contracted;  // by axis of the parameter
  bool lookup = false;           // rows are picked, not summed up
};

// Two activations that are multiplied with each other, and summed up along a dimension, in heads or groups that have
// nothing to do with each other.
struct Contraction {
  NodeId node{};
  Dim dim{};               // what is summed up
  std::vector<Dim> heads;  // what both have, and the result too
  std::vector<Dim> inner;  // the others
  bool normalised =
      false;  // one of them has length 1, so that the sum does not grow with the width
};

// Shapes of all values of a graph, as formulas of classes (Dims).
class Inference {
 public:
  // Sizes of symbols by name; those not named are as in the example. Fails with invalid_argument, naming the
  // node, where sizes do not agree or an operator is not known.
  static Result<Inference> Run(const Graph& graph,
                               const std::map<std::string, std::int64_t>& symbols = {});

  // Of a tensor.
  const Shape& shape(ValueId value) const { return shapes_[Index(value)]; }
  std::vector<std::int64_t> SizesOf(ValueId value) const;
  // It depends on the inputs, not on parameters alone.
  bool IsFromInput(ValueId value) const { return from_input_[Index(value)]; }
  bool IsUsed(ValueId value) const { return used_[Index(value)]; }
  const Dims& dims() const { return dims_; }
  Dims& dims() { return dims_; }
  const std::vector<SizeInArgument>& arguments() const { return arguments_; }
  const std::vector<Use>& uses() const { return uses_; }
  const std::vector<Contraction>& contractions() const { return contractions_; }

 private:
  friend class Step;
  void AddParameters(const Graph& graph);
  void FindUsed(const Graph& graph);
  void AddInputs(const Graph& graph, const std::map<std::string, std::int64_t>& symbols);

  Dims dims_;
  std::vector<Shape> shapes_;              // of tensors, by value
  std::vector<std::optional<Dim>> sizes_;  // of numbers, by value
  std::vector<bool> from_input_;
  std::vector<SizeInArgument> arguments_;
  // A value that is made of a parameter: for each of its axes, those of the parameter that it came of.
  struct Origin {
    std::uint32_t parameter = 0;
    std::vector<std::vector<std::size_t>> axes;
  };
  std::vector<std::vector<Origin>> origins_;  // by value
  std::vector<bool> used_;                    // by value: something reads it
  std::vector<bool> lengths_;                 // by value: lengths of vectors
  std::vector<bool> normalised_;              // by value: vectors of length 1
  std::vector<Use> uses_;
  std::vector<Contraction> contractions_;
};

}  // namespace sluice::model
