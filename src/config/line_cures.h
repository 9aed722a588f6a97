#pragma once

#include <vector>

#include "config/faulty_text.h"

namespace sluice {

// Mistakes in how a line is written: its indentation, its dash, its key and its colon. Each of
// these functions looks at the line on which the parser stopped, and most look at the line before
// it too. Each returns the possible cures, the likely cures first, or none if it sees no such
// mistake.

// "trials:40"
std::vector<Cure> MissingBlank(const FaultyText& faulty);
// "space" with its contents on the lines below; "trials 24" and "trials = 24".
std::vector<Cure> MissingColon(const FaultyText& faulty);
// "n {int: [1, 4]}" and "n = {int: [1, 4]}"
std::vector<Cure> ColonBeforeBracket(const FaultyText& faulty);
// "- trials: 24" among keys that have no dash.
std::vector<Cure> StrayDash(const FaultyText& faulty);
// "-lr < 1", or "-{lr: 0.1}"
std::vector<Cure> DashWithoutBlank(const FaultyText& faulty);
// A line indented unlike the lines before it: deeper than a key that has a value, or between two
// levels.
std::vector<Cure> UnlikeIndentation(const FaultyText& faulty);
// "// comment" and "-- comment"
std::vector<Cure> ForeignComment(const FaultyText& faulty);
// A character that looks like a character of YAML's syntax, but is another character.
std::vector<Cure> LookalikeCharacter(const FaultyText& faulty);

}  // namespace sluice
