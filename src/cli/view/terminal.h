#pragma once

#include <string>
#include <string_view>

#include "engine/trial.h"

namespace sluice {

// What standard output can show to a reader.
struct Terminal {
  int columns = 0;  // 0: not a terminal; lines may have any length
  bool colour = false;
};

// Inspects standard output. It has colours only if it is a terminal, NO_COLOR is not set (or
// empty), and TERM is not "dumb".
Terminal LookAtTerminal();

// Whether the terminal reads text as UTF-8. As in the C library, the first variable of LC_ALL,
// LC_CTYPE and LANG that is set decides.
bool LocaleIsUtf8();

enum class Ink { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue };

std::string Inked(std::string_view text, Ink ink, const Terminal& terminal);
Ink InkOf(TrialState state);

}  // namespace sluice
