#include <string>
#include <string_view>
#include <utility>

#include "train/rules/rules.h"

// Operators of the commonest signatures are called as C++ calls them. Boxing their arguments takes
// a third as long as computing a small tensor.
namespace sluice::train {
namespace {

// A letter for each argument: tensor, number, optional number, text. Empty if there are others.
std::string LettersOf(const c10::FunctionSchema& schema) {
  std::string letters;
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::TypePtr& type = argument.real_type();
    if (type->kind() == c10::TypeKind::TensorType) {
      letters.push_back('T');
    } else if (type->kind() == c10::TypeKind::NumberType) {
      letters.push_back('n');
    } else if (type->kind() == c10::TypeKind::StringType) {
      letters.push_back('s');
    } else if (type->kind() == c10::TypeKind::OptionalType &&
               type->expectRef<c10::OptionalType>().getElementType()->kind() ==
                   c10::TypeKind::NumberType) {
      letters.push_back('o');
    } else {
      return "";
    }
  }
  return letters;
}

bool AreConstant(const Signature& signature, std::size_t first) {
  for (std::size_t i = 0; i < signature.operands.size(); ++i) {
    const auto wanted = i < first ? Operand::Kind::kValue : Operand::Kind::kConstant;
    if (signature.operands[i].kind != wanted) return false;
  }
  return true;
}

bool IsWrapped(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

// Whether a tensor broadcasts with others that have so many dimensions behind the trials.
bool Fits(const Value& x, std::int64_t trailing) {
  return x.stacked() ? x.trailing() == trailing : x.rank() <= trailing;
}

// Whether two tensors broadcast as they are, and their types do not depend on the dimension of
// trials. `trailing`: the dimensions behind the trials in the result.
bool MeetAsTheyAre(const Value& a, const Value& b, std::int64_t trailing) {
  if (a.tensor.scalar_type() != b.tensor.scalar_type() && !IsWrapped(a.tensor) &&
      !IsWrapped(b.tensor))
    return false;
  return Fits(a, trailing) && Fits(b, trailing);
}

template <typename... More>
Action OfOne(const Signature& signature, std::decay_t<More>... more) {
  const auto op = signature.op.typed<at::Tensor(const at::Tensor&, More...)>();
  return [op, ... more = std::move(more)](Call& call) {
    const Value& x = call.Tensor(0);
    call.Return(Stacked(op.call(x.tensor, more...), x.axis));
  };
}

template <typename... More>
Action OfTwo(const Signature& signature, Action general, std::decay_t<More>... more) {
  const auto op = signature.op.typed<at::Tensor(const at::Tensor&, const at::Tensor&, More...)>();
  return [op, general = std::move(general), ... more = std::move(more)](Call& call) {
    const Value& a = call.Tensor(0);
    const Value& b = call.Tensor(1);
    if (!a.tensor.defined() || !b.tensor.defined()) return general(call);
    const std::int64_t trailing = (a.stacked() ? a : b).trailing();
    if (!MeetAsTheyAre(a, b, trailing)) return general(call);
    at::Tensor y = op.call(a.tensor, b.tensor, more...);
    const std::int64_t axis = y.dim() - trailing - 1;
    call.Return(Stacked(std::move(y), axis));
  };
}

using Number = const at::Scalar&;
using OptionalNumber = const std::optional<at::Scalar>&;

}  // namespace

Action Direct(const Signature& signature, Action general) {
  const std::string letters = LettersOf(signature.schema);
  const std::size_t tensors = letters.starts_with("TT") ? 2 : 1;
  if (letters.empty() || !AreConstant(signature, tensors)) return general;
  const auto constant = [&](int place) -> const c10::IValue& {
    return signature.operands[place].constant;
  };
  const auto number = [&](int place) { return constant(place).toScalar(); };
  const auto optional = [&](int place) {
    return constant(place).isNone() ? std::nullopt : std::optional(number(place));
  };
  if (letters == "T") return OfOne(signature);
  if (letters == "Tn") return OfOne<Number>(signature, number(1));
  if (letters == "Tnn") return OfOne<Number, Number>(signature, number(1), number(2));
  if (letters == "Too")
    return OfOne<OptionalNumber, OptionalNumber>(signature, optional(1), optional(2));
  if (letters == "Ts") return OfOne<std::string_view>(signature, constant(1).toStringView());
  if (letters == "TT") return OfTwo(signature, std::move(general));
  if (letters == "TTn") return OfTwo<Number>(signature, std::move(general), number(2));
  return general;
}

}  // namespace sluice::train
