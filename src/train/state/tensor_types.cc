#include "train/state/tensor_types.h"

namespace sluice::train {

at::ScalarType ScalarTypeOf(model::DType dtype, at::ScalarType real) {
  switch (dtype) {
    case model::DType::kUint8: return at::kByte;
    case model::DType::kInt8: return at::kChar;
    case model::DType::kInt16: return at::kShort;
    case model::DType::kInt32: return at::kInt;
    case model::DType::kInt64: return at::kLong;
    case model::DType::kFloat16: return at::kHalf;
    case model::DType::kFloat32: return real;
    case model::DType::kFloat64: return at::kDouble;
    case model::DType::kComplex32: return at::kComplexHalf;
    case model::DType::kComplex64:
      return real == at::kDouble ? at::kComplexDouble : at::kComplexFloat;
    case model::DType::kComplex128: return at::kComplexDouble;
    case model::DType::kBool: return at::kBool;
    case model::DType::kBfloat16: return at::kBFloat16;
  }
  return real;
}

at::ScalarType ScalarTypeOf(data::DType dtype) {
  switch (dtype) {
    case data::DType::kBool: return at::kBool;
    case data::DType::kUint8: return at::kByte;
    case data::DType::kInt8: return at::kChar;
    case data::DType::kUint16: return at::kUInt16;
    case data::DType::kInt16: return at::kShort;
    case data::DType::kUint32: return at::kUInt32;
    case data::DType::kInt32: return at::kInt;
    case data::DType::kUint64: return at::kUInt64;
    case data::DType::kInt64: return at::kLong;
    case data::DType::kFloat16: return at::kHalf;
    case data::DType::kBfloat16: return at::kBFloat16;
    case data::DType::kFloat32: return at::kFloat;
    case data::DType::kFloat64: return at::kDouble;
  }
  return at::kFloat;
}

std::optional<data::DType> StoredTypeOf(at::ScalarType type) {
  switch (type) {
    case at::kBool: return data::DType::kBool;
    case at::kByte: return data::DType::kUint8;
    case at::kChar: return data::DType::kInt8;
    case at::kUInt16: return data::DType::kUint16;
    case at::kShort: return data::DType::kInt16;
    case at::kUInt32: return data::DType::kUint32;
    case at::kInt: return data::DType::kInt32;
    case at::kUInt64: return data::DType::kUint64;
    case at::kLong: return data::DType::kInt64;
    case at::kHalf: return data::DType::kFloat16;
    case at::kBFloat16: return data::DType::kBfloat16;
    case at::kFloat: return data::DType::kFloat32;
    case at::kDouble: return data::DType::kFloat64;
    default: return std::nullopt;
  }
}

}  // namespace sluice::train
