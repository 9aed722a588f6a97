#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// Programs and environments hold {words} that are filled in for each launch: a parameter's name or
// one of TemplateWords(). {{ and }} stand for braces.
using TemplateValues = std::map<std::string, std::string>;
using ParameterNames = std::set<std::string, std::less<>>;

// The words that are not parameters; no parameter may be called like one.
const std::vector<std::string>& TemplateWords();

// Fails on a word that is neither in `parameters` nor in TemplateWords() (suggesting the nearest),
// on a brace that has no partner, and on {args}, which is many texts and has its place in programs
// only.
Status CheckTemplate(std::string_view text, const ParameterNames& parameters);

// The same for one item of a program, which may be {args} and nothing else.
Status CheckProgramItem(std::string_view item, const ParameterNames& parameters);

// Fills in a text that was checked. A word without a value becomes nothing. What values hold is not
// looked at again.
std::string Expand(std::string_view text, const TemplateValues& values);

// Whether each word of a text that was checked has a value: a parameter that is not active has none.
bool HasValues(std::string_view text, const TemplateValues& values);

// Fills in each item; an item {args} becomes the items `args`, such as --lr=0.1 for each parameter.
// An item with a word that has no value is left out, and with it an option before it (an item such as
// --lr or -l) that waits for it.
std::vector<std::string> ExpandProgram(const std::vector<std::string>& program,
                                       const TemplateValues& values,
                                       const std::vector<std::string>& args);

// Splits a command line into items as a shell does, with its quotes and backslashes but no
// expansion of any kind. Fails on a quote that is not closed and on what only a shell could do (|,
// &&, >, ...) unless quoted.
Result<std::vector<std::string>> SplitCommandLine(std::string_view text);

}  // namespace sluice
