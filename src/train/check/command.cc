#include "train/check/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "model/network.h"
#include "train/examples.h"
#include "train/check/fused.h"

namespace sluice::train {
namespace {

constexpr std::string_view kCheckHelp =
    R"(sluice-trainer check NETWORK: is a network trained here as PyTorch trains it?

  forward      what the trainer computes for the inputs that sluice.export stored in
               NETWORK.examples equals the outputs stored there, in training (unless the network
               draws random numbers) and in evaluation
  fused        three trials that are trained together become what each becomes alone, in float64

NETWORK is an archive (net.pt2), or zoo:NAME, which has no stored outputs. The exit status is 0 if
nothing differs and 1 otherwise. Outputs that are not stored are called unchecked.
)";

// Prints what was found. Returns whether nothing differs.
bool PrintExamples(const ExamplesCheck& check) {
  fmt::print("training    {}\n", model::ComparisonText(check.training));
  fmt::print("evaluation  {}\n", model::ComparisonText(check.evaluation));
  for (const ComparedOutput& each : check.outputs)
    fmt::print("  {}: largest difference {:.3g}, allowed {:.3g}{}\n", each.name, each.difference,
               each.bound, each.problem.empty() ? "" : "; " + each.problem);
  for (const std::string& note : check.notes) fmt::print("  note: {}\n", note);
  const auto is_good = [](const model::Comparison& comparison) {
    return comparison.verdict != model::Comparison::Verdict::kDiffers;
  };
  return is_good(check.training) && is_good(check.evaluation);
}

bool PrintFused(const FusedCheck& check) {
  fmt::print("fused       {}: largest difference {:.3g}, allowed {:.3g}{}\n",
             check.equal ? "equal" : "differs", check.difference, kFusedBound,
             check.equal ? "" : ", in '" + check.tensor + "'");
  return check.equal;
}

int FailedCheck(const Error& error) {
  fmt::print(stderr, "sluice-trainer: {}\n", error.message);
  return 1;
}

}  // namespace

int RunCheck(std::span<char*> words) {
  if (words.size() == 1 && std::string_view(words[0]) == "--help") {
    fmt::print("{}", kCheckHelp);
    return 0;
  }
  if (words.size() != 1 || std::string_view(words[0]).starts_with("-")) {
    fmt::print(stderr, "sluice-trainer: check: expected one network; see check --help\n");
    return 2;
  }
  const std::string network = words[0];
  bool good = true;
  if (!model::IsOfZoo(network)) {
    const auto examples = CheckExamples(network);
    if (!examples) return FailedCheck(examples.error());
    good = PrintExamples(*examples);
  }
  const auto fused = CheckFused(network);
  if (!fused) return FailedCheck(fused.error());
  good = PrintFused(*fused) && good;
  return good ? 0 : 1;
}

}  // namespace sluice::train
