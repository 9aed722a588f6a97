#include "recipe/trial_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace sluice::recipe {
namespace {

constexpr std::string_view kTrialFormat = "sluice trial";
// More than any training has, and so few that sums and real numbers of them are exact.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

template <typename Value>
struct NamedValue {
  Value value;
  std::string_view name;
};
constexpr NamedValue<OptimizerKind> kOptimizers[] = {
    {OptimizerKind::kSgd, "sgd"}, {OptimizerKind::kAdam, "adam"}, {OptimizerKind::kAdamW, "adamw"}};
constexpr NamedValue<Precision> kPrecisions[] = {{Precision::kFloat32, "float32"},
                                                 {Precision::kFloat64, "float64"},
                                                 {Precision::kBfloat16, "bfloat16"}};

template <typename Value, std::size_t N>
std::string_view NameOf(const NamedValue<Value> (&names)[N], Value value) {
  return std::ranges::find(names, value, &NamedValue<Value>::value)->name;
}

template <typename Value, std::size_t N>
Value Named(const NamedValue<Value> (&names)[N], std::string_view name, std::string_view what,
            JsonMembers& members) {
  const auto* found = std::ranges::find(names, name, &NamedValue<Value>::name);
  if (found != std::end(names)) return found->value;
  members.Miss(what, fmt::format("one that is known, found '{}'", Shown(name)));
  return names[0].value;
}

std::string ListOfNames(const std::vector<std::string>& names) {
  return JsonList(names,
                  [](std::string& json, const std::string& name) { AppendJson(json, name); });
}

std::string JsonOfMultiplier(const TrialJson::Multiplied& each) {
  JsonWriter json;
  json.Add("module", each.module).Add("why", each.why).Add("factor", each.factor);
  json.AddJson("into", ListOfNames(each.into));
  if (!each.why_not.empty()) json.Add("why_not", each.why_not);
  return json.Take();
}

std::vector<std::string> NamesIn(JsonMembers& members, std::string_view name) {
  std::vector<std::string> names;
  for (const JsonValue& each : members.List(name, "a list of names")) {
    const auto text = each.Text();
    if (!text) members.Miss(name, "a list of names");
    names.emplace_back(text.value_or(""));
  }
  return names;
}

}  // namespace

std::string ToJson(const TrialJson& about) {
  JsonWriter network;
  network.Add("name", about.network).Add("scale", about.scale);
  network.Add("fingerprint", about.fingerprint);
  JsonWriter tied;
  for (const auto& [name, first] : about.tied) tied.Add(name, first);
  JsonWriter json;
  json.Add("format", kTrialFormat).Add("version", TrialJson::kVersion).Add("step", about.step);
  json.AddJson("network", network.Take());
  json.Add("optimizer", NameOf(kOptimizers, about.notes.optimizer));
  json.Add("precision", NameOf(kPrecisions, about.notes.precision));
  json.AddJson("recipe", about.notes.recipe);
  json.Add("loss_sum", about.notes.loss_sum).Add("losses", about.notes.losses);
  json.AddJson("own", ListOfNames(about.own));
  json.AddJson("not_in_state_dict", ListOfNames(about.not_in_state_dict));
  json.AddJson("complex", ListOfNames(about.complex));
  json.AddJson("tied", tied.Take());
  json.AddJson("multipliers", JsonList(about.multipliers, [](std::string& text, const auto& each) {
                 text += JsonOfMultiplier(each);
               }));
  json.Add("model_digest", about.model_digest).Add("optimizer_digest", about.optimizer_digest);
  return json.Take() + "\n";
}

Result<TrialJson> ReadTrialJson(std::string_view text) {
  const auto document = JsonDocument::Read(text);
  if (!document) return Corruption("expected a JSON object, found a damaged file");
  JsonMembers members(document->object());
  const std::string format = members.Text("format");
  if (format != kTrialFormat || !members.error().empty())
    return Corruption(
        fmt::format("expected a file of the format '{}', found another", kTrialFormat));
  const std::int64_t version = members.Integer("version", 1);
  if (version > TrialJson::kVersion) {
    return FailedPrecondition(
        fmt::format("expected version {} of the checkpoint, found {}: a later Sluice wrote it",
                    TrialJson::kVersion, version));
  }
  TrialJson about;
  about.step = members.Integer("step", 0, kMostSteps);
  about.notes.optimizer = Named(kOptimizers, members.Text("optimizer"), "optimizer", members);
  about.notes.precision = Named(kPrecisions, members.Text("precision"), "precision", members);
  about.notes.recipe = members.Object("recipe");
  about.notes.loss_sum = members.Number("loss_sum");
  about.notes.losses = members.Integer("losses", 0, kMostSteps);
  about.own = NamesIn(members, "own");
  about.model_digest = members.Text("model_digest");
  about.optimizer_digest = members.Text("optimizer_digest");
  const auto network = document->object().Find("network");
  if (!network || !network->Members()) {
    members.Miss("network", "an object");
  } else {
    JsonMembers of(*network);
    about.network = of.Text("name");
    about.scale = of.Number("scale");
    about.fingerprint = of.Text("fingerprint");
    members.Fail(of.error());
  }
  if (!members.error().empty()) return Corruption(members.error());
  return about;
}

}  // namespace sluice::recipe
