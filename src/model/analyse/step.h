#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/analyse/inference.h"

namespace sluice::model {

// One node while its shapes are inferred: what a rule sees of it. The first thing that is wrong is remembered, and
// what is asked for from then on is of no use.
class Step {
 public:
  Step(const Graph& graph, NodeId id, Inference& inference);

  // "view" of "aten.view.default", without the underscore of those that write in place.
  std::string_view op() const { return op_; }
  Dims& dims() { return inference_.dims_; }
  std::int64_t SizeOf(Dim dim) const { return inference_.dims_.SizeOf(dim); }

  bool Has(std::string_view name) const;  // and it is not none
  bool IsTensor(std::string_view name) const;
  // A number counts as a tensor without dimensions.
  Shape Tensor(std::string_view name);
  Shape First();                                                            // the first argument
  std::vector<Shape> Tensors(std::string_view name);                        // of a list
  std::vector<Shape> AllTensors();                                          // of all arguments
  std::vector<std::optional<ValueId>> Values(std::string_view name) const;  // of a list
  bool IsFromInput(ValueId value) const { return inference_.from_input_[Index(value)]; }
  // It depends on inputs, and is not a parameter of which they picked something.
  bool IsActivation(ValueId value) const {
    return inference_.from_input_[Index(value)] && inference_.origins_[Index(value)].empty();
  }
  const Shape& ShapeOf(ValueId value) const { return inference_.shapes_[Index(value)]; }
  DType DTypeOf(ValueId value) const { return graph_.value(value).dtype; }
  std::int64_t Integer(std::string_view name, std::int64_t otherwise);
  double Real(std::string_view name, double otherwise);
  std::vector<double> Reals(std::string_view name);
  bool Boolean(std::string_view name, bool otherwise) const;
  std::string Text(std::string_view name) const;
  // A list, or a number, for which a list of one is returned; empty if there is none.
  std::vector<std::int64_t> Integers(std::string_view name);
  // The same, each with the class that goes with it; nothing for -1.
  std::vector<std::optional<Dim>> Sizes(std::string_view name);
  // One number as the size of something new.
  Dim Size(std::string_view name);
  bool IsSize(std::string_view name) const;  // it is a size that is computed
  // All arguments, as sizes.
  std::vector<Dim> Operands();
  // An axis of a tensor of this rank, counted from its end if below 0.
  std::size_t Axis(std::int64_t axis, std::size_t rank);
  std::size_t Axis(std::string_view name, std::int64_t otherwise, std::size_t rank) {
    return Axis(Integer(name, otherwise), rank);
  }
  // An argument's number goes with this size.
  void TieToSize(std::string_view name, std::size_t element, Dim dim, bool from_end = false);

  void SetOutput(Shape shape);
  void SetOutputs(std::vector<Shape> shapes);
  // Of one that is a number.
  void SetOutputSize(Dim dim);
  std::size_t outputs() const { return node_.outputs.size(); }

  using Axes = std::vector<std::vector<std::size_t>>;
  // An output is made of the elements of a value: for each axis of the output, those of the value that it came of.
  void Follows(ValueId from, std::size_t output, const Axes& axes);
  // All outputs are parts of the first argument, which has as many axes.
  void FollowsFirst();
  // The same of all arguments that are tensors, which were broadcast, into one output of this rank.
  void FollowsAll(std::size_t rank);
  std::optional<ValueId> FirstValue() const;
  // Parts of the first argument, a parameter, are picked by data: they are still of that parameter.
  void PicksFirst(const Axes& axes);
  // Products with the elements of a tensor are summed up along these axes of it, if it is a parameter.
  void Contracts(ValueId value, const std::vector<std::size_t>& axes, bool lookup = false);
  void Contracts(std::string_view argument, const std::vector<std::size_t>& axes,
                 bool lookup = false);
  // These operands, activations, are multiplied with each other, and summed up along a dimension.
  void ContractsActivations(Dim dim, std::vector<Dim> heads, std::vector<Dim> inner,
                            std::span<const ValueId> operands);
  std::vector<ValueId> ValuesOf(std::initializer_list<std::string_view> names) const;
  bool IsUsed(std::size_t output) const;
  // Lengths of vectors, and what is divided by them.
  void MarkLength();
  void MarkNormalised();
  bool IsLength(std::string_view name) const;

  // They are the same: the one, after they were unified.
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
  void AddOrigins(ValueId from, std::size_t output, const Axes& axes);
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

// What an operator says about shapes. Nothing if there is no rule for it.
using Rule = void (*)(Step&);
Rule FindRule(std::string_view op);

}  // namespace sluice::model
