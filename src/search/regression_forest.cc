#include "search/regression_forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "base/check.h"

namespace sluice {
namespace {

constexpr double kRounding = 1e-12;  // smaller differences count as none

// A set of bins of a column.
using Mask = std::uint32_t;

Mask AllBins(const BinnedColumn& column) {
  return static_cast<Mask>((std::uint64_t{1} << column.weights.size()) - 1);
}

struct Tally {
  double sum = 0;
  std::size_t count = 0;
};
// Sums over the predictions of trees for one row.
struct Foretold {
  double sum = 0;
  double square_sum = 0;
  double count = 0;
};
using Histogram = std::array<Tally, BinnedColumn::kMostBins>;

struct Split {
  double gain = 0;
  std::size_t column = 0;
  Mask left = 0;
};

struct Leaf {
  double value = 0;
  std::vector<Mask> masks;  // by column: the bins that lead here
};

// The rows of a node, by number: those it is grown on and those it only predicts.
struct RowRange {
  std::span<std::uint32_t> grown;
  std::span<std::uint32_t> held_out;
};

// Grows trees, each on a sample of the rows. The values of a column come as bins, so a node finds
// its best split in one pass over its rows and one pass over the bins for each column.
class TreeGrower {
 public:
  TreeGrower(const std::vector<BinnedColumn>& columns, const std::vector<double>& values,
             const ForestOptions& options)
      : columns_(columns), values_(values), options_(options), foretold_(values.size()) {
    for (std::size_t count = 1; count <= options.rows; ++count)
      inverse_.push_back(1 / static_cast<double>(count));
  }

  std::vector<Leaf> Grow(Random random) {
    std::vector<bool> drawn(values_.size());
    std::vector<std::uint32_t> grown(options_.rows);
    for (std::uint32_t& row : grown) {
      row = static_cast<std::uint32_t>(random.Below(values_.size()));
      drawn[row] = true;
    }
    std::vector<std::uint32_t> held_out;
    for (std::uint32_t row = 0; row < values_.size(); ++row) {
      if (!drawn[row]) held_out.push_back(row);
    }
    std::vector<Mask> masks;
    for (const BinnedColumn& column : columns_) masks.push_back(AllBins(column));
    leaves_.clear();
    Divide({grown, held_out}, std::move(masks), options_.most_depth);
    return std::move(leaves_);
  }

  // By row: the predictions of the trees that were not grown on it.
  const std::vector<Foretold>& foretold() const { return foretold_; }

 private:
  void Divide(const RowRange& rows, std::vector<Mask> masks, int depth) {
    Tally all{.count = rows.grown.size()};
    node_values_.resize(all.count);
    for (std::size_t i = 0; i < all.count; ++i) {
      node_values_[i] = values_[rows.grown[i]];
      all.sum += node_values_[i];
    }
    const bool divisible = depth > 0 && all.count >= 2 * options_.least_in_leaf;
    const Split split = divisible ? BestSplit(rows.grown, masks, all) : Split();
    if (split.gain <= 0) return Finish(rows, std::move(masks), all.sum * inverse_[all.count]);

    const auto goes_left = [&bins = columns_[split.column].bins, &split](std::uint32_t row) {
      return (split.left >> bins[row] & 1) != 0;
    };
    const auto right_grown = std::ranges::partition(rows.grown, goes_left);
    const auto right_held_out = std::ranges::partition(rows.held_out, goes_left);
    std::vector<Mask> right_masks = masks;
    masks[split.column] &= split.left;
    right_masks[split.column] &= ~split.left;
    Divide({.grown = {rows.grown.begin(), right_grown.begin()},
            .held_out = {rows.held_out.begin(), right_held_out.begin()}},
           std::move(masks), depth - 1);
    Divide({.grown = right_grown, .held_out = right_held_out}, std::move(right_masks), depth - 1);
  }

  void Finish(const RowRange& rows, std::vector<Mask> masks, double value) {
    for (const std::uint32_t row : rows.held_out) {
      foretold_[row].sum += value;
      foretold_[row].square_sum += value * value;
      foretold_[row].count += 1;
    }
    leaves_.push_back({.value = value, .masks = std::move(masks)});
  }

  Split BestSplit(std::span<const std::uint32_t> rows, const std::vector<Mask>& masks,
                  const Tally& all) {
    const double least_gain = kRounding * static_cast<double>(all.count);
    Split best{.gain = least_gain};
    Histogram histogram;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (std::popcount(masks[column]) < 2) continue;
      std::fill_n(histogram.begin(), columns_[column].weights.size(), Tally());
      const std::uint8_t* bins = columns_[column].bins.data();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Tally& tally = histogram[bins[rows[i]]];
        tally.sum += node_values_[i];
        ++tally.count;
      }
      if (columns_[column].ordered) {
        CutInOrder(column, histogram, all, best);
      } else {
        CutByMeans(column, histogram, all, best);
      }
    }
    return best.gain > least_gain ? best : Split();
  }

  // The best cut of a column into a lower and an upper part.
  void CutInOrder(std::size_t column, const Histogram& histogram, const Tally& all,
                  Split& best) const {
    const std::size_t least = options_.least_in_leaf;
    const double whole = all.sum * all.sum * inverse_[all.count];
    Tally left;
    for (std::size_t bin = 0; bin + 1 < columns_[column].weights.size(); ++bin) {
      left.sum += histogram[bin].sum;
      left.count += histogram[bin].count;
      const Tally right{all.sum - left.sum, all.count - left.count};
      const double gain = left.sum * left.sum * inverse_[left.count] +
                          right.sum * right.sum * inverse_[right.count] - whole;
      if (gain > best.gain * (1 + kRounding) && left.count >= least && right.count >= least)
        best = {.gain = gain, .column = column, .left = (Mask{2} << bin) - 1};
    }
  }

