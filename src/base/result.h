#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

// What the caller can do about an error.
enum class ErrorCode {
  kInvalidArgument,     // mend the input
  kNotFound,            // name something that exists
  kFailedPrecondition,  // change the state of the study, the store or the machine first
  kUnavailable,         // try again later
  kOutOfMemory,         // ask for less, or when others have given memory back
  kCorruption,          // restore from a good copy
};

std::string_view Name(ErrorCode code);

// An error that is not a bug in Sluice. The message is for the user. It says what was expected,
// what was found, where, and what to do.
struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

using Status = Result<void>;

inline std::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}
inline std::unexpected<Error> InvalidArgument(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}
inline std::unexpected<Error> NotFound(std::string message) {
  return Fail(ErrorCode::kNotFound, std::move(message));
}
inline std::unexpected<Error> FailedPrecondition(std::string message) {
  return Fail(ErrorCode::kFailedPrecondition, std::move(message));
}
inline std::unexpected<Error> Unavailable(std::string message) {
  return Fail(ErrorCode::kUnavailable, std::move(message));
}
inline std::unexpected<Error> OutOfMemory(std::string message) {
  return Fail(ErrorCode::kOutOfMemory, std::move(message));
}
inline std::unexpected<Error> Corruption(std::string message) {
  return Fail(ErrorCode::kCorruption, std::move(message));
}

}  // namespace sluice

// Evaluates an expression that yields a Status or a Result. If it is an error, returns the error
// from the current function.
#define SLUICE_TRY(expression)                                  \
  do {                                                          \
    if (auto sluice_result = (expression); !sluice_result) {    \
      return std::unexpected(std::move(sluice_result).error()); \
    }                                                           \
  } while (false)

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

// SLUICE_ASSIGN(auto x, Compute()): if Compute() fails, returns the error from the current
// function; otherwise x is the value.
#define SLUICE_ASSIGN(declaration, expression)                                          \
  auto SLUICE_CONCAT(sluice_result_, __LINE__) = (expression);                          \
  if (!SLUICE_CONCAT(sluice_result_, __LINE__)) {                                       \
    return std::unexpected(std::move(SLUICE_CONCAT(sluice_result_, __LINE__)).error()); \
  }                                                                                     \
  declaration = std::move(*SLUICE_CONCAT(sluice_result_, __LINE__))
