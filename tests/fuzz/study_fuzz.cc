// Any bytes at all are a study or are refused with a message; never a crash, a hang or much memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/study.h"
#include "engine/templates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto study = sluice::ReadStudy(text, "study.yaml", "study");
  if (!study) {
    if (!study.error().message.starts_with("study.yaml:")) std::abort();
    return 0;
  }
  // What was accepted can be run.
  if (study->trials < 1 || study->program.empty() || study->space.size() == 0) std::abort();
  if (!sluice::CheckStudyName(study->name)) std::abort();
  sluice::ExpandProgram(study->program, {}, {{"args", {"--a=1"}}});
  for (const auto& [name, value] : study->environment) sluice::Expand(value, {});
  return 0;
}
