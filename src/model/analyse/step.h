#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/analyse/inference.h"

namespace sluice::model {

// One node while its shapes are inferred, as a rule sees it. The first error is remembered. What is
// asked for after an error is of no use.
class Step {
 public:
  Step(const Graph& graph, NodeId id, Inference& inference);

  // "view" for "aten.view.default", "add" for "aten.add_.Tensor", which writes in place.
  std::string_view op() const { return op_; }
  Dims& dims() { return inference_.dims_; }
  std::int64_t SizeOf(Dim dim) const { return inference_.dims_.SizeOf(dim); }

  bool Has(std::string_view name) const;  // the argument is there and is not none
  bool IsTensor(std::string_view name) const;
  // A number counts as a tensor without dimensions.
  Shape Tensor(std::string_view name);
  Shape First();                                                            // the first argument
  std::vector<Shape> Tensors(std::string_view name);                        // of a list
  std::vector<Shape> AllTensors();                                          // of all arguments
  std::vector<std::optional<ValueId>> Values(std::string_view name) const;  // of a list
  bool IsFromInput(ValueId value) const { return inference_.from_input_[Index(value)]; }
  // Whether the value depends on inputs and is not made of a parameter. Elements that inputs picked
  // from a parameter are still made of it.
  bool IsActivation(ValueId value) const {
    return inference_.from_input_[Index(value)] && !inference_.origins_.IsMadeOfParameter(value);
  }
  const Shape& ShapeOf(ValueId value) const { return inference_.shapes_[Index(value)]; }
  DType DTypeOf(ValueId value) const { return graph_.value(value).dtype; }
  std::int64_t Integer(std::string_view name, std::int64_t otherwise);
  double Real(std::string_view name, double otherwise);
  std::vector<double> Reals(std::string_view name);
  bool Boolean(std::string_view name, bool otherwise) const;
  std::string Text(std::string_view name) const;
  // A list, or a list of one for a number; empty if there is no such argument.
  std::vector<std::int64_t> Integers(std::string_view name);
  // The same as sizes, each with its class; an empty one for -1.
  std::vector<std::optional<Dim>> Sizes(std::string_view name);
  // A single number as a size.
  Dim Size(std::string_view name);
  bool IsSize(std::string_view name) const;  // it is a computed size
  // All arguments, as sizes.
  std::vector<Dim> Operands();
  // An axis of a tensor of this rank; a negative one counts from the end.
  std::size_t Axis(std::int64_t axis, std::size_t rank);
  std::size_t Axis(std::string_view name, std::int64_t otherwise, std::size_t rank) {
    return Axis(Integer(name, otherwise), rank);
  }
  // The number of an argument has to change with this size. `from_end`: the number is minus the
  // size.
  void TieToSize(std::string_view name, std::size_t element, Dim dim, bool from_end = false);

  void SetOutput(Shape shape);
  void SetOutputs(std::vector<Shape> shapes);
  // For an output that is a number.
  void SetOutputSize(Dim dim);
  std::size_t outputs() const { return node_.outputs.size(); }

  // An output is made of the elements of `from`. `axes` has, for each axis of the output, the axes
  // of `from` that it came from.
  void Follows(ValueId from, std::size_t output, const Axes& axes);
  // All outputs are parts of the first argument and have as many axes.
  void FollowsFirst();
  // The only output, of this rank, is made of all arguments that are tensors. They were broadcast.
  void FollowsAll(std::size_t rank);
  std::optional<ValueId> FirstValue() const;
  // Data picks parts of the first argument. If that is a parameter, the output is still made of it.
  void PicksFirst(const Axes& axes);
  // Products with the elements of a tensor are summed up along these axes of it. This counts only
  // if the tensor is made of a parameter.
  void Contracts(ValueId value, const std::vector<std::size_t>& axes, bool lookup = false);
  void Contracts(std::string_view argument, const std::vector<std::size_t>& axes,
                 bool lookup = false);
  // These operands are activations. They are multiplied with each other and summed up along a
  // dimension.
  void ContractsActivations(Dim dim, std::vector<Dim> heads, std::vector<Dim> inner,
                            std::span<const ValueId> operands);
  std::vector<ValueId> ValuesOf(std::initializer_list<std::string_view> names) const;
  bool IsUsed(std::size_t output) const;
  // The output is lengths of vectors, or vectors that were divided by their lengths.
  void MarkLength();
  void MarkNormalised();
  bool IsLength(std::string_view name) const;

  // Unifies two dimensions that must be the same, and returns the result.
  Dim Same(Dim a, Dim b);
  void Fix(Dim dim, std::string_view why);
  Dim Fixed(std::int64_t size) { return dims().Fixed(size, reason_); }
  Dim New(std::int64_t size) { return dims().New(size); }
  Shape Broadcast(const Shape& a, const Shape& b);
  Shape Broadcast(std::span<const Shape> shapes);
  std::int64_t Elements(const Shape& shape) const;

  void Fail(std::string_view message);
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  const Argument* Get(std::string_view name) const;
  Shape ShapeOfArgument(const ArgumentValue& value);
  Dim DimOf(const IntegerOrValue& number, std::size_t argument, std::size_t element);

  const Graph& graph_;
  const Node& node_;
  NodeId id_;
  Inference& inference_;
  std::string op_;
  std::string reason_;
  std::string error_;
};

// The rule of an operator: what it does with shapes. Null if there is no rule.
using Rule = void (*)(Step&);
Rule FindRule(std::string_view op);

}  // namespace sluice::model
