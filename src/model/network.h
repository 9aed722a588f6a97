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
  std::vector<Law> laws;  // by the order of parameters
  Widths widths;
};

// A name of the zoo, not of a file: "zoo:...".
bool IsOfZoo(std::string_view name);

// Of an archive, by its path, or of the zoo: "zoo:resnet18,classes=100". What is in it that was made for its size stays,
// and so do the pins. Its shapes are those it says. Messages begin with the name.
Result<Network> OpenNetwork(const std::string& name, std::vector<Place> pins = {});

}  // namespace sluice::model
