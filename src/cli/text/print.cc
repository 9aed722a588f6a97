#include "cli/text/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "cli/view/progress.h"

namespace sluice {

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintLine(std::string_view text) {
  Print(text);
  Print("\n");
}

void Remark(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += fmt::format("sluice: {}\n", Harmless(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::fflush(stdout);
  std::fwrite(out.data(), 1, out.size(), stderr);
}

bool FinishOutput() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

std::string Counted(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string FormatBytes(long long bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < kUnits.size()) {
    amount /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.3g} {}", amount, kUnits[unit]);
}

std::string ShellQuoted(std::string_view text) {
  const auto safe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=:,+@%^").contains(c);
  };
  if (!text.empty() && std::ranges::all_of(text, safe)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace sluice
