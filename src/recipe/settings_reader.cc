#include "recipe/settings_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace sluice::recipe {
namespace {

constexpr std::string_view kSchedule = "train.schedule.";

// Reads the values that go together, and checks that they do.
class TrialReader {
 public:
  TrialReader(const Recipe& recipe, SettingsReader& from) : recipe_(recipe), from_(from) {}

  TrialRecipe Read() {
    ReadModel();
    ReadOptimizer();
    ReadSchedule();
    ReadRest();
    return std::move(trial_);
  }

 private:
  // The word at a path, as the enum whose values are in the order of the field's words. Nothing if
  // it is not known.
  template <typename Enum>
  std::optional<Enum> ReadWord(std::string_view path, Enum& into) {
    const auto number = from_.Number(path);
    if (number) into = static_cast<Enum>(static_cast<int>(*number));
    if (number || !(from_.IsUnknown(path) || from_.Has(path))) return into;
    return std::nullopt;
  }

  void ReadModel() {
    from_.ReadText("model.network", trial_.network);
    from_.ReadText("model.loss", trial_.loss);
    from_.Read("model.scale", trial_.scale);
    from_.ReadText("model.rule", trial_.rule);
    from_.ReadText("model.decay", trial_.decay);
    from_.Read("model.readout", trial_.keep_readout);
    from_.Read("train.init", trial_.init_from_archive);
    if (trial_.init_from_archive && trial_.network.starts_with("zoo:")) {
      from_.Refuse("train.init", fmt::format("expected 'drawn' with a network of the zoo, which "
                                             "has no weights, found 'archive'; remove the key"));
    }
    if (trial_.init_from_archive && trial_.scale != 1) {
      from_.Refuse("train.init",
                   fmt::format("expected 'drawn' with a network that is {} times narrower than the "
                               "archive's, found 'archive'; remove the key, or 'model.scale'",
                               trial_.scale));
    }
  }

  // Refuses a value that the optimizer or the schedule does not take.
  void RefuseForeign(std::string_view path, std::string_view key, std::string_view owner,
                     std::string_view condition) {
    bool there = from_.Has(path);
    for (const std::string& item : from_.Items(path)) there = there || from_.Has(item);
    if (!there) return;
    from_.Refuse(path, fmt::format("expected nothing with {0} {1}, which has no '{2}'; remove the "
                                   "key, or give it a parameter that is active only when {3}",
                                   key, owner, path.substr(path.rfind('.') + 1), condition));
  }

  void ReadOptimizer() {
    OptimizerSettings& settings = trial_.optimizer;
    const auto kind = ReadWord("train.optimizer", settings.kind);
    from_.Read("train.lr", settings.lr);
    from_.Read("train.momentum", settings.momentum);
    from_.Read("train.dampening", settings.dampening);
    from_.Read("train.nesterov", settings.nesterov);
    from_.Read("train.eps", settings.eps);
    from_.Read("train.weight_decay", settings.weight_decay);
    if (const auto norm = from_.Number("train.clip_norm")) settings.clip_norm = *norm;
    ReadBetas();
    if (!kind) return;
    const std::string_view name = Name(*kind);
    if (*kind == OptimizerKind::kSgd) {
      for (const std::string_view path : {"train.betas", "train.eps"})
        RefuseForeign(path, "the optimizer", name, "the optimizer is adam or adamw");
    } else {
      for (const std::string_view path : {"train.momentum", "train.dampening", "train.nesterov"})
        RefuseForeign(path, "the optimizer", name, "the optimizer is sgd");
    }
    const bool known = !from_.IsUnknown("train.momentum") && !from_.IsUnknown("train.dampening");
    if (*kind == OptimizerKind::kSgd && settings.nesterov && known &&
        (settings.momentum == 0 || settings.dampening != 0)) {
      from_.Refuse("train.nesterov",
                   fmt::format("expected a momentum above 0 and no dampening with nesterov, found "
                               "momentum {} and dampening {}",
                               settings.momentum, settings.dampening));
    }
  }

  void ReadBetas() {
    const std::vector<std::string> betas = from_.Items("train.betas");
    if (betas.empty()) return;
    if (betas.size() != 2) {
      from_.Refuse("train.betas",
                   fmt::format("expected two numbers, as in [0.9, 0.999], found {}", betas.size()));
      return;
    }
    from_.Read(betas[0], trial_.optimizer.beta1);
    from_.Read(betas[1], trial_.optimizer.beta2);
  }

