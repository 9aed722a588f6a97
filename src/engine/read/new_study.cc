#include "engine/read/new_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "config/config.h"
#include "recipe/recipe.h"
#include "search/samplers/explore.h"
#include "space/feasibility.h"

namespace sluice {
namespace {

// Refuses values that begin with curly quotes, as word processors write them. YAML takes such
// quotes for part of the text.
Status CheckQuotes(std::string_view text, std::string_view file) {
  constexpr std::array<std::string_view, 4> kCurly = {"\u201c", "\u201d", "\u2018", "\u2019"};
  int line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view at = FirstLine(rest);
    rest.remove_prefix(std::min(at.size() + 1, rest.size()));
    ++line;
    at = at.substr(0, at.starts_with('#') ? 0 : at.find(" #"));
    for (const std::string_view quote : kCurly) {
      const std::size_t found = at.find(quote);
      if (found == std::string_view::npos) continue;
      const std::size_t before = at.substr(0, found).find_last_not_of(' ');
      const bool begins =
          before == std::string_view::npos || std::string_view(":[{,-").contains(at[before]);
      if (!begins) continue;
      return InvalidArgument(
          fmt::format("{}:{}: expected straight quotes, found {}, which is part of the text here; "
                      "write \" or '",
                      file, line, quote));
    }
  }
  return {};
}

// Rewrites an assignment such as "CUDA_VISIBLE_DEVICES=0", which a shell accepts before a program,
// as "NAME: value". Empty if the item is no assignment.
std::string VariableIn(const std::string& first) {
  const std::size_t equals = first.find('=');
  const auto fits = [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
  };
  if (equals == std::string::npos || equals == 0) return "";
  if (!std::ranges::all_of(first.substr(0, equals), fits)) return "";
  return fmt::format("{}: {}", first.substr(0, equals),
                     equals + 1 < first.size() ? first.substr(equals + 1) : "''");
}

// Fails with this message at the line of a key. `path` names the key, in the form of
// ConfigFile::At.
Status Refuse(std::string_view text, std::string_view file, std::string_view path,
              std::string_view message) {
  SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
  const ConfigNode node = config.At(path);
  (node.path().empty() ? node.Named(std::string(path)) : node).Report(message);
  return config.Check();
}

// A number without a unit counts bytes. If it is below these limits, the unit was most likely
// forgotten.
constexpr std::int64_t kLeastMemory = std::int64_t{1} << 20;
constexpr std::int64_t kLeastCap = 1000;
Status CheckSize(std::string_view text, std::string_view file, std::string_view path,
                 std::int64_t bytes, std::int64_t least) {
  if (bytes == 0 || bytes >= least) return {};
  return Refuse(text, file, path,
                fmt::format("expected at least {1}, found {0} bytes; write '{0}GiB' or '{0}MiB'",
                            bytes, least == kLeastCap ? "1kB" : "1MiB"));
}

// Refuses options with a blank in front. They come from a '\' at the end of a line, where YAML
// joins the lines with a blank and the '\' then quotes that blank.
Status CheckBlanks(const StudySpec& spec, std::string_view text, std::string_view file) {
  for (const std::string& item : spec.program) {
    if (!item.starts_with(" -")) continue;
    return Refuse(text, file, "program",
                  fmt::format("expected options, found '{}' with a blank in front; remove the '\\' "
                              "before it, since lines below 'program: >' are one",
                              Shown(item)));
  }
  return {};
}

// A fork goes on with what its parent has saved: weights and moments. Returns a message if one of
// the parameters that forks change decides what these are.
std::optional<std::string> ChangesWhatForksKeep(const recipe::Recipe& recipe,
                                                const std::vector<std::string>& changed) {
  constexpr std::array<std::string_view, 5> kKept = {"model.network", "model.scale", "model.rule",
                                                     "model.readout", "train.optimizer"};
  const auto reaches = recipe::ReachOf(recipe);
  for (const std::string& name : changed) {
    const auto reach = reaches.find(name);
    if (reach == reaches.end()) continue;
    for (const std::string& path : reach->second.paths) {
      if (std::ranges::find(kKept, path) == kKept.end()) continue;
      return fmt::format(
          "expected parameters that forks may change, found '{0}', which sets {1}: a fork goes on "
          "with the weights of its parent; name others, as in 'mutate: [lr]'",
          Shown(name), path);
    }
  }
  return std::nullopt;
}

// Refuses what has no effect in a study that trains the best trial of another.
Status CheckTransfer(const StudySpec& spec, std::string_view text, std::string_view file) {
  if (spec.transfer.empty()) return {};
  const auto refuse = [&](std::string_view key) {
    return Refuse(text, file, key,
                  "expected nothing beside 'transfer', since its trials are the best of another "
                  "study, one at a time; remove the key");
  };
  if (spec.stopper.name != "none") SLUICE_TRY(refuse("stopper"));
  if (!spec.enqueue.empty()) SLUICE_TRY(refuse("enqueue"));
  if (spec.warm_start) SLUICE_TRY(refuse("warm_start"));
  return {};
}

}  // namespace

