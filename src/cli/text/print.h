#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Prints to standard output. Only FinishOutput, at the end, says whether writing failed.
void Print(std::string_view text);
void PrintLine(std::string_view text);

// Writes each line of the text to standard error, as "sluice: LINE".
void Remark(std::string_view text);

// Flushes standard output. Returns false if some of the output could not be written.
bool FinishOutput();

// "14 trials", "1 trial"
std::string Counted(long long count, std::string_view noun);
// "1.5 GB"
std::string FormatBytes(long long bytes);
// The text, in quotes if need be, so that a shell reads it as one word.
std::string ShellQuoted(std::string_view text);

}  // namespace sluice
