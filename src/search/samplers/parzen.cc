#include "search/samplers/parzen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "base/check.h"

namespace sluice {
namespace {

constexpr std::uint64_t kMostCells = 64;
constexpr std::size_t kLanes = 8;  // numbers that the loops over kernels process at once
constexpr double kPriorWeight = 1;
constexpr double kPriorWidth = 1;
constexpr double kPriorCentre = 0.5;

double NormalBelow(double z) { return 0.5 * std::erfc(-z * std::numbers::sqrt2 / 2); }

// The mass of a normal law inside the unit interval.
double MassInside(double centre, double width) {
  return NormalBelow((1 - centre) / width) - NormalBelow(-centre / width);
}

}  // namespace

// log(width * MassInside) by centre, interpolated between points close enough for single precision.
class Parzen::LogScale {
 public:
  explicit LogScale(double width) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double centre = static_cast<double>(i) / kSteps;
      values_[i] = static_cast<float>(std::log(width * MassInside(centre, width)));
    }
  }
  float At(double centre) const {
    const double at = centre * kSteps;
    const auto left = std::min(static_cast<std::size_t>(at), kSteps - 1);
    const auto part = static_cast<float>(at - static_cast<double>(left));
    return values_[left] + part * (values_[left + 1] - values_[left]);
  }

 private:
  static constexpr std::size_t kSteps = 256;
  std::array<float, kSteps + 1> values_;
};

namespace {

// Eight numbers side by side, in as many registers as the processor needs for them.
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using LaneBits [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;

inline __attribute__((always_inline)) void Load(const float* from, Lanes& lanes) {
  std::memcpy(&lanes, from, sizeof lanes);
}

// exp(x) in place for x <= 0, to a relative 1e-6, and 0 below -87.
inline __attribute__((always_inline)) void ExpNegative(Lanes& x) {
  constexpr float kShift = 12582912.0F;  // adding and subtracting it rounds to an integer
  const Lanes clipped = x < -87.0F ? Lanes{} - 87.0F : x;
  const Lanes whole = (clipped * 1.44269504F + kShift) - kShift;
  const Lanes r = (clipped - whole * 0.693359375F) - whole * -2.12194440e-4F;
  Lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const LaneBits bits = (__builtin_convertvector(whole, LaneBits) + 127) << 23;
  Lanes scale;
  std::memcpy(&scale, &bits, sizeof scale);
  x = x < -87.0F ? Lanes{} : p * scale;
}

// The loops of a density, over kernels. They are compiled twice, for old processors and for
// processors with wider registers. The operations and their order are the same, so the results are
// the same.
inline __attribute__((always_inline)) void SubtractSquares(float* sums, const float* centres,
                                                           const float* inverse, float at,
                                                           std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const float z = (at - centres[k]) * inverse[k];
    sums[k] -= 0.5F * z * z;
  }
}

inline __attribute__((always_inline)) float LogSumExp(const float* sums, std::size_t count) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  Lanes each;
  Lanes most = Lanes{} + kNothing;
  for (std::size_t k = 0; k < count; k += kLanes) {
    Load(sums + k, each);
    most = each > most ? each : most;
  }
  float top = kNothing;
  for (std::size_t lane = 0; lane < kLanes; ++lane) top = std::max(top, most[lane]);
  if (top == kNothing) return top;
  Lanes totals{};
  for (std::size_t k = 0; k < count; k += kLanes) {
    Load(sums + k, each);
    each -= top;
    ExpNegative(each);
    totals += each;
  }
  float total = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) total += totals[lane];
  return top + std::log(total);
}

struct Loops {
  void (*subtract_squares)(float*, const float*, const float*, float, std::size_t);
  float (*log_sum_exp)(const float*, std::size_t);
};

#if defined(__x86_64__)
__attribute__((target("avx2"))) void SubtractSquaresWide(float* sums, const float* centres,
                                                         const float* inverse, float at,
                                                         std::size_t count) {
  SubtractSquares(sums, centres, inverse, at, count);
}
__attribute__((target("avx2"))) float LogSumExpWide(const float* sums, std::size_t count) {
  return LogSumExp(sums, count);
}
#endif

void SubtractSquaresPlain(float* sums, const float* centres, const float* inverse, float at,
                          std::size_t count) {
  SubtractSquares(sums, centres, inverse, at, count);
}
float LogSumExpPlain(const float* sums, std::size_t count) { return LogSumExp(sums, count); }

