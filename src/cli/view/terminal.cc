#include "cli/view/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cli/places.h"

namespace sluice {

Terminal LookAtTerminal() {
  if (isatty(STDOUT_FILENO) == 0) return {};
  Terminal terminal{.columns = 80, .colour = true};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = size.ws_col;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') terminal.colour = false;
  if (term != nullptr && std::string_view(term) == "dumb") terminal.colour = false;
  return terminal;
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = EnvironmentVariable(name);
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::string Inked(std::string_view text, Ink ink, const Terminal& terminal) {
  if (!terminal.colour || ink == Ink::kPlain) return std::string(text);
  const char* code = "";
  switch (ink) {
    case Ink::kPlain: break;
    case Ink::kBold: code = "1"; break;
    case Ink::kDim: code = "2"; break;
    case Ink::kRed: code = "31"; break;
    case Ink::kGreen: code = "32"; break;
    case Ink::kYellow: code = "33"; break;
    case Ink::kBlue: code = "34"; break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Ink InkOf(TrialState state) {
  switch (state) {
    case TrialState::kWaiting: return Ink::kDim;
    case TrialState::kRunning: return Ink::kBlue;
    case TrialState::kPaused: return Ink::kDim;
    case TrialState::kComplete: return Ink::kGreen;
    case TrialState::kStopped: return Ink::kYellow;
    case TrialState::kFailed: return Ink::kRed;
  }
  return Ink::kPlain;
}

}  // namespace sluice
