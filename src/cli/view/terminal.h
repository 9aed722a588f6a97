#pragma once

#include <string>
#include <string_view>

#include "engine/trial.h"

namespace sluice {

// Where text goes that people read.
struct Terminal {
  int columns = 0;  // 0: no terminal, lines may be as long as they like
  bool colour = false;
};

// What standard output is. Colours only on a terminal, and not with NO_COLOR or TERM=dumb.
Terminal LookAtTerminal();

// Whether texts are read as UTF-8: of LC_ALL, LC_CTYPE and LANG, the first that is set decides, as
// for the C library.
bool LocaleIsUtf8();

enum class Ink { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue };

std::string Inked(std::string_view text, Ink ink, const Terminal& terminal);
Ink InkOf(TrialState state);

}  // namespace sluice
