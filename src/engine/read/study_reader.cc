#include "engine/read/study_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/config.h"
#include "engine/read/foreign_keys.h"
#include "engine/read/objective_reader.h"
#include "engine/read/points_reader.h"
#include "engine/read/stopper_reader.h"
#include "engine/read/study_keys.h"
#include "engine/read/sweep/sweep_reader.h"
#include "engine/read/templates.h"
#include "engine/read/training_reader.h"
#include "engine/study.h"
#include "space/space_reader.h"

namespace sluice {
namespace {

const std::vector<std::string>& StudyKeys() {
  static const auto& keys = *new std::vector<std::string>{
      "study",          "program", "space",      "constraints", "objective", "sampler",
      "stopper",        "budget",  "trials",     "stop_at",     "deadline",  "parallelism",
      "resources",      "profile", "fuse",       "transfer",    "timeouts",  "retries",
      "max_failures",   "backoff", "seed",       "environment", "policy",    "output_cap",
      "checkpoint_cap", "enqueue", "warm_start", "weight",      "model",     "shape",
      "data",           "train"};
  return keys;
}

// Reads the keys of a study one by one into a spec. Where a value is bad, the spec keeps its
// default, and the other keys are still read.
class StudyReader {
 public:
  StudyReader(const ConfigNode& root, ConfigMap map) : root_(root), map_(std::move(map)) {}

  StudySpec Read(const StudyPart& part) {
    std::vector<std::string> keys = StudyKeys();
    keys.insert(keys.end(), part.more_keys.begin(), part.more_keys.end());
    map_.AllowOnly(keys, ForeignKeys());
    ReadName(part.default_name);
    ReadSpaceSection();
    const bool trains = SaysTraining(map_);
    if (!trains && (part.needs_program || map_.Find("program") != nullptr)) ReadProgram();
    ReadSearch();
    ReadPoints();
    ReadTrials();
    spec_.stop_at =
        ReadStopAt(map_.Find("stop_at"), objective_good_ ? &spec_.objective : nullptr, spec_.unit);
    spec_.demand.memory_bytes = part.memory_bytes;
    if (trains) {
      ReadTraining(map_,
                   {.names = parameters_, .space_good = space_good_, .budget_good = budget_good_},
                   spec_);
    } else if (const ConfigNode* data = map_.Find("data")) {
      data->Report(
          "expected this key only beside 'train', since a program reads its data itself; remove "
          "the key, or the program and add 'train: {optimizer: sgd, lr: 0.1, batch: 32}'");
    }
    return ReadRunningKeys(map_, parameters_, std::move(spec_));
  }

 private:
  void ReadName(std::string_view default_name) {
    spec_.name = default_name;
    if (const ConfigNode* node = map_.Find("study")) {
      if (!node->is_scalar()) return node->Expected("a name", "write 'study: NAME'");
      const auto name = node->Text();
      if (!name) return;
      spec_.name = *name;
      if (const Status status = CheckStudyName(*name); !status)
        node->Report(status.error().message);
    } else if (const Status status = CheckStudyName(default_name); !status) {
      root_.Named("study").Report(status.error().message +
                                  ", the file's own name; add 'study: NAME'");
    }
  }

  void ReadSpaceSection() {
    const ConfigNode* node =
        map_.Require("space", "what to tune", "add 'space: {lr: {float: [0.1, 1]}}'");
    if (node == nullptr) return;
    // Templates may name a parameter even if the description of that parameter has mistakes.
    if (node->is_map()) {
      const ConfigMap section = *node->Map();
      for (const auto& entry : section.entries()) {
        parameters_.insert(entry.key);
        if (!IsParameter(entry.value)) map_.Excuse(entry.key);
      }
      names_known_ = true;
    }
    if (auto space = ReadSpace(*node, {.reserved = TemplateWords(),
                                       .beside = StudyKeys(),
                                       .constraints = map_.Find("constraints")})) {
      spec_.space = std::move(*space);
      space_good_ = true;
    }
  }

  void ReadProgram() {
    const ConfigNode* node =
        map_.Require("program", "the program of a trial", "add 'program: python train.py {args}'");
    if (node == nullptr) return;
    if (node->is_list()) {
      const auto items = node->List();
      for (const ConfigNode& item : *items) {
        const auto text = item.Text();
        if (!text) continue;
        CheckItem(item, *text);
        spec_.program.push_back(*text);
      }
      if (items->empty()) node->Expected("a program with at least one item");
    } else if (node->is_scalar()) {
      const auto text = node->Text();
      if (!text) return;
      auto items = SplitCommandLine(*text);
      if (!items) return node->Report(items.error().message);
      for (const std::string& item : *items) CheckItem(*node, item);
      spec_.program = std::move(*items);
      if (spec_.program.empty()) node->Expected("a program with at least one item");
    } else {
      node->Expected("a command line or a list of texts", "quote a text that begins with a brace");
    }
    if (spec_.program.empty()) return;
    if (spec_.program.front().empty()) node->Expected("a program that is not ''");
    CheckAlwaysThere(*node, spec_.program.front());
  }

  // Refuses a program whose name depends on a parameter that is not always active: an item that
  // names an inactive parameter is left out.
  void CheckAlwaysThere(const ConfigNode& node, const std::string& program) {
    if (!space_good_) return;
    TemplateValues values;
    for (const std::string& word : TemplateWords()) values[word];
    for (const std::string& name : parameters_) values[name];
    for (std::size_t i = 0; i < spec_.space.size(); ++i) {
      const Parameter& parameter = spec_.space.parameters()[i];
      if (spec_.space.condition(i) == nullptr) continue;
      values.erase(parameter.name);
      if (HasValues(program, values)) continue;
      return node.Report(
          fmt::format("expected a program that is there in every trial, found '{}', "
                      "since {} is not always active; remove its condition",
                      Shown(program), parameter.name));
    }
  }

