#pragma once

#include <vector>

#include "config/faulty_text.h"

namespace sluice {

// Mistakes in what follows a key, on the line on which the parser stopped. Each of these
// functions returns the possible cures, the likely cures first, or none if it sees no such mistake.

// A comparison that YAML takes for a block scalar, as in "accuracy: > 0.9".
std::vector<Cure> ComparisonBehindKey(const FaultyText& faulty);
// "constraints: - a < b"
std::vector<Cure> ItemBehindKey(const FaultyText& faulty);
// "program: python train.py --tag a: b"
std::vector<Cure> ColonInText(const FaultyText& faulty);
// "name: 'a' b" or "name: {a} b"
std::vector<Cure> RestBehindQuote(const FaultyText& faulty);

}  // namespace sluice
