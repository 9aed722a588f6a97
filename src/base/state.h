#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"

namespace sluice {

// Writes the state of the engine and its parts in binary form, for snapshots. An integer has a
// variable length (zigzag), so a small number takes one byte. A double takes its eight bytes. A
// text is preceded by its length.
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

// A corruption error: the state of `what` ("a stopper") cannot be read.
std::unexpected<Error> UnreadableState(std::string_view what);

// Reads what a StateWriter wrote. If the bytes end too early, ok() is false from then on, and all
// further values are zeros or empty. So callers need to check ok() only once, at the end. Count()
// returns no more than the number of bytes that are left, so loops over damaged bytes end too.
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
  // Reads how many elements follow. Each takes at least one byte.
  std::size_t Count();

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  // Fails with corruption unless ok() is true and every byte was read.
  Status Finish() const;

 private:
  std::int64_t GetInteger();
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace sluice
