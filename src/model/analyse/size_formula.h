#pragma once

#include <string>
#include <string_view>

namespace sluice::model {

// A formula of an archive in short form: "4*s77" for
// "Mul(Integer(4), Symbol('s77', positive=True, integer=True))". A formula that cannot be parsed is
// returned as it is.
std::string ReadableFormula(std::string_view formula);

// Whether the text is a letter, followed by letters, digits and underscores only.
bool IsSymbolName(std::string_view text);

}  // namespace sluice::model
