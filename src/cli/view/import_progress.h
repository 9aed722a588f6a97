#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// A line on a terminal about an import that takes long, and gone when it is done.
class ImportProgressLine {
 public:
  ImportProgressLine();
  ~ImportProgressLine();
  ImportProgressLine(const ImportProgressLine&) = delete;
  ImportProgressLine& operator=(const ImportProgressLine&) = delete;

  void Say(std::string_view file, std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  const bool shown_;
  bool written_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(500);
};

}  // namespace sluice
