#include "model/network.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "model/read/archive.h"
#include "model/zoo/zoo.h"

namespace sluice::model {
namespace {

constexpr std::string_view kZoo = "zoo:";

// The values of a parameter that is neither trained nor constant were computed for its sizes, so
// the sizes must stay. A table of sines can be computed for another size of its last dimension.
std::vector<Frozen> FrozenOf(const Graph& graph, const std::vector<Law>& laws) {
  std::vector<Frozen> frozen;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const Law::Kind kind = laws[i].kind;
    const bool sines = kind == Law::Kind::kSinesInTurns || kind == Law::Kind::kSinesFirst;
    if (graph.parameters[i].trainable || kind == Law::Kind::kConstant) {
      frozen.push_back(Frozen::kNo);
    } else {
      frozen.push_back(sines ? Frozen::kAllButLast : Frozen::kAll);
    }
  }
  return frozen;
}

Result<BuiltModel> ReadGraph(const std::string& name) {
  if (IsOfZoo(name)) return BuildFromZoo(std::string_view(name).substr(kZoo.size()));
  SLUICE_ASSIGN(const Archive archive, Archive::Open(name));
  SLUICE_ASSIGN(std::vector<Law> laws, MeasureLaws(archive));
  return BuiltModel{.graph = archive.graph(), .laws = std::move(laws)};
}

}  // namespace

bool IsOfZoo(std::string_view name) { return name.starts_with(kZoo); }

Result<Network> OpenNetwork(const std::string& name, std::vector<Place> pins) {
  SLUICE_ASSIGN(BuiltModel read, ReadGraph(name));
  const auto fail = [&](const Error& error) {
    return Fail(error.code, fmt::format("{}: {}", name, error.message));
  };
  auto widths = Widths::Find(read.graph,
                             {.frozen = FrozenOf(read.graph, read.laws), .pins = std::move(pins)});
  if (!widths) return fail(widths.error());
  if (const Status checked = CheckShapes(read.graph); !checked) return fail(checked.error());
  return Network{std::move(read.graph), std::move(read.laws), *std::move(widths)};
}

}  // namespace sluice::model
