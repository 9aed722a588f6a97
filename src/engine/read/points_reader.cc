#include "engine/read/points_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "base/text.h"
#include "engine/read/foreign_keys.h"
#include "engine/warm_start.h"
#include "space/point_part.h"

namespace sluice {
namespace {

constexpr int kMostProblems = 20;

// The error's message without the parameter's name at its beginning. The name is already the end of
// the path of the node that the message is reported at.
std::string WithoutName(const Error& error, const std::string& name) {
  return error.message.substr(name.size() + 2);
}

std::optional<PointPart> ReadPoint(const ConfigNode& node, const Space& space,
                                   std::uint64_t& draws_left) {
  const auto map = node.Map("write '{lr: 0.1}', parameters by their names");
  if (!map) return std::nullopt;
  PointPart partial(space.size());
  bool good = true;
  for (const auto& [name, value] : map->entries()) {
    const auto index = FindParameter(space, name);
    if (!index) {
      value.Report(WithoutName(index.error(), name));
      good = false;
      continue;
    }
    if (value.is_null()) continue;
    const auto scalar = value.Value();
    good = good && scalar;
    if (!scalar) continue;
    const auto coordinate = CoordinateOf(space.parameters()[*index], *scalar);
    good = good && coordinate;
    if (coordinate) {
      partial[*index] = *coordinate;
    } else {
      value.Report(WithoutName(coordinate.error(), name));
    }
  }
  if (!good) return std::nullopt;
  if (const auto whole = FillIn(space, partial, Random(0), draws_left); !whole) {
    node.Report(whole.error().message);
    return std::nullopt;
  }
  return partial;
}

// "all", or "best 20".
std::optional<int> ReadHowMany(const ConfigNode& node) {
  const auto text = node.is_scalar() ? node.Text() : std::nullopt;
  if (text == "all") return std::nullopt;
  if (text && text->starts_with("best ")) {
    int count = 0;
    const char* end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data() + 5, end, count);
    if (error == std::errc() && rest == end && count >= 1 &&
        static_cast<std::size_t>(count) <= kMostKnown)
      return count;
  }
  const bool number =
      text && !text->empty() && text->find_first_not_of("0123456789") == std::string::npos;
  node.Expected(fmt::format("all, or 'best N' with N from 1 to {}", kMostKnown),
                fmt::format("write 'best {}'", number ? *text : "20"));
  return std::nullopt;
}

void ReadMap(const ConfigNode& node, const Space* space, WarmStart& warm) {
  const auto map = node.Map();
  if (!map) return;
  std::set<std::string> ours;
  for (const auto& [theirs, value] : map->entries()) {
    const auto name = value.Text();
    if (!name) continue;
    if (space != nullptr) {
      if (const auto index = FindParameter(*space, *name); !index) {
        value.Report(FindParameter(*space, theirs)
                         ? fmt::format("expected the earlier study's name first, then ours; write "
                                       "'{}: {}'",
                                       Shown(*name), Shown(theirs))
                         : index.error().message);
      }
    }
    if (!ours.insert(*name).second)
      value.Report(fmt::format("expected each parameter once, found {} twice", *name));
    warm.map[theirs] = *name;
  }
}

}  // namespace

std::vector<PointPart> ReadEnqueue(const ConfigNode& node, const Space& space) {
  std::vector<PointPart> points;
  if (!node.is_list()) {
    node.Expected("a list of points", "write 'enqueue: [{lr: 0.1}, {lr: 0.2}]'");
    return points;
  }
  const std::vector<ConfigNode> items = *node.List();
  std::uint64_t draws_left = kMostDrawsOfAll;
  int problems = 0;
  for (const ConfigNode& each : items) {
    if (auto point = ReadPoint(each, space, draws_left)) {
      points.push_back(std::move(*point));
    } else if (++problems == kMostProblems || draws_left == 0) {
      break;
    }
  }
  return points;
}

std::optional<WarmStart> ReadWarmStart(const ConfigNode& node, const Space* space) {
  const std::string form = "{study: NAME}, {store: FILE, study: NAME} or {optuna: FILE}";
  if (!node.is_map()) {
    node.Expected(form);
    return std::nullopt;
  }
  const ConfigMap map = *node.Map();
  const std::vector<std::string> keys = {"study", "store", "optuna", "trials", "map", "missing"};
  map.AllowOnly(keys, ForeignKeysOf("warm_start"));
  WarmStart warm;
  const auto text = [&](std::string_view key, std::string& into) {
    const ConfigNode* found = map.Find(key);
    if (found == nullptr) return;
    const auto value = found->Text();
    if (value && value->empty()) found->Expected("a name");
    into = value.value_or("");
  };
  text("study", warm.study);
  text("store", warm.store);
  text("optuna", warm.optuna);
  if (map.Find("store") != nullptr && map.Find("optuna") != nullptr)
    node.Expected("either store or optuna");
  if (map.Find("study") == nullptr && map.Find("optuna") == nullptr)
    node.Expected(form, "name the study whose trials are to be known");
  if (const ConfigNode* trials = map.Find("trials")) warm.best = ReadHowMany(*trials);
  if (const ConfigNode* names = map.Find("map")) ReadMap(*names, space, warm);
  if (const ConfigNode* missing = map.Find("missing")) {
    const std::vector<std::string> ways = {"skip", "fill", "refuse"};
    const auto way = missing->OneOf(ways);
    if (way == "fill") warm.missing = WarmStart::Missing::kFill;
    if (way == "refuse") warm.missing = WarmStart::Missing::kRefuse;
  }
  return warm;
}

}  // namespace sluice
