#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"

namespace sluice {

// Binary state of the engine and its parts, for snapshots. Integers are variable-length (zigzag),
// so small numbers cost a byte; doubles are their eight bytes; texts carry their length.
class StateWriter {
 public:
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void Put(T value) {
    PutInteger(static_cast<std::int64_t>(value));
  }
  void Put(double value);
  void Put(std::string_view text);
  void Put(Time time) { PutInteger(Micros(time)); }
  void Put(Duration duration) { PutInteger(duration.count()); }

  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  void PutInteger(std::int64_t value);
  std::string bytes_;
};

// A Corruption error: the state of `what` ("a stopper") does not read back.
std::unexpected<Error> UnreadableState(std::string_view what);

// Reads what a StateWriter wrote. Reading past the end, or a text longer than what is left, turns
// the reader bad: it yields zeros from then on. Callers check ok() once at the end, and Count()
// bounds every loop by the bytes that are left.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void Get(T& value) {
    value = static_cast<T>(GetInteger());
  }
  void Get(double& value);
  void Get(std::string& text);
  void Get(Time& time) { time = FromMicros(GetInteger()); }
  void Get(Duration& duration) { duration = Duration(GetInteger()); }
  // The number of elements that follow, each of at least one byte.
  std::size_t Count();

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  // A Corruption error unless every byte was read and ok() holds.
  Status Finish() const;

 private:
  std::int64_t GetInteger();
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace sluice