Loops LoopsOfThisProcessor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return {SubtractSquaresWide, LogSumExpWide};
#endif
  return {SubtractSquaresPlain, LogSumExpPlain};
}

// For each centre on an axis, the larger of the gaps to its two neighbours. At the ends, the gap to
// the only neighbour.
std::vector<double> Gaps(const std::vector<double>& centres) {
  const std::size_t count = centres.size();
  if (count == 1) return {std::max(centres[0], 1 - centres[0])};
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return centres[i]; });
  std::vector<double> gaps(count, 0);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const double gap = centres[order[i + 1]] - centres[order[i]];
    gaps[order[i]] = std::max(gaps[order[i]], gap);
    gaps[order[i + 1]] = std::max(gaps[order[i + 1]], gap);
  }
  return gaps;
}

}  // namespace

std::size_t Axis::CellOf(double coordinate) const {
  const auto above = std::ranges::lower_bound(centres, coordinate);
  if (above == centres.begin()) return 0;
  const auto right = static_cast<std::size_t>(above - centres.begin());
  if (above == centres.end()) return right - 1;
  return *above - coordinate < coordinate - centres[right - 1] ? right : right - 1;
}

Axis AxisOf(const Space& space, std::size_t index) {
  const Parameter& parameter = space.parameters()[index];
  const std::optional<std::uint64_t> count = parameter.Cardinality();
  if (!count || (*count > kMostCells && !parameter.has_choices())) return {};
  Axis axis;
  axis.kind =
      parameter.kind == ParameterKind::kCategorical ? Axis::Kind::kUnordered : Axis::Kind::kOrdered;
  double left = 0;
  for (std::uint64_t number = 0; number < *count; ++number) {
    const double value = space.Nth(index, number);
    axis.centres.push_back(space.ToUnit(index, value));
    // Finds the end of the cell by bisection: FromUnit decides what lies in a cell.
    double low = axis.centres.back();
    double high = 1;
    while (number + 1 < *count && high - low > 1e-9) {
      const double middle = (low + high) / 2;
      (space.FromUnit(index, middle) == value ? low : high) = middle;
    }
    axis.widths.push_back(std::max(high - left, 1e-9));
    left = high;
  }
  return axis;
}

Parzen::Table Parzen::MakeTable(const Axis& axis, double width) const {
  Table table;
  table.cells = axis.centres.size();
  const std::size_t owners = table.cells + 1;
  table.log_mass.resize(table.cells * owners);
  table.sums.resize(table.cells * owners);
  const double spread = kPriorWeight / static_cast<double>(count_);
  for (std::size_t own = 0; own < owners; ++own) {
    std::vector<double> mass(table.cells);
    for (std::size_t cell = 0; cell < table.cells; ++cell) {
      mass[cell] = axis.widths[cell];
      if (own == table.cells) continue;
      if (axis.kind == Axis::Kind::kUnordered) {
        mass[cell] = spread + (cell == own ? 1 : 0);
      } else {
        const double z = (axis.centres[cell] - axis.centres[own]) / width;
        mass[cell] *= std::exp(-0.5 * z * z);
      }
    }
    const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
    double sum = 0;
    for (std::size_t cell = 0; cell < table.cells; ++cell) {
      sum += mass[cell] / total;
      table.sums[own * table.cells + cell] = sum;
      table.log_mass[cell * owners + own] =
          static_cast<float>(std::log(std::max(mass[cell] / total, 1e-30)));
    }
  }
  return table;
}

Parzen::Parzen(std::span<const Axis> axes, const Kernels& kernels)
    : axes_(axes),
      count_(kernels.weights.size() + 1),
      padded_((count_ + kLanes - 1) / kLanes * kLanes),
      tables_(axes.size()),
      constants_(padded_, -std::numeric_limits<float>::infinity()) {
  SLUICE_CHECK(kernels.rows.size() == kernels.weights.size() * axes.size(),
               "there is a coordinate for each kernel and axis");
  double total = kPriorWeight;
  for (const double weight : kernels.weights) total += weight;
  double sum = 0;
  for (std::size_t k = 0; k < count_; ++k) {
    const double share = (k + 1 < count_ ? kernels.weights[k] : kPriorWeight) / total;
    sum += share;
    running_.push_back(sum);
    constants_[k] = static_cast<float>(std::log(share));
  }
  centres_.assign(padded_ * axes.size(), 0);
  inverse_.assign(padded_ * axes.size(), 0);
  cells_.assign(padded_ * axes.size(), 0);
  std::optional<LogScale> scale;
  if (!kernels.gaps && kernels.axis_widths.empty()) scale.emplace(kernels.width);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    AddAxis(axis, kernels, scale ? &*scale : nullptr);
}

