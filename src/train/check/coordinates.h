#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "recipe/trial_recipe.h"

namespace sluice::train {

// Whether what a network computes has the same size at all widths after some steps of training. It
// must, if hyperparameters that were found on a narrow network are to be right for a wide one; but
// that alone does not make them right.
struct CoordinateCheck {
  // What one node computes.
  struct Line {
    std::string name;
    std::vector<double> sizes;  // the mean magnitude of an element, for each scale
    double exponent = 0;        // sizes follow scale^exponent, by the mean over seeds
    double error = 0;           // so far the exponent may be off: 95 % of seeds are within
  };
  std::vector<double> scales;  // from the widest network to the narrowest
  std::vector<Line> lines;     // of the nodes that take parameters, in their order
  double bound = 0;            // the largest exponent that counts as none, up or down
  std::string unchecked;       // why nothing was checked; empty: something was

  // Whether the sizes follow the scale by more than is allowed, whatever chance did to the seeds.
  bool Follows(const Line& line) const;
  // The line that follows the scale the most. There is one unless nothing was checked.
  const Line& Worst() const;
  bool alike() const;
};

// Trains the recipe's network for some steps at several scales, by its optimizer and by its rule,
// on numbers that are drawn. The scales are a quarter of the recipe's own (1 if that is less), and
// 2, 4 and 8 times that. Fails if the network cannot be opened or trained.
Result<CoordinateCheck> CheckCoordinates(const recipe::TrialRecipe& recipe);

// A plot with a line for each node: sizes over widths, both by powers of two.
std::string CoordinatesSvg(const std::string& title, const CoordinateCheck& check);

}  // namespace sluice::train
