#include "train/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::train {
namespace {

at::ScalarType TypeFor(model::DType dtype, const ProgramOptions& options) {
  switch (dtype) {
    case model::DType::kUint8: return at::kByte;
    case model::DType::kInt8: return at::kChar;
    case model::DType::kInt16: return at::kShort;
    case model::DType::kInt32: return at::kInt;
    case model::DType::kInt64: return at::kLong;
    case model::DType::kFloat16: return at::kHalf;
    case model::DType::kFloat32: return options.real;
    case model::DType::kFloat64: return at::kDouble;
    case model::DType::kComplex32: return at::kComplexHalf;
    case model::DType::kComplex64:
      return options.real == at::kDouble ? at::kComplexDouble : at::kComplexFloat;
    case model::DType::kComplex128: return at::kComplexDouble;
    case model::DType::kBool: return at::kBool;
    case model::DType::kBfloat16: return at::kBFloat16;
  }
  return options.real;
}

// A type, without its being optional.
const c10::Type& Plain(const c10::Type& type) {
  if (type.kind() != c10::TypeKind::OptionalType) return type;
  return *type.expectRef<c10::OptionalType>().getElementType();
}

std::unexpected<Error> WrongType(const c10::Argument& argument) {
  return InvalidArgument(
      fmt::format("expected '{}' to be of the type {}", argument.name(), argument.type()->str()));
}

Operand OfConstant(c10::IValue constant) {
  Operand operand;
  if (constant.isIntList()) {
    const std::vector<std::int64_t> list = constant.toIntVector();
    operand.integers = Sizes(list.begin(), list.end());
  } else if (constant.isInt()) {
    operand.integers = {constant.toInt()};
  }
  operand.constant = std::move(constant);
  return operand;
}

std::optional<at::Scalar> AsScalar(const model::ArgumentValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return at::Scalar(*number);
  if (const auto* number = std::get_if<double>(&value)) return at::Scalar(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return at::Scalar(*flag);
  return std::nullopt;
}

// Whether there is the number without an absolute value, with which some operators never end
// (linalg_matrix_power).
bool HasLeast(const model::ArgumentValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number == INT64_MIN;
  const auto* list = std::get_if<std::vector<model::IntegerOrValue>>(&value);
  return list != nullptr && std::ranges::any_of(*list, [](const model::IntegerOrValue& each) {
           return each.number == INT64_MIN;
         });
}

// One argument of a node, in the type that the schema wants.
class OneArgument {
 public:
  OneArgument(const c10::Argument& argument, const ArgumentSources& sources)
      : argument_(argument), type_(Plain(*argument.type())), sources_(sources) {}

  Result<Operand> Convert(const model::ArgumentValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return OfConstant(c10::IValue());
    if (HasLeast(value))
      return InvalidArgument(fmt::format("expected '{}' to be above -2^63", argument_.name()));
    if (const auto* id = std::get_if<model::ValueId>(&value)) return OfValue(*id);
    if (const auto* setting = std::get_if<model::Setting>(&value)) return OfSetting(*setting);
    if (const auto* dtype = std::get_if<model::DType>(&value))
      return OfConstant(static_cast<std::int64_t>(TypeFor(*dtype, sources_.options)));
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (type_.kind() != c10::TypeKind::StringType) return WrongType(argument_);
      return OfConstant(*text);
    }
    if (const auto number = AsScalar(value)) return OfScalar(*number);
    return OfList(value);
  }

 private:
  bool IsList() const { return type_.kind() == c10::TypeKind::ListType; }
  c10::TypeKind Element() const { return Plain(*type_.containedType(0)).kind(); }

  Result<Operand> OfValue(model::ValueId id) {
    if (!IsList()) return OfRegister(sources_.of(id));
    if (Element() == c10::TypeKind::TensorType)
      return OfList(std::vector<std::optional<model::ValueId>>{id});
    return OfList(std::vector<model::IntegerOrValue>{{.number = 0, .value = id}});
  }

  Result<Operand> OfSetting(const model::Setting& setting) {
    switch (setting.kind) {
      case model::Setting::Kind::kDevice: return OfConstant(sources_.options.device);
      case model::Setting::Kind::kLayout:
        if (setting.text != "strided" && setting.text != "Strided")
          return InvalidArgument(
              fmt::format("expected the layout strided, found '{}'", setting.text));
        return OfConstant(static_cast<std::int64_t>(at::kStrided));
      // With a dimension for trials, formats of images have no meaning; results are the same.
      case model::Setting::Kind::kMemoryFormat:
        if (argument_.type()->kind() == c10::TypeKind::OptionalType) return OfConstant({});
        return OfConstant(static_cast<std::int64_t>(at::MemoryFormat::Contiguous));
    }
    return WrongType(argument_);
  }

  // A type of elements or a layout, which schemas count by numbers. Operators trust that there is
  // one for the number (nansum).
  bool IsCounted() const {
    const c10::TypeKind kind = Plain(*argument_.real_type()).kind();
    return kind == c10::TypeKind::ScalarTypeType || kind == c10::TypeKind::LayoutType ||
           kind == c10::TypeKind::MemoryFormatType;
  }

  Result<Operand> OfScalar(const at::Scalar& number) {
    if (IsCounted()) return WrongType(argument_);
    switch (type_.kind()) {
      case c10::TypeKind::TensorType: {
        at::Tensor tensor = at::scalar_tensor(number, at::dtype(number.type()));
        tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
        return OfRegister(sources_.of_constant(Shared(std::move(tensor))));
      }
      case c10::TypeKind::NumberType: return OfConstant(number);
      case c10::TypeKind::FloatType: return OfConstant(number.toDouble());
      case c10::TypeKind::BoolType: return OfConstant(number.toBool());
      case c10::TypeKind::IntType:
        if (number.isFloatingPoint()) return WrongType(argument_);
        return OfConstant(number.toLong());
      case c10::TypeKind::ListType: {
        const auto count = static_cast<std::size_t>(argument_.N().value_or(1));
        if (Element() == c10::TypeKind::IntType && !number.isFloatingPoint())
          return OfConstant(c10::List<std::int64_t>(
              at::IntArrayRef(std::vector<std::int64_t>(count, number.toLong()))));
        return WrongType(argument_);
      }
      default: return WrongType(argument_);
    }
  }

  Result<Operand> OfList(const model::ArgumentValue& value) {
    if (!IsList()) return WrongType(argument_);
    const c10::TypeKind element = Element();
    if (const auto* tensors = std::get_if<std::vector<std::optional<model::ValueId>>>(&value)) {
      Operand operand;
      operand.kind = Operand::Kind::kValues;
      for (const auto& each : *tensors)
        operand.values.push_back(each ? std::optional(sources_.of(*each)) : std::nullopt);
      if (element != c10::TypeKind::TensorType && !tensors->empty()) return WrongType(argument_);
      return operand;
    }
    if (const auto* numbers = std::get_if<std::vector<model::IntegerOrValue>>(&value))
      return OfNumbers(*numbers, element);
    if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      if (element != c10::TypeKind::FloatType) return WrongType(argument_);
      return OfConstant(c10::List<double>(c10::ArrayRef<double>(*reals)));
    }
    if (const auto* flags = std::get_if<std::vector<bool>>(&value)) {
      if (element != c10::TypeKind::BoolType) return WrongType(argument_);
      c10::List<bool> list;
      for (const bool each : *flags) list.push_back(each);
      return OfConstant(std::move(list));
    }
    return WrongType(argument_);
  }