void Parzen::AddAxis(std::size_t axis, const Kernels& kernels, const LogScale* scale) {
  const std::size_t observed = count_ - 1;
  const auto at = [&](std::size_t k) { return kernels.rows[k * axes_.size() + axis]; };
  if (axes_[axis].kind != Axis::Kind::kContinuous) {
    std::uint32_t* cells = &cells_[axis * padded_];
    for (std::size_t k = 0; k < observed; ++k)
      cells[k] = static_cast<std::uint32_t>(axes_[axis].CellOf(at(k)));
    cells[observed] = static_cast<std::uint32_t>(axes_[axis].centres.size());
    tables_[axis] = MakeTable(
        axes_[axis], kernels.axis_widths.empty() ? kernels.cell_width : kernels.axis_widths[axis]);
    return;
  }
  float* centres = &centres_[axis * padded_];
  float* inverse = &inverse_[axis * padded_];
  const auto put = [&](std::size_t k, double centre, double width, float log_scale) {
    centres[k] = static_cast<float>(centre);
    inverse[k] = static_cast<float>(1 / width);
    constants_[k] -= log_scale + 0.918938533F;  // log(sqrt(2 pi))
  };
  if (scale != nullptr) {
    for (std::size_t k = 0; k < observed; ++k) put(k, at(k), kernels.width, scale->At(at(k)));
  } else if (!kernels.axis_widths.empty()) {
    const double width = kernels.axis_widths[axis];
    for (std::size_t k = 0; k < observed; ++k)
      put(k, at(k), width, static_cast<float>(std::log(width * MassInside(at(k), width))));
  } else {
    std::vector<double> all(observed);
    for (std::size_t k = 0; k < observed; ++k) all[k] = at(k);
    const std::vector<double> gaps = observed == 0 ? std::vector<double>() : Gaps(all);
    for (std::size_t k = 0; k < observed; ++k) {
      const double width = std::clamp(gaps[k], kernels.narrowest, 1.0);
      put(k, all[k], width, static_cast<float>(std::log(width * MassInside(all[k], width))));
    }
  }
  put(observed, kPriorCentre, kPriorWidth,
      static_cast<float>(std::log(kPriorWidth * MassInside(kPriorCentre, kPriorWidth))));
}

void Parzen::Sample(Random& random, std::span<double> row) const {
  const auto chosen = std::ranges::upper_bound(running_, random.Uniform() * running_.back());
  const std::size_t k =
      std::min(static_cast<std::size_t>(chosen - running_.begin()), running_.size() - 1);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (const Table& table = tables_[axis]; table.cells > 0) {
      const std::size_t own = cells_[axis * padded_ + k];
      const auto sums = std::span(table.sums).subspan(own * table.cells, table.cells);
      const auto cell = std::ranges::upper_bound(sums, random.Uniform() * sums.back());
      row[axis] =
          axes_[axis]
              .centres[std::min(static_cast<std::size_t>(cell - sums.begin()), table.cells - 1)];
      continue;
    }
    // Widths are at most 1, so at least 34 % of the draws fall inside.
    const double centre = centres_[axis * padded_ + k];
    const double width = 1 / static_cast<double>(inverse_[axis * padded_ + k]);
    do {
      row[axis] = centre + width * random.Normal();
    } while (!(row[axis] >= 0 && row[axis] < 1));
  }
}

void Parzen::LogDensity(std::span<const double> rows, std::span<float> result) const {
  const Loops loops = LoopsOfThisProcessor();
  std::vector<float> sums(padded_);
  for (std::size_t r = 0; r < result.size(); ++r) {
    sums = constants_;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const double at = rows[r * axes_.size() + axis];
      if (const Table& table = tables_[axis]; table.cells > 0) {
        const float* log_mass = &table.log_mass[axes_[axis].CellOf(at) * (table.cells + 1)];
        const std::uint32_t* cells = &cells_[axis * padded_];
        for (std::size_t k = 0; k < padded_; ++k) sums[k] += log_mass[cells[k]];
      } else {
        loops.subtract_squares(sums.data(), &centres_[axis * padded_], &inverse_[axis * padded_],
                               static_cast<float>(at), padded_);
      }
    }
    result[r] = loops.log_sum_exp(sums.data(), padded_);
  }
}

}  // namespace sluice
