#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace sluice {

// One quantity in a table of observations, cut into bins. Each row holds the number of its bin.
struct BinnedColumn {
  static constexpr std::size_t kMostBins = 32;

  std::vector<std::uint8_t> bins;  // by row
  std::vector<double> weights;     // of each bin, adding up to 1: its part of the space
  bool ordered = true;             // false: neighbouring bins have nothing in common
};

struct ForestOptions {
  int trees = 16;
  std::size_t rows = 400;  // that a tree is grown on, drawn with replacement
  std::size_t least_in_leaf = 3;
  int most_depth = 12;
};

struct ForestSummary {
  // For each column: the variance of the mean prediction given the column, as a part of the
  // variance of the prediction over the whole space. This is the effect of the column alone. The
  // effects add up to at most 1; the rest is interaction.
  std::vector<double> main_effects;
  // For each column and bin: the mean prediction, less the mean over the whole space.
  std::vector<std::vector<double>> curves;
  // The part of the variance of the values that trees explain in rows on which they were not grown.
  // Zero or less if the columns say nothing about the values.
  double explained = 0;
};

// Fits a forest of regression trees to the values, which should be of the order of 1. All results
// are 0 if the values do not vary. If columns have the same information, the first of them gets the
// credit.
ForestSummary FitForest(const std::vector<BinnedColumn>& columns, const std::vector<double>& values,
                        const ForestOptions& options, const Random& random);

}  // namespace sluice