  Result<Operand> OfNumbers(const std::vector<model::IntegerOrValue>& numbers,
                            c10::TypeKind element) {
    if (numbers.empty() && element == c10::TypeKind::TensorType)
      return OfList(std::vector<std::optional<model::ValueId>>{});
    if (element == c10::TypeKind::FloatType) {
      c10::List<double> list;
      for (const auto& each : numbers) list.push_back(static_cast<double>(each.number));
      return OfConstant(std::move(list));
    }
    if (element != c10::TypeKind::IntType) return WrongType(argument_);
    const bool computed =
        std::ranges::any_of(numbers, [](const auto& each) { return each.value.has_value(); });
    if (!computed) {
      std::vector<std::int64_t> plain;
      for (const auto& each : numbers) plain.push_back(each.number);
      return OfConstant(c10::List<std::int64_t>(at::IntArrayRef(plain)));
    }
    Operand operand;
    operand.kind = Operand::Kind::kNumbers;
    for (const auto& each : numbers)
      operand.numbers.push_back(
          {.number = each.number,
           .computed = each.value ? std::optional(sources_.of(*each.value)) : std::nullopt});
    return operand;
  }

  const c10::Argument& argument_;
  const c10::Type& type_;
  const ArgumentSources& sources_;
};

}  // namespace

Operand OfRegister(Register value) {
  Operand operand;
  operand.kind = Operand::Kind::kValue;
  operand.value = value;
  return operand;
}

Result<std::vector<Operand>> OperandsOf(const model::Node& node, const c10::FunctionSchema& schema,
                                        std::string_view skipped, const ArgumentSources& sources) {
  for (const model::Argument& each : node.arguments)
    if (each.name != skipped && !schema.argumentIndexWithName(each.name))
      return InvalidArgument(
          fmt::format("PyTorch's {} has no argument '{}'", schema.name(), each.name));
  std::vector<Operand> operands;
  for (const c10::Argument& argument : schema.arguments()) {
    const auto given = std::ranges::find(node.arguments, argument.name(), &model::Argument::name);
    if (given != node.arguments.end()) {
      SLUICE_ASSIGN(operands.emplace_back(), OneArgument(argument, sources).Convert(given->value));
    } else if (argument.default_value()) {
      operands.push_back(OfConstant(*argument.default_value()));
    } else if (argument.type()->kind() == c10::TypeKind::OptionalType) {
      operands.push_back(OfConstant({}));
    } else {
      return InvalidArgument(fmt::format("its argument '{}' is missing", argument.name()));
    }
  }
  return operands;
}

Result<std::vector<Operand>> NumberOperandsOf(const model::Node& node,
                                              const ArgumentSources& sources) {
  std::vector<Operand> operands;
  for (const model::Argument& each : node.arguments) {
    if (const auto* id = std::get_if<model::ValueId>(&each.value)) {
      operands.push_back(OfRegister(sources.of(*id)));
    } else if (const auto number = AsScalar(each.value)) {
      operands.push_back(OfConstant(*number));
    } else {
      return InvalidArgument(fmt::format("expected a number as '{}'", each.name));
    }
  }
  return operands;
}

}  // namespace sluice::train
