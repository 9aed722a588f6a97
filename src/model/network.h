#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/analyse/law.h"
#include "model/graph.h"
#include "model/shrink/widths.h"

namespace sluice::model {

// A network that was read or built, and what is known about it.
struct Network {
  Graph graph;
  std::vector<Law> laws;  // in the order of the parameters
  Widths widths;
};

// Whether the name is that of a network of the zoo ("zoo:..."), and not of a file.
bool IsOfZoo(std::string_view name);

// Opens the archive with this path, or builds a network of the zoo: "zoo:resnet18,classes=100". The
// sizes at `pins` cannot shrink. The sizes of a parameter cannot shrink either if its values are
// fixed and were computed for these sizes. Fails if the inferred shapes differ from the shapes that
// the graph states. Messages about an archive, and about the analysis of any network, begin with
// the name.
Result<Network> OpenNetwork(const std::string& name, std::vector<Place> pins = {});

}  // namespace sluice::model
