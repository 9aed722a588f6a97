// rooms: engine

// Any bytes at all are a sweep or are refused with a message, and what a sweep asks for can be told
// to a program: never a crash, a hang or much memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/read/arguments_codec.h"
#include "engine/read/templates.h"
#include "engine/study.h"

namespace {

// The ends of the space and its middle: a program is told of each.
void Tell(const sluice::StudySpec& study) {
  for (const double unit : {0.0, 0.5, 0.999}) {
    const sluice::Point point = study.space.FromUnit(std::vector<double>(study.space.size(), unit));
    const sluice::Arguments arguments = sluice::ArgumentsOf(study, point);
    if (arguments.lists.at("args").size() != study.space.size()) std::abort();
    if (!arguments.json.starts_with('{')) std::abort();
    sluice::ExpandProgram(study.program, arguments.values, arguments.lists);
    for (const std::string& item : study.program) sluice::EnvironmentWords(item);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view rest(reinterpret_cast<const char*>(data), size);
  // Each input is tried as it is, and as the end of a sweep that is good so far.
  for (const std::string_view begin :
       {"", "program: a.py\nmethod: random\nmetric: {name: loss}\n"}) {
    const auto study = sluice::ReadStudy(std::string(begin) + std::string(rest), "sweep.yaml", "s");
    if (!study) {
      if (!study.error().message.starts_with("sweep.yaml:")) std::abort();
      continue;
    }
    if (!study->sweep) continue;
    if (study->trials < 1 || study->program.empty() || study->space.size() == 0) std::abort();
    if (!sluice::CheckStudyName(study->name) || study->objective.metric.empty()) std::abort();
    for (const sluice::Parameter& parameter : study->space.parameters()) {
      if (!sluice::CheckParameter(parameter)) std::abort();
    }
    Tell(*study);
  }
  return 0;
}
