#include "train/call.h"

#include <utility>

#include "base/check.h"
#include "train/fallback/vmap.h"
#include "train/step.h"

namespace sluice::train {
namespace {

at::Tensor WrappedNumber(const at::Scalar& number) {
  at::Tensor tensor = at::scalar_tensor(number, at::dtype(number.type()));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

bool IsTensor(const c10::Argument& argument) {
  const c10::TypeKind kind = argument.type()->kind();
  if (kind == c10::TypeKind::OptionalType)
    return argument.type()->expectRef<c10::OptionalType>().getElementType()->kind() ==
           c10::TypeKind::TensorType;
  return kind == c10::TypeKind::TensorType;
}

bool IsReal(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.type();
  if (type->kind() == c10::TypeKind::OptionalType)
    return type->expectRef<c10::OptionalType>().getElementType()->kind() ==
           c10::TypeKind::FloatType;
  return type->kind() == c10::TypeKind::FloatType;
}

const Value& Nothing() {
  static const auto& nothing = *new Value;
  return nothing;
}

// An operand with the tensors that `of` gives for its values.
template <typename Of>
c10::IValue BoxedWith(const c10::Argument& argument, const Operand& operand,
                      std::span<const Value> registers, Of of) {
  switch (operand.kind) {
    case Operand::Kind::kConstant: return operand.constant;
    case Operand::Kind::kValue: {
      const Value& value = registers[operand.value];
      if (value.tensor.defined()) return of(value);
      if (IsTensor(argument)) return WrappedNumber(value.number);
      if (IsReal(argument)) return value.number.toDouble();
      return value.number;
    }
    case Operand::Kind::kNumbers: {
      c10::List<std::int64_t> list;
      list.reserve(operand.numbers.size());
      for (const Operand::Number& each : operand.numbers)
        list.push_back(each.computed ? registers[*each.computed].number.toLong() : each.number);
      return list;
    }
    case Operand::Kind::kValues: break;
  }
  const auto element = argument.type()->containedType(0);
  if (element->kind() == c10::TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& each : operand.values)
      list.push_back(each ? std::optional(of(registers[*each])) : std::nullopt);
    return list;
  }
  c10::List<at::Tensor> list;
  for (const auto& each : operand.values) {
    TORCH_CHECK(each, "expected a tensor at each place of '", argument.name(), "'");
    list.push_back(of(registers[*each]));
  }
  return list;
}

}  // namespace

const Draws& Call::draws() const {
  SLUICE_CHECK(context_.draws, "a program that draws is run with draws");
  return *context_.draws;
}

const std::vector<double>* Call::rates() const {
  for (const DropoutRates& each : context_.dropout)
    if (each.node == step_.nodes.front()) return &each.of_trials;
  return nullptr;
}

bool Call::Has(int place) const {
  if (place < 0) return false;
  const Operand& operand = step_.operands[place];
  return operand.kind != Operand::Kind::kConstant || !operand.constant.isNone();
}

const Value& Call::Tensor(int place) const {
  if (!Has(place)) return Nothing();
  const Operand& operand = step_.operands[place];
  TORCH_CHECK(operand.kind == Operand::Kind::kValue, "expected a tensor, found a number");
  return context_.registers[operand.value];
}

std::vector<const Value*> Call::Tensors(int place) const {
  std::vector<const Value*> values;
  for (const auto& each : step_.operands[place].values)
    values.push_back(each ? &context_.registers[*each] : nullptr);
  return values;
}

at::Scalar Call::Number(int place) const {
  const Operand& operand = step_.operands[place];
  if (operand.kind == Operand::Kind::kConstant) return operand.constant.toScalar();
  const Value& value = context_.registers[operand.value];
  TORCH_CHECK(!value.tensor.defined(), "expected a number, found a tensor");
  return value.number;
}

std::string_view Call::Text(int place) const {
  return step_.operands[place].constant.toStringView();
}

Sizes Call::Integers(int place) const {
  const Operand& operand = step_.operands[place];
  if (operand.kind == Operand::Kind::kConstant) return operand.integers;
  if (operand.kind == Operand::Kind::kValue) return {Integer(place)};
  Sizes numbers;
  for (const Operand::Number& each : operand.numbers)
    numbers.push_back(each.computed ? context_.registers[*each.computed].number.toLong()
                                    : each.number);
  return numbers;
}

std::optional<at::ScalarType> Call::Type(int place) const {
  if (!Has(place)) return std::nullopt;
  return step_.operands[place].constant.toScalarType();
}

c10::IValue Call::Boxed(int place) const {
  const Operand& operand = step_.operands[place];
  if (operand.kind == Operand::Kind::kConstant) return operand.constant;
  if (operand.kind == Operand::Kind::kValue && context_.registers[operand.value].tensor.defined())
    return context_.registers[operand.value].tensor;
  return BoxedWith(step_.op->schema().arguments()[place], operand, context_.registers,
                   [](const Value& value) { return value.tensor; });
}

std::vector<c10::IValue>& Call::BoxedAll() const {
  std::vector<c10::IValue>& stack = *context_.stack;
  stack.clear();
  for (std::size_t place = 0; place < step_.operands.size(); ++place)
    stack.push_back(Boxed(static_cast<int>(place)));
  return stack;
}

void Call::Invoke(std::vector<c10::IValue>& stack) const { step_.op->callBoxed(&stack); }

void Call::Rebind(int place, Value value) const {
  context_.registers[step_.operands[place].value] = std::move(value);
}

bool Call::AnyStacked() const {
  for (const Register each : step_.reads)
    if (context_.registers[each].stacked()) return true;
  return false;
}

void Call::Loop() {
  if (context_.looped) context_.looped->push_back(static_cast<std::uint32_t>(step_.nodes.front()));
  const auto& arguments = step_.op->schema().arguments();
  std::vector<std::vector<at::Tensor>> found;  // by result, then by trial
  std::vector<c10::IValue> stack;
  for (std::int64_t trial = 0; trial < trials(); ++trial) {
    stack.clear();
    for (std::size_t place = 0; place < step_.operands.size(); ++place)
      stack.push_back(BoxedWith(arguments[place], step_.operands[place], context_.registers,
                                [&](const Value& value) { return OfTrial(value, trial); }));
    step_.op->callBoxed(&stack);
    std::size_t result = 0;
    const auto keep = [&](at::Tensor tensor) {
      if (found.size() <= result) found.emplace_back();
      found[result++].push_back(std::move(tensor));
    };
    for (c10::IValue& each : stack) {
      TORCH_CHECK(each.isTensor() || each.isTensorList(),
                  "expected tensors, which trials may differ in, found ", each.tagKind());
      if (each.isTensor()) {
        keep(std::move(each).toTensor());
      } else {
        for (at::Tensor tensor : each.toTensorVector()) keep(std::move(tensor));
      }
    }
  }
  results.clear();
  for (const auto& each : found) {
    const bool defined = each.front().defined();
    results.push_back(defined ? Stacked(at::stack(each)) : Value{});
  }
}

void Call::CallByVmap() {
  const auto& arguments = step_.op->schema().arguments();
  results.clear();
  const Vmap vmap(trials());
  std::vector<c10::IValue> stack;
  for (std::size_t place = 0; place < step_.operands.size(); ++place)
    stack.push_back(BoxedWith(arguments[place], step_.operands[place], context_.registers,
                              [&](const Value& value) { return vmap.In(value); }));
  step_.op->callBoxed(&stack);
  for (c10::IValue& each : stack) {
    if (each.isTensor()) {
      results.push_back(vmap.Out(std::move(each).toTensor()));
    } else {
      for (const at::Tensor& tensor : each.toTensorVector()) results.push_back(vmap.Out(tensor));
    }
  }
}

}  // namespace sluice::train
