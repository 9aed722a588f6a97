#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/analyse/law.h"
#include "model/graph.h"

namespace sluice::model {

// A network that was built in memory: no part of it lies in a file.
struct BuiltModel {
  Graph graph;
  std::vector<Law> laws;  // in the order of the parameters
};

// Writes a graph, operator by operator. Errors are reported by Finish.
class Builder {
 public:
  // Adds an input. Its first size is the batch, and `others` are its other sizes.
  ValueId Input(std::string_view name, const std::vector<std::int64_t>& others,
                DType dtype = DType::kFloat32);
  // Add a parameter to the current module (Scope). The standard deviation of a weight is 1 /
  // sqrt(fan_in). All elements of a constant are `value`.
  ValueId Weight(std::string_view name, std::vector<std::int64_t> sizes, std::int64_t fan_in);
  ValueId Constant(std::string_view name, std::vector<std::int64_t> sizes, double value);
  // Adds another name for the same tensor.
  ValueId Tied(std::string_view name, ValueId parameter);
  // Adds a tensor that is not trained.
  ValueId Buffer(std::string_view name, std::vector<std::int64_t> sizes, const Law& law,
                 DType dtype = DType::kFloat32, bool persistent = true);

  // Adds a node that calls an operator with one output. Arguments are named as PyTorch names them.
  ValueId Call(std::string_view op, std::vector<Argument> arguments, DType dtype = DType::kFloat32);
  std::vector<ValueId> CallForMany(std::string_view op, std::vector<Argument> arguments,
                                   std::size_t outputs, bool returns_list);
  // Adds a node that computes the size of a dimension.
  ValueId SizeOf(ValueId tensor, std::int64_t axis);

  // Names a module, such as "layer1.0". While the scope lives, names of new parameters begin with
  // the module's name.
  class Scope {
   public:
    Scope(Builder& builder, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    std::size_t before_;
  };

  // Infers the shapes of all values and returns the network. Fails if an operator has no rule, or
  // if shapes do not fit together.
  Result<BuiltModel> Finish(std::vector<ValueId> outputs) &&;

  ValueId Linear(std::string_view name, ValueId x, std::int64_t in, std::int64_t out,
                 bool bias = true);
  struct Convolution {
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t groups = 1;
    bool bias = false;
  };
  ValueId Conv2d(std::string_view name, ValueId x, const Convolution& about);
  ValueId ConvTranspose2d(std::string_view name, ValueId x, const Convolution& about);
  ValueId BatchNorm(std::string_view name, ValueId x, std::int64_t channels, double eps = 1e-5,
                    double momentum = 0.1);
  ValueId LayerNorm(std::string_view name, ValueId x, std::int64_t width, double eps = 1e-5);
  struct Table {
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::int64_t untrained_row = -1;  // the row for padding, which is not trained; -1: none
    std::int64_t fan_in = 1;
  };
  ValueId Embedding(std::string_view name, ValueId indices, const Table& about);
  ValueId Dropout(ValueId x, double p);
  ValueId Relu(ValueId x) { return Elementwise("aten.relu.default", x); }
  ValueId Elementwise(std::string_view op, ValueId x);
  ValueId Add(ValueId a, ValueId b);
  ValueId Multiply(ValueId a, ValueId b);
  ValueId Transpose(ValueId x, std::int64_t a, std::int64_t b);
  // A size of -1 is computed from the other sizes. The batch is given as a computed value
  // (BatchOf).
  ValueId View(ValueId x, std::vector<IntegerOrValue> sizes);
  ValueId Flatten(ValueId x, std::int64_t start, std::int64_t end = -1);
  ValueId MaxPool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0);
  ValueId AveragePool(ValueId x, std::int64_t size);  // to an image of this size
  ValueId Cat(const std::vector<ValueId>& parts, std::int64_t axis);
  ValueId Attention(ValueId query, ValueId key, ValueId value, bool causal, double dropout);

 private:
  std::string Full(std::string_view name) const;
  ValueId AddValue(std::string name, DType dtype, Value::Kind kind = Value::Kind::kTensor);
  ValueId AddParameter(std::string_view name, std::vector<std::int64_t> sizes, const Law& law,
                       Parameter::Role role, DType dtype);

  BuiltModel made_;
  std::string scope_;
};

// Elements of the lists that View() and Sizes() take: a fixed size, or the batch size of a tensor.
IntegerOrValue Known(std::int64_t size);
IntegerOrValue BatchOf(Builder& builder, ValueId tensor);

// Arguments of operators.
Argument Arg(std::string_view name, ValueId value);
Argument Arg(std::string_view name, std::int64_t number);
Argument Arg(std::string_view name, double number);
Argument Arg(std::string_view name, bool flag);
Argument Ints(std::string_view name, const std::vector<std::int64_t>& numbers);
Argument Sizes(std::string_view name, std::vector<IntegerOrValue> sizes);
Argument Tensors(std::string_view name, const std::vector<ValueId>& values);

}  // namespace sluice::model