  // If the order of the bins means nothing, they are cut in the order of their means. The best of
  // these cuts is the best of all subsets.
  void CutByMeans(std::size_t column, const Histogram& histogram, const Tally& all,
                  Split& best) const {
    const std::size_t size = columns_[column].weights.size();
    std::array<std::size_t, BinnedColumn::kMostBins> order{};
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(size);
    std::iota(order.begin(), end, 0);
    const auto mean = [&](std::size_t bin) {
      return histogram[bin].sum * inverse_[histogram[bin].count];
    };
    std::sort(order.begin(), end, [&](std::size_t a, std::size_t b) {
      return mean(a) != mean(b) ? mean(a) < mean(b) : a < b;
    });
    Histogram sorted{};
    for (std::size_t i = 0; i < size; ++i) sorted[i] = histogram[order[i]];
    Split cut{.gain = best.gain};
    CutInOrder(column, sorted, all, cut);
    if (cut.gain <= best.gain) return;
    best = {.gain = cut.gain, .column = column, .left = 0};
    for (std::size_t i = 0; i < size; ++i) {
      if ((cut.left >> i & 1) != 0) best.left |= Mask{1} << order[i];
    }
  }

  const std::vector<BinnedColumn>& columns_;
  const std::vector<double>& values_;
  const ForestOptions& options_;
  std::vector<double> inverse_ = {0};  // 1 / count: a division for each bin would cost the most
  std::vector<double> node_values_;    // of the rows of the current node, in their order
  std::vector<Leaf> leaves_;
  std::vector<Foretold> foretold_;
};

double WeightOf(const BinnedColumn& column, Mask mask) {
  double weight = 0;
  for (; mask != 0; mask &= mask - 1)
    weight += column.weights[static_cast<std::size_t>(std::countr_zero(mask))];
  return weight;
}

// Adds the main effects and curves of one tree. A leaf that all bins of a column lead to has the
// same value whatever the column is, so it does not count for that column.
void AddMainEffects(const std::vector<BinnedColumn>& columns, const std::vector<Leaf>& leaves,
                    ForestSummary& summary) {
  using Means = std::array<double, BinnedColumn::kMostBins>;
  std::vector<Means> means(columns.size(), Means{});  // of the leaves that count, given the bin
  std::vector<double> mean_of(columns.size());        // of the leaves that count
  std::vector<double> weights(columns.size());
  double mean = 0;
  double square = 0;
  for (const Leaf& leaf : leaves) {
    double volume = 1;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const bool whole = leaf.masks[j] == AllBins(columns[j]);
      weights[j] = whole ? 1 : WeightOf(columns[j], leaf.masks[j]);
      volume *= weights[j];
    }
    mean += volume * leaf.value;
    square += volume * leaf.value * leaf.value;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (leaf.masks[j] == AllBins(columns[j]) || weights[j] <= 0) continue;
      mean_of[j] += volume * leaf.value;
      for (Mask mask = leaf.masks[j]; mask != 0; mask &= mask - 1)
        means[j][static_cast<std::size_t>(std::countr_zero(mask))] +=
            volume / weights[j] * leaf.value;
    }
  }
  const double variance = square - mean * mean;
  if (variance <= kRounding) return;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    double effect = 0;
    for (std::size_t bin = 0; bin < columns[j].weights.size(); ++bin) {
      const double difference = means[j][bin] - mean_of[j];
      effect += columns[j].weights[bin] * difference * difference;
      summary.curves[j][bin] += difference;
    }
    summary.main_effects[j] += effect / variance;
  }
}

// A mean over few trees also errs by the trees' own variance. That part of the error is subtracted,
// so that the result does not depend on the number of trees.
double ExplainedBy(const std::vector<Foretold>& foretold, const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double error = 0;
  double variance = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    const Foretold& of = foretold[row];
    if (of.count < 2) continue;
    const double off = values[row] - of.sum / of.count;
    const double tree_variance = (of.square_sum - of.sum * of.sum / of.count) / (of.count - 1);
    error += off * off - tree_variance / of.count;
    variance += (values[row] - mean) * (values[row] - mean);
  }
  return variance > kRounding ? 1 - error / variance : 0;
}

}  // namespace

ForestSummary FitForest(const std::vector<BinnedColumn>& columns, const std::vector<double>& values,
                        const ForestOptions& options, const Random& random) {
  for (const BinnedColumn& column : columns) {
    SLUICE_CHECK(column.bins.size() == values.size(), "a column has a bin for each row");
    SLUICE_CHECK(column.weights.size() <= BinnedColumn::kMostBins, "a column has few bins");
  }
  ForestSummary summary;
  summary.main_effects.resize(columns.size());
  for (const BinnedColumn& column : columns) summary.curves.emplace_back(column.weights.size());
  if (values.empty()) return summary;
  TreeGrower grower(columns, values, options);
  for (int tree = 0; tree < options.trees; ++tree) {
    AddMainEffects(columns, grower.Grow(random.Fork(static_cast<std::uint64_t>(tree))), summary);
  }
  for (double& effect : summary.main_effects) effect /= options.trees;
  for (std::vector<double>& curve : summary.curves) {
    for (double& mean : curve) mean /= options.trees;
  }
  summary.explained = ExplainedBy(grower.foretold(), values);
  return summary;
}

}  // namespace sluice
