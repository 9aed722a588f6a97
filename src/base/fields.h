#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace sluice {

// Converts to any type. For expressions that are never evaluated.
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

// Calls visit on each of these fields in turn. Does not compile unless there are `kFields` of them,
// so that a field added to a struct is added to its list too.
template <std::size_t kFields, typename Visit, typename... Fields>
void VisitFields(Visit&& visit, Fields&... fields) {
  static_assert(sizeof...(Fields) == kFields, "the list does not name every field of its struct");
  (visit(fields), ...);
}

}  // namespace sluice
