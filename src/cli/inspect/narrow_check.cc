#include "cli/inspect/narrow_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "cli/inspect/captured_run.h"

namespace sluice {
namespace {

// A check takes a second or two for most networks. For large ones it is left to the user.
constexpr Duration kPatience = std::chrono::seconds(60);
constexpr std::size_t kMostChecked = 3;

bool DifferInScaleAtMost(const recipe::TrialRecipe& one, const recipe::TrialRecipe& other) {
  return one.network == other.network && one.rule == other.rule &&
         one.keep_readout == other.keep_readout && one.optimizer.kind == other.optimizer.kind;
}

std::vector<std::string> Words(const recipe::TrialRecipe& network) {
  std::vector<std::string> words = {
      "check",       network.network,
      "--scale",     fmt::format("{}", network.scale),
      "--optimizer", std::string(recipe::Name(network.optimizer.kind)),
      "--rule",      network.rule};
  if (network.keep_readout) words.emplace_back("--keep-readout");
  return words;
}

// The lines of the output, without those that explain a line before them.
std::string MainLines(const std::string& output) {
  std::string lines;
  std::size_t begin = 0;
  while (begin < output.size()) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    const std::string_view line = std::string_view(output).substr(begin, end - begin);
    if (!line.empty() && !line.starts_with(' ')) lines += fmt::format("\n  {}", line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace

void AddNarrow(std::vector<recipe::TrialRecipe>& networks, const recipe::TrialRecipe& trial) {
  for (recipe::TrialRecipe& each : networks) {
    if (!DifferInScaleAtMost(each, trial)) continue;
    if (trial.scale > each.scale) each = trial;
    return;
  }
  networks.push_back(trial);
}

std::vector<std::string> CheckNarrow(const std::vector<recipe::TrialRecipe>& networks,
                                     const std::string& trainer, const std::string& folder) {
  std::vector<std::string> remarks;
  for (const recipe::TrialRecipe& network : networks) {
    if (remarks.size() == kMostChecked) {
      remarks.push_back(
          fmt::format("model: {} more networks were not checked", networks.size() - kMostChecked));
      break;
    }
    const std::vector<std::string> words = Words(network);
    const std::string command = fmt::format("sluice-trainer {}", fmt::join(words, " "));
    std::vector<std::string> program = {trainer};
    program.insert(program.end(), words.begin(), words.end());
    auto run = RunCaptured(program, folder, kPatience);
    if (run && run->exit_status > 1)
      run = Unavailable(run->output.substr(0, run->output.find('\n')));
    if (!run) {
      remarks.push_back(fmt::format("model: {} was not checked: {}; run '{}'", network.network,
                                    run.error().message, command));
      continue;
    }
    const std::string_view verdict =
        run->exit_status == 0
            ? "nothing differs"
            : "hyperparameters that are found on it may be wrong for the whole network";
    remarks.push_back(fmt::format("model: {} at scale {:.4g}: {} ('{}'):{}", network.network,
                                  network.scale, verdict, command, MainLines(run->output)));
  }
  return remarks;
}

}  // namespace sluice
