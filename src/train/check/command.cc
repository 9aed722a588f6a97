#include "train/check/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/network.h"
#include "model/shrink/shrink.h"
#include "train/check/coordinates.h"
#include "train/check/fallbacks.h"
#include "train/check/fused.h"
#include "train/failure.h"
#include "train/measure/examples.h"
#include "train/tensor_bound.h"

namespace sluice::train {
namespace {

constexpr std::string_view kCheckHelp =
    R"(sluice-trainer check NETWORK [flags]: is a network trained here as PyTorch trains it?

  forward      what the trainer computes for the inputs that sluice.export stored in
               NETWORK.examples equals the outputs stored there, in training (unless the network
               draws random numbers) and in evaluation
  fused        three trials that are trained together become what each becomes alone, in float64
  coordinates  after some steps of training, what each layer computes is as large in a narrow
               network as in the network itself, so that hyperparameters can carry over
  fallbacks    is no check: which nodes have no rule for several trials at once, so that vmap or a
               loop over the trials runs them, and which part of a step they take

NETWORK is an archive (net.pt2), or zoo:NAME, which has no stored outputs. The exit status is 0 if
nothing differs and 1 otherwise. What cannot be checked is called unchecked.

  --scale S         fused and fallbacks: at this scale; coordinates: from a quarter of it on,
                    instead of from 1
  --optimizer NAME  for coordinates: sgd, adam (the default) or adamw
  --rule NAME       for coordinates: how narrow networks are parametrised, as 'rule' below 'model'
  --keep-readout    for coordinates: readouts do not begin at 0, as 'readout: keep'
  --svg FILE        writes a plot of the coordinates
  --without NAME    leaves out forward, fused or coordinates; may be given more than once
)";

struct CheckFlags {
  std::string network;
  recipe::TrialRecipe recipe;
  std::string svg;
  std::set<std::string, std::less<>> without;
};

Result<recipe::OptimizerKind> OptimizerNamed(std::string_view name) {
  using recipe::OptimizerKind;
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW})
    if (recipe::Name(kind) == name) return kind;
  return InvalidArgument(
      fmt::format("--optimizer: expected sgd, adam or adamw, found '{}'", Shown(name)));
}

Result<CheckFlags> ReadCheckFlags(std::span<char*> words) {
  CheckFlags flags;
  flags.recipe.optimizer.kind = recipe::OptimizerKind::kAdam;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with("-")) {
      if (!flags.network.empty())
        return InvalidArgument(
            fmt::format("expected one network, found '{}' after it", Shown(word)));
      flags.network = word;
      continue;
    }
    if (word == "--keep-readout") {
      flags.recipe.keep_readout = true;
      continue;
    }
    constexpr std::string_view kWithValue[] = {"--scale", "--optimizer", "--rule", "--svg",
                                               "--without"};
    if (std::ranges::find(kWithValue, word) == std::end(kWithValue))
      return InvalidArgument(fmt::format("expected a flag of check, found '{}'", Shown(word)));
    if (++i == words.size()) return InvalidArgument(fmt::format("expected a value after {}", word));
    const std::string value = words[i];
    if (word == "--scale") {
      SLUICE_ASSIGN(flags.recipe.scale, model::ReadScale(value));
    } else if (word == "--optimizer") {
      SLUICE_ASSIGN(flags.recipe.optimizer.kind, OptimizerNamed(value));
    } else if (word == "--rule") {
      flags.recipe.rule = value;
    } else if (word == "--svg") {
      flags.svg = value;
    } else if (value == "forward" || value == "fused" || value == "coordinates") {
      flags.without.insert(value);
    } else {
      return InvalidArgument(fmt::format(
          "--without: expected forward, fused or coordinates, found '{}'", Shown(value)));
    }
  }
  if (flags.network.empty()) return InvalidArgument("expected a network, found none");
  if (!flags.svg.empty() && flags.without.contains("coordinates"))
    return InvalidArgument("--svg: expected coordinates to be checked; remove --without");
  flags.recipe.network = flags.network;
  return flags;
}

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

