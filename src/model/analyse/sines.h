#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "model/analyse/law.h"

namespace sluice::model {

// Tables of sines and cosines that stand for positions. Row t has the sines and cosines of
// t / 10000^(2i / width), either in turns or all sines first. Such a table can be made for any
// width.

// Which of the two kinds a table is, given the elements of its first rows. Empty if it is neither.
std::optional<Law::Kind> RecogniseSines(std::span<const double> elements, std::size_t width);

// An element of such a table.
double SineAt(Law::Kind kind, std::size_t row, std::size_t column, std::size_t width);

}  // namespace sluice::model
