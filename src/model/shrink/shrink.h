#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph.h"
#include "model/shrink/widths.h"

namespace sluice::model {

struct ShrinkOptions {
  double scale = 8;            // every width is divided by this, as far as it goes
  std::int64_t min_width = 8;  // no dimension gets narrower, unless it was before
  std::map<std::string, std::int64_t> sizes = {};  // of classes by name, chosen by the user
};

// A narrower network: the same operators, with other sizes among parameters and arguments.
struct Shrunken {
  Graph graph;
  std::vector<std::int64_t> sizes;  // of the classes, by their order

  // Of a dimension of the original.
  std::int64_t SizeOf(const Widths& widths, Dim dim) const;
};

// Sizes of classes are divided by the scale and rounded. Of a product only one class shrinks: heads before the size of a
// head, channels of a group before their number. Those that are last shrink once the others are down to 1. The new
// graph's shapes are inferred again, and every one of them checked.
Result<Shrunken> Shrink(const Graph& graph, const Widths& widths, const ShrinkOptions& options);

// By the scale that comes nearest to so many trainable elements.
Result<Shrunken> ShrinkTo(const Graph& graph, const Widths& widths, std::int64_t elements,
                          ShrinkOptions options);

// Elements of all that is trained, what is tied once.
std::int64_t TrainableElements(const Graph& graph);

}  // namespace sluice::model