  void ReadSchedule() {
    using Kind = Schedule::Kind;
    Schedule& schedule = trial_.schedule;
    const auto kind = ReadWord("train.schedule.name", schedule.kind);
    if (kind == Kind::kOneCycle) schedule.last = 1e-4;  // as PyTorch
    const auto path = [](std::string_view key) { return fmt::format("{}{}", kSchedule, key); };
    from_.Read(path("gamma"), schedule.gamma);
    from_.Read(path("every"), schedule.every);
    const bool over = from_.Number(path("over")).has_value();
    if (over) from_.Read(path("over"), schedule.over);
    from_.Read(path("last"), schedule.last);
    from_.Read(path("rise"), schedule.rise);
    from_.Read(path("div"), schedule.div);
    from_.Read(path("warmup"), schedule.warmup);
    const std::vector<std::string> at = from_.Items("train.schedule.at");
    for (const std::string& item : at)
      if (const auto number = from_.Number(item)) schedule.at.push_back(*number);
    if (!kind) return;
    struct Key {
      std::string_view name;
      std::vector<Kind> of;
    };
    const Key keys[] = {{"gamma", {Kind::kStep, Kind::kMultiStep, Kind::kExponential}},
                        {"every", {Kind::kStep}},
                        {"at", {Kind::kMultiStep}},
                        {"over", {Kind::kCosine, Kind::kOneCycle}},
                        {"last", {Kind::kCosine, Kind::kOneCycle}},
                        {"rise", {Kind::kOneCycle}},
                        {"div", {Kind::kOneCycle}}};
    for (const Key& key : keys) {
      if (std::ranges::find(key.of, *kind) != key.of.end()) continue;
      std::vector<std::string> names;
      for (const Kind of : key.of) names.emplace_back(Name(of));
      RefuseForeign(path(key.name), "the schedule", Name(*kind),
                    fmt::format("the schedule is {}", Join(names, " or ")));
    }
    if (*kind == Kind::kStep && schedule.every == 0 && !from_.IsUnknown(path("every")) &&
        !from_.Has(path("every"))) {
      from_.Refuse(path("every"),
                   fmt::format("expected after how many units the rate falls, found nothing; add "
                               "'every: 10'{}",
                               WithoutValue("every")));
    }
    if (*kind == Kind::kMultiStep) CheckMilestones(at);
    if (*kind == Kind::kCosine || *kind == Kind::kOneCycle) SetOver(over);
  }

  // Why a key that has a template has no value.
  std::string WithoutValue(std::string_view key) const {
    const auto found = recipe_.settings.find(fmt::format("{}{}", kSchedule, key));
    if (found == recipe_.settings.end()) return "";
    return fmt::format(" ('{}' has no value here)", Shown(found->second));
  }

  void CheckMilestones(const std::vector<std::string>& at) {
    if (at.empty()) {
      from_.Refuse("train.schedule.at",
                   fmt::format("expected when the rate falls, found nothing; add 'at: [10, 20]'{}",
                               WithoutValue("at.0")));
    }
    if (!std::ranges::is_sorted(trial_.schedule.at)) {
      from_.Refuse("train.schedule.at",
                   fmt::format("expected numbers in ascending order, found [{}]",
                               fmt::join(trial_.schedule.at, ", ")));
    }
  }

  // Schedules that end do so at the end of the study's budget, unless they say when.
  void SetOver(bool given) {
    Schedule& schedule = trial_.schedule;
    const std::string path = "train.schedule.over";
    if (given || from_.IsUnknown(path) || from_.Has(path)) return;
    if (from_.IsUnknown("train.schedule.warmup")) return;
    if (recipe_.length == 0) {
      return from_.Refuse(
          path,
          fmt::format("expected how long the schedule {} takes, found nothing; add 'over: 30', or "
                      "'budget: {{max: 30}}', beside 'train'",
                      Name(schedule.kind)));
    }
    schedule.over = static_cast<double>(recipe_.length) - schedule.warmup;
    if (schedule.over > 0) return;
    from_.Refuse("train.schedule.warmup",
                 fmt::format("expected less than the budget, {} {}s, found {}", recipe_.length,
                             recipe_.unit, schedule.warmup));
  }

