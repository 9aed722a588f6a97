#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/graph.h"
#include "model/shrink/widths.h"

namespace sluice::model {

struct ShrinkOptions {
  double scale = 8;  // every width is divided by this, as far as possible
  // No width gets narrower than this, unless it was narrower before. A width that is a product of
  // sizes (heads x size of a head) is bounded as a whole. Sizes that the user chose are not
  // bounded.
  std::int64_t min_width = 8;
  std::map<std::string, std::int64_t> sizes = {};  // of classes by name, chosen by the user
};

// A scale as a word of a command line. Fails with invalid_argument, as the flag --scale.
Result<double> ReadScale(std::string_view word);

// A narrower network: the same operators, with other sizes among parameters and arguments.
struct Shrunken {
  Graph graph;
  std::vector<std::int64_t> sizes;  // in the order of the classes

  // The new size of a dimension of the original.
  std::int64_t SizeOf(const Widths& widths, Dim dim) const;
};

// Divides the sizes of the classes by the scale and rounds them. The classes of a product shrink
// one at a time, in the order of Widths::products(). So the number of heads shrinks before the size
// of a head, and the channels of a group before the number of groups. If the first class cannot
// shrink far enough, and the product is still too large by a factor of about 2 or more, the next
// class shrinks too. The shapes of the new graph are inferred again and checked. Fails with
// failed_precondition if the network has no widths, and with invalid_argument if an option does not
// fit the network.
Result<Shrunken> Shrink(const Graph& graph, const Widths& widths, const ShrinkOptions& options);

// Shrinks by the scale that comes nearest to this number of trainable elements.
Result<Shrunken> ShrinkTo(const Graph& graph, const Widths& widths, std::int64_t elements,
                          ShrinkOptions options);

// The number of elements of all trainable parameters. Tied parameters count once.
std::int64_t TrainableElements(const Graph& graph);

}  // namespace sluice::model
