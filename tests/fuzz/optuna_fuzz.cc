// rooms: ledger

// Any JSON at all in the tables of an Optuna storage is refused, or becomes a study file; values
// that were drawn from its distributions are looked for in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "ledger/optuna/optuna_codec.h"
#include "ledger/optuna/optuna_space.h"
#include "ledger/optuna/optuna_study_file.h"

namespace {

using namespace sluice;

// A line is a distribution and, before it, where in its range the value lies.
void AddLine(std::string_view line, OptunaStudy& study, std::map<std::string, std::size_t>& known) {
  if (line.size() < 2) return;
  const auto parameter = DecodeDistribution(std::string(line.substr(0, 1)), line.substr(2));
  if (!parameter) return;
  const double share = static_cast<unsigned char>(line[1]) / 256.0;
  double number = parameter->low + share * (parameter->high - parameter->low);
  if (parameter->has_choices())
    number = static_cast<double>(
        static_cast<std::size_t>(share * static_cast<double>(parameter->choices.size())));
  if (parameter->kind == ParameterKind::kInt)
    number = static_cast<double>(static_cast<std::int64_t>(number));
  const auto [place, is_new] = known.try_emplace(parameter->name, study.parameters.size());
  if (is_new) {
    study.parameters.push_back(*parameter);
  } else if (!Widen(study.parameters[place->second], *parameter)) {
    return;
  }
  Widen(study.parameters[place->second], number);
  study.trials.push_back({.state = OptunaState::kComplete});
  study.trials.back().params[parameter->name] =
      parameter->has_choices() ? parameter->choices[static_cast<std::size_t>(number)]
                               : Value(number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)DecodeValues(input);
  (void)DecodeFirstText(input);
  if (const auto members = DecodeMembers(input)) {
    if (!EncodeMembers(*members)) std::abort();
  }
  OptunaStudy study;
  study.name = "fuzz";
  std::map<std::string, std::size_t> known;
  std::size_t begin = 0;
  while (begin < input.size()) {
    const std::size_t end = std::min(input.find('\n', begin), input.size());
    AddLine(input.substr(begin, end - begin), study, known);
    begin = end + 1;
  }
  for (Parameter& parameter : study.parameters) parameter = AsInSpace(std::move(parameter));
  const auto file = MakeStudyFile(study, "fuzz");
  if (!file) return 0;
  for (const OptunaTrial& trial : study.trials) {
    for (const auto& [name, value] : trial.params) {
      (void)NumberOf(file->spec.space, known.at(name), value);
    }
  }
  return 0;
}