bool PrintCoordinates(const CoordinateCheck& check) {
  if (!check.unchecked.empty()) {
    fmt::print("coordinates unchecked: {}\n", check.unchecked);
    return true;
  }
  const CoordinateCheck::Line& worst = check.Worst();
  fmt::print(
      "coordinates {}: sizes at widths 1/{} follow the scale with an exponent of at most "
      "{:.2f} \u00b1 {:.2f}, in '{}'; allowed {:.2f}\n",
      check.alike() ? "alike" : "differ", fmt::join(check.scales, ", 1/"), worst.exponent,
      worst.error, worst.name, check.bound);
  return check.alike();
}

bool PrintFallbacks(const Fallbacks& fallbacks) {
  fmt::print("{}", FallbacksText(fallbacks));
  return true;
}

// Prints what was found; if the memory did not suffice for it, that it is unchecked. Returns what
// `print` returns: whether nothing differs.
template <typename Found, typename Print>
Result<bool> PrintIfMemorySuffices(std::string_view name, const Result<Found>& found,
                                   const Print& print) {
  if (found) return print(*found);
  if (!IsScarce(found.error())) return std::unexpected(found.error());
  fmt::print("{} unchecked: {}\n", name, found.error().message);
  return true;
}

Status WriteSvg(const std::string& path, const std::string& svg) {
  std::ofstream file(path, std::ios::binary);
  file << svg;
  file.close();
  if (!file) return Unavailable(fmt::format("{}: the plot could not be written", path));
  return {};
}

// Messages about a node do not say which network it is in.
Error Named(const std::string& network, Error error) {
  if (!error.message.starts_with(network))
    error.message = fmt::format("{}: {}", network, error.message);
  return error;
}

int FailedCheck(const Error& error) {
  fmt::print(stderr, "sluice-trainer: {}\n", error.message);
  return 1;
}

// Runs the checks, prints what they find, and returns whether nothing differs.
Result<bool> Check(const CheckFlags& flags) {
  const double scale = flags.recipe.scale;
  bool good = true;
  if (!model::IsOfZoo(flags.network) && !flags.without.contains("forward")) {
    SLUICE_ASSIGN(const ExamplesCheck examples, CheckExamples(flags.network));
    good = PrintExamples(examples);
  }
  if (!flags.without.contains("fused")) {
    const auto fused = Guarded("training", [&] { return CheckFused(flags.network, scale); });
    SLUICE_ASSIGN(const bool equal, PrintIfMemorySuffices("fused      ", fused, PrintFused));
    good = equal && good;
  }
  if (!flags.without.contains("coordinates")) {
    const auto coordinates = Guarded("training", [&] { return CheckCoordinates(flags.recipe); });
    SLUICE_ASSIGN(const bool alike,
                  PrintIfMemorySuffices("coordinates", coordinates, PrintCoordinates));
    good = alike && good;
    if (coordinates && !flags.svg.empty())
      SLUICE_TRY(WriteSvg(flags.svg, CoordinatesSvg(flags.network, *coordinates)));
  }
  const auto fallbacks = Guarded("a step", [&] { return MeasureFallbacks(flags.network, scale); });
  SLUICE_TRY(PrintIfMemorySuffices("fallbacks  ", fallbacks, PrintFallbacks));
  return good;
}

}  // namespace

int RunCheck(std::span<char*> words) {
  if (words.size() == 1 && std::string_view(words[0]) == "--help") {
    fmt::print("{}", kCheckHelp);
    return 0;
  }
  const auto flags = ReadCheckFlags(words);
  if (!flags) {
    fmt::print(stderr, "sluice-trainer: check: {}; see check --help\n", flags.error().message);
    return 2;
  }
  const auto good = Check(*flags);
  if (!good) return FailedCheck(Named(flags->network, good.error()));
  return *good ? 0 : 1;
}

}  // namespace sluice::train
