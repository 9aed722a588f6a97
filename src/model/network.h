#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/analyse/law.h"
#include "model/graph.h"
#include "model/shrink/widths.h"

namespace sluice::model {

// A network that was read or built, and what is known of it.
struct Network {
  Graph graph;
  std::vector<Law> laws;  // in the order of the parameters
  Widths widths;
};

// Whether it is the name of a network of the zoo, not of a file: "zoo:...".
bool IsOfZoo(std::string_view name);

// Opens an archive, by its path, or builds a network of the zoo: "zoo:resnet18,classes=100". Pinned
// sizes cannot shrink. Nor can the sizes of a parameter with fixed values that were computed for
// these sizes. Fails if the inferred shapes differ from those that the graph states. Messages about
// an archive, and about the analysis of any network, begin with the name.
Result<Network> OpenNetwork(const std::string& name, std::vector<Place> pins = {});

}  // namespace sluice::model
