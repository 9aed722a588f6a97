#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Prints to standard output. A failure to write is noticed once, at the end (FinishOutput).
void Print(std::string_view text);
void PrintLine(std::string_view text);

// A remark on standard error: "sluice: ...", one for each line of the text.
void Remark(std::string_view text);

// False if some of standard output was lost.
bool FinishOutput();

// "14 trials", "1 trial"
std::string Counted(long long count, std::string_view noun);
// "1.5 GB"
std::string FormatBytes(long long bytes);
// A text as one word of a shell.
std::string ShellQuoted(std::string_view text);

}  // namespace sluice
