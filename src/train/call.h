#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/draws.h"
#include "train/dropout.h"
#include "train/torch.h"
#include "train/value.h"

namespace sluice::train {

// Where a value lies while a program runs.
using Register = std::uint32_t;

// An argument of a step, in the place that the operator's schema gives it.
struct Operand {
  enum class Kind : std::uint8_t {
    kConstant,  // also an argument that is left out: the schema's default, or none
    kValue,     // a tensor or a number that is computed
    kValues,    // a list of tensors, some of which may be missing
    kNumbers,   // a list of integers, some of which are computed
  };
  struct Number {
    std::int64_t number = 0;
    std::optional<Register> computed;
  };

  Kind kind = Kind::kConstant;
  c10::IValue constant;
  Sizes integers;  // of a constant list of integers
  Register value = 0;
  std::vector<std::optional<Register>> values;
  std::vector<Number> numbers;
};

// What a step calls: the operator in its functional form, with its arguments.
struct Step;

// An operator that is called for all trials at once. Rules read their operands here, by the place
// in the schema, and return values. Whatever PyTorch refuses leaves as a c10::Error, which the
// program catches.
class Call {
 public:
  struct Context {
    std::span<Value> registers;
    std::int64_t trials = 1;
    const Draws* draws = nullptr;
    std::span<const DropoutRates> dropout = {};
    std::vector<std::uint32_t>* looped = nullptr;  // nodes that were run trial by trial
    std::vector<c10::IValue>* stack = nullptr;     // kept between calls for its memory
  };
  Call(const Step& step, const Context& context) : step_(step), context_(context) {}

  std::int64_t trials() const { return context_.trials; }
  const Step& step() const { return step_; }
  const Draws& draws() const;
  // The rates of dropout that the run says for this node, by trial. Null: it says none.
  const std::vector<double>* rates() const;

  // Whether the argument is neither left out nor none.
  bool Has(int place) const;
  // A tensor. An argument that is missing is an undefined one; a number, one without dimensions.
  const Value& Tensor(int place) const;
  std::vector<const Value*> Tensors(int place) const;  // null where one is missing
  at::Scalar Number(int place) const;
  std::int64_t Integer(int place) const { return Number(place).toLong(); }
  double Real(int place) const { return Number(place).toDouble(); }
  bool Flag(int place) const { return Number(place).toBool(); }
  std::string_view Text(int place) const;
  Sizes Integers(int place) const;
  std::optional<at::ScalarType> Type(int place) const;

  // The arguments as PyTorch takes them, with the tensors as they are. There is one such list in a
  // run: a call makes it anew.
  c10::IValue Boxed(int place) const;
  std::vector<c10::IValue>& BoxedAll() const;
  // Calls the operator, and leaves its results on the stack.
  void Invoke(std::vector<c10::IValue>& stack) const;

  void Return(Value value) { results.push_back(std::move(value)); }
  // Puts a value where an operand was: for operators that write what their schema does not say.
  void Rebind(int place, Value value) const;
  // Trial by trial: the rule of operators that have no other, and of rare cases of those that do.
  void Loop();
  // All trials in one call by functorch's vmap. What it refuses leaves as a c10::Error.
  void CallByVmap();

  bool AnyStacked() const;

  c10::SmallVector<Value, 2> results;

 private:
  const Step& step_;
  const Context& context_;
};

}  // namespace sluice::train