Result<std::vector<std::string>> CheckNewStudy(const StudySpec& spec, std::string_view text,
                                               std::string_view file) {
  SLUICE_TRY(CheckQuotes(text, file));
  if (const std::string variable = spec.program.empty() ? "" : VariableIn(spec.program.front());
      !variable.empty() && !spec.sweep) {
    const std::string message = fmt::format(
        "expected a program, found a variable before it, and no shell runs it; write "
        "'environment: {{{}}}' instead",
        Shown(variable));
    SLUICE_TRY(Refuse(text, file, "program", message));
  }
  SLUICE_TRY(CheckBlanks(spec, text, file));
  SLUICE_TRY(CheckTransfer(spec, text, file));
  const Demand& demand = spec.demand;
  SLUICE_TRY(CheckSize(text, file, "resources.memory", demand.memory_bytes, kLeastMemory));
  if (demand.fused_bytes != demand.memory_bytes)
    SLUICE_TRY(CheckSize(text, file, "fuse.memory", demand.fused_bytes, kLeastMemory));
  SLUICE_TRY(CheckSize(text, file, "checkpoint_cap", spec.checkpoint_cap_bytes, kLeastCap));
  SLUICE_TRY(CheckSize(text, file, "output_cap", spec.output_cap_bytes, kLeastCap));
  const Feasibility found = Examine(spec.space);
  if (const Status status = CheckFeasible(spec.space, found); !status) {
    const auto rule = HardestRule(found);
    const std::string path = rule ? fmt::format("constraints.{}", *rule) : "constraints";
    SLUICE_TRY(Refuse(text, file, path, status.error().message));
  }
  std::vector<std::string> remarks = Remarks(spec.space, found);
  for (const std::string& item : spec.program) {
    if (item.size() < 2 || !item.ends_with(';') || item.contains(' ')) continue;
    remarks.push_back(
        fmt::format("program: '{}' is passed as it stands, since no shell runs it; write \"sh -c "
                    "'...'\" for one",
                    Shown(item)));
  }
  for (const Parameter& parameter : spec.space.parameters()) {
    const std::string braces = fmt::format("{{{{{}}}}}", parameter.name);
    const bool passed = std::ranges::any_of(
        spec.program, [&](const std::string& item) { return item.contains(braces); });
    if (!passed) continue;
    remarks.push_back(fmt::format(
        "program: {} is passed as it stands, in braces; write {{{}}} for the parameter's value",
        braces, parameter.name));
  }
  if (spec.stopper.name == "percentile" && spec.stopper.percentile < 1) {
    remarks.push_back(
        fmt::format("stopper: percentile {0:.6g} keeps the best {0:.6g} in a hundred; write "
                    "{1:.6g} for the best "
                    "{1:.6g} %",
                    spec.stopper.percentile, spec.stopper.percentile * 100));
  }
  if (spec.objective.metric.starts_with('-')) {
    remarks.push_back(fmt::format(
        "objective: '{0}' is the name of a metric here; swap maximize and minimize for the "
        "negative of '{1}'",
        spec.objective.metric, spec.objective.metric.substr(1)));
  }
  if (!IsPopulation(spec.stopper.name)) return remarks;
  const ForkNames forks = NamesInForks(spec.space, spec.stopper.mutate);
  // A population whose forks are all like their parents learns nothing.
  if (forks.changed.empty()) {
    const std::string message = fmt::format(
        "expected a parameter that forks may change: a float, or one that is named, as "
        "in 'stopper: {{name: {}, mutate: [{}]}}', found none",
        spec.stopper.name, spec.space.parameters().front().name);
    SLUICE_TRY(Refuse(text, file, "stopper", message));
  }
  if (spec.training) {
    if (const auto mistake = ChangesWhatForksKeep(*spec.training, forks.changed))
      SLUICE_TRY(Refuse(text, file, "stopper", *mistake));
  }
  if (spec.stopper.mutate.empty() && !forks.kept.empty()) {
    remarks.push_back(
        fmt::format("stopper: forks change floats alone, and keep {}, since a saved checkpoint "
                    "may not fit another value: name what may change, as in 'mutate: [{}]'",
                    Join(forks.kept), spec.space.parameters().front().name));
  }
  return remarks;
}

}  // namespace sluice
