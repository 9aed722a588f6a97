#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/analyse/dims.h"
#include "model/analyse/origins.h"
#include "model/graph.h"

namespace sluice::model {

using Shape = std::vector<Dim>;

// A number among the arguments of a node that is a size. It has to change when the size does.
struct SizeInArgument {
  NodeId node{};
  std::size_t argument = 0;
  std::size_t element = 0;  // in a list
  Dim dim{};
  bool from_end = false;  // the argument is minus the size
};

// Activations that are multiplied with each other and summed up along a dimension, in each head or
// group by itself.
struct Contraction {
  NodeId node{};
  Dim dim{};               // which is summed up
  std::vector<Dim> heads;  // dimensions that all operands and the result have
  std::vector<Dim> inner;  // the other dimensions
  // The vectors of one operand have length 1, so that the sum does not grow with the width.
  bool normalised = false;
};

// The shapes of all values of a graph, as formulas of classes (Dims).
class Inference {
 public:
  // `symbols` are sizes by name. A symbol that is not named has its size of the example. Fails with
  // invalid_argument, naming the node, if sizes do not agree or an operator is not known.
  static Result<Inference> Run(const Graph& graph,
                               const std::map<std::string, std::int64_t>& symbols = {});

  // Of a tensor.
  const Shape& shape(ValueId value) const { return shapes_[Index(value)]; }
  std::vector<std::int64_t> SizesOf(ValueId value) const;
  // Whether a value depends on inputs, not on parameters alone.
  bool IsFromInput(ValueId value) const { return from_input_[Index(value)]; }
  bool IsUsed(ValueId value) const { return used_[Index(value)]; }
  const Dims& dims() const { return dims_; }
  Dims& dims() { return dims_; }
  const std::vector<SizeInArgument>& arguments() const { return arguments_; }
  const std::vector<Use>& uses() const { return uses_; }
  const std::vector<Contraction>& contractions() const { return contractions_; }

 private:
  friend class Step;
  explicit Inference(const Graph& graph) : origins_(graph) {}
  void AddParameters(const Graph& graph);
  void FindUsed(const Graph& graph);
  void AddInputs(const Graph& graph, const std::map<std::string, std::int64_t>& symbols);

  Dims dims_;
  std::vector<Shape> shapes_;              // of tensors, by value
  std::vector<std::optional<Dim>> sizes_;  // of numbers, by value
  std::vector<bool> from_input_;
  std::vector<SizeInArgument> arguments_;
  Origins origins_;
  std::vector<bool> used_;        // by value: a node reads it, or it is an output
  std::vector<bool> lengths_;     // by value: lengths of vectors
  std::vector<bool> normalised_;  // by value: vectors of length 1
  std::vector<Use> uses_;
  std::vector<Contraction> contractions_;
};

}  // namespace sluice::model
