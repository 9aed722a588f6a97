#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace sluice {

// Converts to any type, in expressions that are never evaluated.
struct AnyValue {
  template <typename T>
  operator T() const;  // never defined
};

// The number of fields of an aggregate: the most values that it can be initialised with.
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

// Calls `visit` on each of these fields, in this order. It compiles only if there are `kFields` of
// them. So a field that is added to a struct must be added to the struct's list of fields too.
template <std::size_t kFields, typename Visit, typename... Fields>
void VisitFields(Visit&& visit, Fields&... fields) {
  static_assert(sizeof...(Fields) == kFields, "the list does not name every field of its struct");
  (visit(fields), ...);
}

}  // namespace sluice
