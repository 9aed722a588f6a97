#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/templates/template_text.h"

// Programs and environments hold {words} that are filled in for each launch: a parameter's name or
// one of TemplateWords(), or {envvar:NAME}, a variable of the environment of the `sluice tune` or
// `sluice resume` that handed the study over. {{ and }} stand for braces
// (base/templates/template_text.h).

namespace sluice {

// The beginning of a template for a variable of the environment: {envvar:HOME}.
constexpr std::string_view kEnvironmentTemplate = "envvar:";

// The texts that take the place of each list word. The list words are {args}, {args_no_hyphens},
// {args_no_equals} and {args_no_boolean_flags}.
using TemplateLists = std::map<std::string, std::vector<std::string>, std::less<>>;
using ParameterNames = std::set<std::string, std::less<>>;

// The words that are not parameters. No parameter may have such a name.
const std::vector<std::string>& TemplateWords();

// Fails on a word that is neither in `parameters` nor in TemplateWords(), and suggests the nearest.
// Fails on a brace that has no partner. Fails on a list word, which is allowed only in a program.
Status CheckTemplate(std::string_view text, const ParameterNames& parameters);

// The same for one item of a program. The whole item may also be a list word.
Status CheckProgramItem(std::string_view item, const ParameterNames& parameters);

// Fills in each item. A list word becomes the items of its list, such as --lr=0.1 for each
// parameter. An item with a word that has no value is left out. If that item would be the value of
// an option before it (such as --lr or -l), the option is left out too.
std::vector<std::string> ExpandProgram(const std::vector<std::string>& program,
                                       const TemplateValues& values, const TemplateLists& lists);

// The names of the environment variables that a text needs, from its words {envvar:NAME}.
std::vector<std::string> EnvironmentWords(std::string_view text);

// Splits a command line into items as a shell does, with its quotes and backslashes but no
// expansion of any kind. Fails on a quote that is not closed, and on unquoted operators that only a
// shell could carry out (|, &&, >, ...).
Result<std::vector<std::string>> SplitCommandLine(std::string_view text);

}  // namespace sluice