  void CheckItem(const ConfigNode& node, std::string_view item) {
    if (bad_templates_ >= kMostBadTemplates || !names_known_) return;
    if (const Status status = CheckProgramItem(item, parameters_); !status) {
      node.Report(status.error().message);
      ++bad_templates_;
    }
  }

  void ReadSearch() {
    budget_good_ = ReadBudget(map_, spec_);
    const auto objective = ReadObjective(map_, spec_.unit);
    if (objective) spec_.objective = *objective;
    objective_good_ = objective.has_value();
    ReadSampler();
    ReadStopper(map_, parameters_, budget_good_, spec_);
  }

  void ReadSampler() {
    const ConfigNode* node = map_.Find("sampler");
    if (node == nullptr) return;
    const auto name = node->OneOf(SamplerNames(), ForeignSamplers());
    sampler_good_ = name.has_value();
    if (!name) return;
    spec_.sampler.name = *name;
    if (!space_good_) return;
    if (const auto sampler = MakeSampler(spec_.sampler, spec_.space, 0); !sampler) {
      node->Report(sampler.error().message);
      sampler_good_ = false;
    }
  }

  void ReadPoints() {
    if (const ConfigNode* node = map_.Find("enqueue"); node != nullptr && space_good_)
      spec_.enqueue = ReadEnqueue(*node, spec_.space);
    if (const ConfigNode* node = map_.Find("warm_start"))
      spec_.warm_start = ReadWarmStart(*node, space_good_ ? &spec_.space : nullptr);
  }

  void ReadTrials() {
    if (map_.Find("transfer") != nullptr) {
      spec_.trials = 1;
      if (map_.Find("trials") != nullptr)
        map_.Find("trials")->Report(
            "expected nothing beside 'transfer', since its trials are the best of another study; "
            "remove the key");
      return;
    }
    if (const ConfigNode* node = map_.Find("trials")) {
      if (const auto trials = node->Integer({.min = 1, .max = kMaxTrials}))
        spec_.trials = static_cast<int>(*trials);
      return;
    }
    if (spec_.sampler.name != "grid") {
      // The sampler's name is wrong. `trials` may be left out if grid was meant.
      if (!sampler_good_) return;
      map_.Require("trials", fmt::format("how many trials, 1 to {}", kMaxTrials),
                   "add 'trials: 24'");
      return;
    }
    const auto points = space_good_ && sampler_good_ ? spec_.space.Cardinality() : std::nullopt;
    if (!points) return;
    if (*points > static_cast<std::uint64_t>(kMaxTrials)) {
      root_.Named("trials").Report(
          fmt::format("expected how many trials, 1 to {}, since the grid has {} points, found "
                      "nothing; add 'trials: 24', or make the grid smaller",
                      kMaxTrials, *points));
      return;
    }
    // Points that the user gives (enqueue) are trials in addition to the grid.
    spec_.trials = static_cast<int>(*points) + static_cast<int>(spec_.enqueue.size());
  }

  const ConfigNode root_;
  const ConfigMap map_;
  StudySpec spec_;
  ParameterNames parameters_;
  std::size_t bad_templates_ = 0;
  bool names_known_ = false;  // the names of the parameters are known
  bool space_good_ = false;
  bool objective_good_ = false;
  bool budget_good_ = false;
  bool sampler_good_ = true;
};

// Reports a study whose keys are indented below another key, and then returns true.
bool ReportNested(const ConfigMap& map) {
  const auto is_one = [](const ConfigMap& keys) {
    return std::ranges::count_if(keys.entries(), [](const ConfigMap::Entry& entry) {
             return entry.key == "program" || entry.key == "space" || entry.key == "objective" ||
                    entry.key == "parameters" || entry.key == "trials";
           }) >= 2;
  };
  if (is_one(map)) return false;
  for (const ConfigMap::Entry& entry : map.entries()) {
    if (!entry.value.is_map() || !is_one(*entry.value.Map())) continue;
    entry.value.Report(fmt::format(
        "expected the keys of the study at the beginning of their lines, found them below '{}'; "
        "move them to the left{}",
        entry.key,
        entry.key == "study" ? ", and write 'study: NAME'"
                             : fmt::format(", and remove '{}:'", entry.key)));
    return true;
  }
  return false;
}

}  // namespace

StudySpec ReadStudyPart(const ConfigNode& node, const ConfigMap& map, const StudyPart& part) {
  return StudyReader(node, map).Read(part);
}

Result<StudySpec> ReadStudy(std::string_view text, std::string_view file,
                            std::string_view default_name) {
  SLUICE_ASSIGN(const ConfigFile config, ConfigFile::Parse(text, file));
  const ConfigNode root = config.root();
  if (!root.is_map()) {
    root.Expected("a study, keys such as program, space and objective");
    return std::unexpected(config.Check().error());
  }
  const ConfigMap map = *root.Map();
  if (ReportNested(map)) return std::unexpected(config.Check().error());
  StudySpec spec = IsSweep(map)
                       ? ReadSweep(root, map, default_name)
                       : ReadStudyPart(root, map, {.default_name = std::string(default_name)});
  SLUICE_TRY(config.Check());
  return spec;
}

}  // namespace sluice
