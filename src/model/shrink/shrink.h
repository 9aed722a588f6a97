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
  double scale = 8;  // every width is divided by this, as far as possible
  // No dimension gets narrower than this, unless it was narrower before.
  std::int64_t min_width = 8;
  std::map<std::string, std::int64_t> sizes = {};  // of classes by name, chosen by the user
};

// A narrower network: the same operators, with other sizes among parameters and arguments.
struct Shrunken {
  Graph graph;
  std::vector<std::int64_t> sizes;  // in the order of the classes

  // The new size of a dimension of the original.
  std::int64_t SizeOf(const Widths& widths, Dim dim) const;
};

// Divides the sizes of the classes by the scale and rounds them. In a product of classes only the
// first class shrinks: the number of heads and not the size of a head, the channels of a group and
// not the number of groups. The next class shrinks only if the product should still shrink by a
// ratio of about 2 or more. The shapes of the new graph are inferred again and checked. Fails with
// failed_precondition if the network has no widths, and with invalid_argument if an option does not
// fit the network.
Result<Shrunken> Shrink(const Graph& graph, const Widths& widths, const ShrinkOptions& options);

// Shrinks by the scale that comes nearest to this number of trainable elements.
Result<Shrunken> ShrinkTo(const Graph& graph, const Widths& widths, std::int64_t elements,
                          ShrinkOptions options);

// The number of elements of all trainable parameters. Tied parameters count once.
std::int64_t TrainableElements(const Graph& graph);

}  // namespace sluice::model