  void ReadRest() {
    from_.Read("train.batch", trial_.batch);
    ReadWord("train.precision", trial_.precision);
    from_.Read("train.evaluate", trial_.evaluate_as_trained);
    from_.Read("train.label_smoothing", trial_.label_smoothing);
    if (trial_.label_smoothing != 0 && trial_.loss != "cross_entropy" &&
        !from_.IsUnknown("model.loss")) {
      from_.Refuse("train.label_smoothing",
                   fmt::format("expected nothing with the loss '{}', since only cross_entropy "
                               "smooths labels; remove the key, or set 'model: {{network: {}, "
                               "loss: cross_entropy}}'",
                               Shown(trial_.loss), Shown(trial_.network)));
    }
    if (const auto rate = from_.Number("train.dropout")) trial_.dropout = *rate;
    constexpr std::string_view kPrefix = "train.dropout.";
    for (const std::string& item : from_.Items("train.dropout"))
      if (const auto rate = from_.Number(item))
        trial_.dropout_of[item.substr(kPrefix.size())] = *rate;
  }

  const Recipe& recipe_;
  SettingsReader& from_;
  TrialRecipe trial_;
};

}  // namespace

const std::string* SettingsReader::Find(std::string_view path) const {
  const auto found = recipe_.settings.find(path);
  return found == recipe_.settings.end() ? nullptr : &found->second;
}

bool SettingsReader::IsUnknown(std::string_view path) const {
  const std::string* text = Find(path);
  return text != nullptr && parameters_ == nullptr && !WordsIn(*text).empty();
}

bool SettingsReader::Has(std::string_view path) const {
  const std::string* text = Find(path);
  if (text == nullptr) return false;
  return parameters_ == nullptr ? WordsIn(*text).empty() : HasValues(*text, *parameters_);
}

std::optional<double> SettingsReader::Number(std::string_view path) {
  const Field* field = FieldAt(path);
  SLUICE_CHECK(field != nullptr, "the path is that of a field");
  const std::string* text = Find(path);
  if (!Has(path)) {
    const bool required = field->required || field->form == FieldForm::kList;
    if (!required || IsUnknown(path)) return std::nullopt;
    Refuse(path, text == nullptr
                     ? std::string("expected a value, found nothing; add the key")
                     : fmt::format("expected a value in every trial, found none (from '{}'), since "
                                   "a parameter is not active",
                                   Shown(*text)));
    return std::nullopt;
  }
  const std::string value =
      parameters_ == nullptr ? Expand(*text, {}) : Expand(*text, *parameters_);
  FieldValue read = ReadField(*field, value);
  if (read.number) return read.number;
  std::string message = fmt::format("expected {}, found '{}'", read.expected, Shown(value));
  if (!WordsIn(*text).empty()) message += fmt::format(" (from '{}')", Shown(*text));
  Refuse(path, message + DidYouMean(value, field->words));
  return std::nullopt;
}

std::optional<std::string> SettingsReader::Text(std::string_view path) {
  if (!Number(path)) return std::nullopt;
  const std::string* text = Find(path);
  return parameters_ == nullptr ? Expand(*text, {}) : Expand(*text, *parameters_);
}

std::vector<std::string> SettingsReader::Items(std::string_view path) const {
  std::vector<std::string> items;
  const std::string prefix = fmt::format("{}.", path);
  for (auto at = recipe_.settings.lower_bound(prefix);
       at != recipe_.settings.end() && at->first.starts_with(prefix); ++at)
    items.push_back(at->first);
  // Numbers have at most three digits, and no zero in front (FieldAt).
  const Field* field = FieldAt(prefix + "0");
  if (field == nullptr || field->form != FieldForm::kList) return items;
  std::ranges::stable_sort(items, {}, [](const std::string& item) { return item.size(); });
  const bool left_out = parameters_ != nullptr &&
                        std::ranges::none_of(items, [&](const auto& item) { return Has(item); });
  return left_out ? std::vector<std::string>() : items;
}

void SettingsReader::Refuse(std::string_view path, std::string message) {
  mistakes_.push_back({.path = std::string(path), .message = std::move(message)});
}

std::vector<Mistake> SettingsReader::TakeMistakes() {
  std::ranges::stable_sort(mistakes_, {}, &Mistake::path);
  return std::move(mistakes_);
}

TrialRecipe ReadSettings(const Recipe& recipe, SettingsReader& reader) {
  return TrialReader(recipe, reader).Read();
}

}  // namespace sluice::recipe
