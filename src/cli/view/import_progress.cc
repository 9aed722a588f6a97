#include "cli/view/import_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/text/print.h"

namespace sluice {

ImportProgressLine::ImportProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}

ImportProgressLine::~ImportProgressLine() {
  if (written_) std::fputs("\r\033[K", stderr);
}

void ImportProgressLine::Say(std::string_view file, std::uint64_t bytes) {
  const auto now = Clock::now();
  if (!shown_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(250);
  written_ = true;
  const std::string line =
      fmt::format("\r{}: {}\033[K", file, FormatBytes(static_cast<long long>(bytes)));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace sluice
