#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace sluice {

// One quantity in a table of observations, cut into bins. A row holds the number of its bin.
struct BinnedColumn {
  static constexpr std::size_t kMostBins = 32;

  std::vector<std::uint8_t> bins;  // by row
  std::vector<double> weights;     // of each bin, adding up to 1: how much of the space it is
  bool ordered = true;             // false: bins next to each other have nothing in common
};

struct ForestOptions {
  int trees = 16;
  std::size_t rows = 400;  // a tree is grown on, drawn with replacement
  std::size_t least_in_leaf = 3;
  int most_depth = 12;
};

struct ForestSummary {
  // For each column the variance of the mean prediction given the column, as a part of the variance
  // of the prediction over the whole space: what is the column's doing alone. They add up to at
  // most 1; the rest is interaction.
  std::vector<double> main_effects;
  // For each column and bin the mean prediction, less that over the whole space.
  std::vector<std::vector<double>> curves;
  // How much of the variance of the values the trees foretell for rows they were not grown on. Not
  // above 0 if the columns say nothing of the values.
  double explained = 0;
};

// Fits a forest of regression trees to the values, which are to be of the order of 1. All is 0 where
// they do not vary. Of columns that say the same the earlier is believed.
ForestSummary FitForest(const std::vector<BinnedColumn>& columns, const std::vector<double>& values,
                        const ForestOptions& options, const Random& random);

}  // namespace sluice
