#pragma once

#include <string>

#include "engine/read/templates.h"
#include "engine/study.h"

namespace sluice {

// How the parameters of a trial are passed to its program.
struct Arguments {
  TemplateValues values;  // {NAME} of each parameter, and {args_json}
  TemplateLists lists;    // {args} and the other list words
  std::string json;       // a JSON object, which is written to the file that {params} names
};

// The arguments of a point in the study's space. Those of a sweep are written as W&B writes them:
// texts as Python shows them (True, None, 1.0), and nested parameters nested in the JSON.
Arguments ArgumentsOf(const StudySpec& spec, const Point& point);

// A choice as JSON.
std::string ChoiceJson(const Choice& choice);

}  // namespace sluice
