#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/analyse/inference.h"

namespace sluice::model {

// Gives a rule the arguments of its node. Arguments are named as in the operator's schema. An
// argument that is missing or of another kind is an error of the inference (Inference::Fail),
// unless a method below says what it returns then. After an error, a caller must not rely on what
// methods return.
class Step {
 public:
  Step(const Graph& graph, NodeId id, Inference& inference);

  std::string_view op() const { return op_; }  // see OperatorOf()

  bool Has(std::string_view name) const;       // the argument is there and is not none
  bool IsTensor(std::string_view name) const;  // it is a tensor
  bool IsSize(std::string_view name) const;    // it is a computed size

  // Shapes of tensors. A number counts as a tensor without dimensions.
  Shape First() const;  // of the first argument
  Shape Tensor(std::string_view name) const;
  std::vector<Shape> Tensors(std::string_view name) const;  // of a list
  std::vector<Shape> AllTensors() const;                    // of all arguments

  // The values themselves. Empty if the argument is not a value.
  std::optional<ValueId> FirstValue() const;
  std::optional<ValueId> ValueOf(std::string_view name) const;
  std::vector<std::optional<ValueId>> ValuesOf(std::string_view name) const;  // of a list
  std::vector<ValueId> AllValues() const;  // of all arguments and lists of tensors
  DType DTypeOf(ValueId value) const { return graph_.value(value).dtype; }

  // Numbers that are not sizes. `otherwise` is returned if there is no such argument.
  std::int64_t Integer(std::string_view name, std::int64_t otherwise) const;
  double Real(std::string_view name, double otherwise) const;
  bool Boolean(std::string_view name, bool otherwise) const;
  std::string Text(std::string_view name) const;  // empty if there is none
  // The numbers of a list. A single number counts as a list of one. Empty if there is no such
  // argument.
  std::vector<std::int64_t> Integers(std::string_view name) const;
  std::vector<double> Reals(std::string_view name) const;
  // An axis of a tensor of this rank. A negative one counts from the end.
  std::size_t Axis(std::int64_t axis, std::size_t rank) const;
  std::size_t Axis(std::string_view name, std::int64_t otherwise, std::size_t rank) const {
    return Axis(Integer(name, otherwise), rank);
  }

  // Numbers that are sizes. A computed number already has a dimension. Any other number gets a
  // class of its own, and has to change when the class does.
  Dim Size(std::string_view name) const;
  std::vector<std::optional<Dim>> Sizes(std::string_view name) const;  // empty for -1
  std::vector<Dim> Operands() const;                                   // all arguments
  // For Inference::TieToSize: where a number stands. Empty if it is computed.
  std::optional<NumberPlace> PlaceOf(std::string_view name, std::size_t element = 0) const;

  std::size_t outputs() const { return node_.outputs.size(); }
  // Empty if the network does not name this output.
  std::optional<ValueId> Output(std::size_t output) const;

 private:
  // Null if there is no such argument, or if it is of another kind.
  template <typename Kind>
  const Kind* Get(std::string_view name) const;
  std::size_t PositionOf(const Argument& argument) const;
  Shape ShapeOfArgument(const ArgumentValue& value) const;
  std::optional<Dim> SizeOf(const Argument& argument) const;  // empty if it is not a size
  Dim DimOf(const IntegerOrValue& number, NumberPlace place) const;

  const Graph& graph_;
  const Node& node_;
  Inference& inference_;
  std::string_view op_;
};

}  // namespace sluice::model
