#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "model/analyse/law.h"

namespace sluice::model {

// Tables of sines and cosines that stand for positions: row t has those of t / 10000^(2i / width), in turns or the
// sines first. They can be made for any width.

// Which of the two a table is of which these are the first rows; nothing if it is none.
std::optional<Law::Kind> RecogniseSines(std::span<const double> elements, std::size_t width);

// An element of such a table.
double SineAt(Law::Kind kind, std::size_t row, std::size_t column, std::size_t width);

}  // namespace sluice::model
