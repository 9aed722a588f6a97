#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/analyse/dims.h"
#include "model/analyse/origins.h"
#include "model/graph.h"

namespace sluice::model {

using Shape = std::vector<Dim>;

// The largest size or number that a rule accepts. No network needs a larger one, and the sums and
// products that rules compute of smaller ones fit into 64 bits.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

// Where a number stands among the arguments of a node.
struct NumberPlace {
  std::size_t argument = 0;
  std::size_t element = 0;  // in a list
};

// A number among the arguments of a node that stands for a size. The number has to change when the
// size changes.
struct SizeInArgument {
  NodeId node{};
  std::size_t argument = 0;
  std::size_t element = 0;  // in a list
  Dim dim{};
  bool from_end = false;  // the argument is minus the size
};

// A node that multiplies activations with each other. It sums up the products along a dimension,
// for each head or group separately.
struct Contraction {
  NodeId node{};
  Dim dim{};               // along which products are summed up
  std::vector<Dim> heads;  // dimensions that all operands and the result have
  std::vector<Dim> inner;  // the other dimensions of the operands
  // The vectors of one operand have length 1, so that the sum does not grow with the width.
  bool normalised = false;
};

// The shapes of all values of a graph, as formulas of classes (Dims).
//
// Run() goes through the nodes in order. For each node it calls the rule of the operator (rules.h).
// The rule reads the node's arguments with a Step, and states here what follows from them.
class Inference {
 public:
  // `symbols` are sizes by name. A symbol that is not among them keeps the size of the export.
  // Fails with invalid_argument, naming the node, if sizes do not agree or an operator is not
  // known.
  static Result<Inference> Run(const Graph& graph,
                               const std::map<std::string, std::int64_t>& symbols = {});

  // What is known about a value.
  const Shape& shape(ValueId value) const { return shapes_[Index(value)]; }  // of a tensor
  std::vector<std::int64_t> SizesOf(ValueId value) const;                    // of its shape
  // For a number: the dimension whose size the number is. Empty if the number depends on data.
  const std::optional<Dim>& size(ValueId value) const { return sizes_[Index(value)]; }
  // Whether a value depends on inputs, not on parameters alone.
  bool IsFromInput(ValueId value) const { return from_input_[Index(value)]; }
  // Whether the value depends on inputs and is not made of a parameter. Elements that inputs picked
  // from a parameter are still made of that parameter.
  bool IsActivation(ValueId value) const {
    return IsFromInput(value) && !origins_.IsMadeOfParameter(value);
  }
  bool IsUsed(ValueId value) const { return used_[Index(value)]; }  // by a node, or as an output
  bool IsLength(std::optional<ValueId> value) const;                // see MarkLength()

  // What is known about the graph.
  const Dims& dims() const { return dims_; }
  Dims& dims() { return dims_; }
  const std::vector<SizeInArgument>& arguments() const { return arguments_; }
  const std::vector<Use>& uses() const { return uses_; }
  const std::vector<Contraction>& contractions() const { return contractions_; }

  // The other methods are for rules. They are about the current node of Run().

  // Dimensions, as in Dims. The reason why a dimension is fixed begins with the node's name.
  std::int64_t SizeOf(Dim dim) const { return dims_.SizeOf(dim); }
  Dim New(std::int64_t size) { return dims_.New(size); }
  Dim Fixed(std::int64_t size) { return dims_.Fixed(size, current_.reason); }
  Dim Product(std::span<const Dim> factors) { return dims_.Product(factors); }
  Dim Product(std::initializer_list<Dim> factors) { return Product(std::span(factors)); }
  Dim Sum(std::span<const Dim> terms) { return dims_.Sum(terms); }
  Dim Sum(std::initializer_list<Dim> terms) { return Sum(std::span(terms)); }
  void Raise(Dim dim, Dims::Rank rank) { dims_.Raise(dim, rank); }
  void Fix(Dim dim, std::string_view why);
  // Makes two dimensions the same, and returns the common dimension. Sizes that differ are an
  // error.
  Dim Unify(Dim a, Dim b);
  // The shape of what is computed element by element from tensors of these shapes. Unifies
  // dimensions that meet, unless one of them has size 1.
  Shape Broadcast(const Shape& a, const Shape& b);
  Shape Broadcast(std::span<const Shape> shapes);

  // The number at this place has to change with this size. `from_end`: the number is minus the
  // size. Nothing is done without a place: a computed number changes by itself.
  void TieToSize(std::optional<NumberPlace> place, Dim dim, bool from_end = false);

  // State the outputs of the node. It is an error if the node has another number of outputs.
  void SetOutput(Shape shape);
  void SetOutputs(std::vector<Shape> shapes);
  void SetOutputSize(Dim dim);  // for an output that is a number
  // The node's only output holds lengths of vectors (MarkLength), or vectors that were divided by
  // their lengths (MarkNormalised).
  void MarkLength();
  void MarkNormalised();

  // State what outputs are made of (Origins). An empty `from`, an argument that is not a value, is
  // ignored. An output that depends on inputs is an activation: only FollowPicked() follows a
  // parameter into such an output.
  void Follow(std::optional<ValueId> from, std::size_t output, const Axes& axes);
  // All outputs are parts of `from` and have as many axes as `from`.
  void FollowAxisByAxis(std::optional<ValueId> from);
  // The node's only output has this rank, and is made of all these values, broadcast together.
  void FollowBroadcast(std::span<const ValueId> from, std::size_t rank);
  // The first output is parts of `from` that data picked. If `from` is a parameter, the output is
  // still made of that parameter.
  void FollowPicked(std::optional<ValueId> from, const Axes& axes);

  // The node sums up products with the elements of `operand`, along these axes of `operand`.
  // Nothing is added if `operand` is not made of a parameter.
  void AddUse(std::optional<ValueId> operand, const std::vector<std::size_t>& axes,
              bool lookup = false);
  // The node multiplies these operands, which are activations, with each other and sums up the
  // products. The caller leaves `node` and `normalised` out: AddContraction() fills them in.
  void AddContraction(Contraction contraction, std::span<const ValueId> operands);

  // Reports an error of the node. Run() fails with the node's first error. Whatever a rule states
  // after an error has no effect.
  void Fail(std::string_view message);
  bool ok() const { return current_.error.empty(); }

 private:
  Inference(const Graph& graph, const std::map<std::string, std::int64_t>& symbols);
  void AddParameters(const Graph& graph);
  void AddInputs(const Graph& graph, const std::map<std::string, std::int64_t>& symbols);
  void FindUsed(const Graph& graph);
  void Enter(const Graph& graph, NodeId id);
  std::optional<ValueId> OnlyOutput() const;

  // The current node of Run().
  struct Current {
    const Node* node = nullptr;
    NodeId id{};
    std::string reason;
    std::string error;
  };
  Current current_;

  Dims dims_;
  std::vector<Shape> shapes_;              // of tensors, by value
  std::vector<std::optional<Dim>> sizes_;  // of numbers, by value
  std::vector<bool> from_input_;
  Origins origins_;
  std::vector<bool> used_;        // by value: a node reads it, or it is an output
  std::vector<bool> lengths_;     // by value: lengths of vectors
  std::vector<bool> normalised_;  // by value: vectors of length 1
  std::vector<SizeInArgument> arguments_;
  std::vector<Use> uses_;
  std::vector<Contraction> contractions_;
};

}  // namespace sluice::model
