#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace sluice {

// Stands for a value of any type where only types count.
struct AnyValue {
  template <typename T>
  operator T() const;  // never defined
};

// The number of fields of a plain struct: the most values that it can be made of.
template <typename Struct, typename... Values>
consteval std::size_t CountFields() {
  static_assert(std::is_aggregate_v<Struct>);
  if constexpr (requires { Struct{std::declval<Values>()..., std::declval<AnyValue>()}; })
    return CountFields<Struct, Values..., AnyValue>();
  else
    return sizeof...(Values);
}

template <typename Struct>
constexpr std::size_t kFieldsOf = CountFields<Struct>();

// Calls visit on each of these fields in turn. Does not compile if there are not `kFields` of them:
// a struct got a field that its list does not have.
template <std::size_t kFields, typename Visit, typename... Fields>
void VisitFields(Visit&& visit, Fields&... fields) {
  static_assert(sizeof...(Fields) == kFields, "the list does not name every field of its struct");
  (visit(fields), ...);
}

}  // namespace sluice
