#include "search/samplers/sobol.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/random.h"
#include "space/draw.h"

namespace sluice {
namespace {

constexpr int kBits = 32;
constexpr std::uint64_t kIndices = std::uint64_t{1} << kBits;
constexpr std::uint64_t kMostMisses = 10'000;     // consecutive points that break a constraint
constexpr std::uint64_t kMostMissed = 1'000'000;  // coordinates of such points
// The choice of a matrix for an axis. kSobolTries: the matrices that are tried. kCompared: the
// earlier axes that each matrix is compared with. kRows: the first rows that are compared.
// kChosenAxes: the first axes, for which the choice is worth the time.
constexpr int kSobolTries = 24;
constexpr std::size_t kCompared = 20;
constexpr int kRows = 8;
constexpr std::size_t kChosenAxes = 48;

using Columns = std::vector<std::uint32_t>;
using Rows = std::array<std::uint32_t, kRows>;  // bits over the first columns

int Degree(std::uint32_t polynomial) {
  return std::max(static_cast<int>(std::bit_width(polynomial)), 1) - 1;
}

std::uint32_t TimesX(std::uint32_t value, std::uint32_t polynomial) {
  value <<= 1;
  return (value >> Degree(polynomial)) != 0 ? value ^ polynomial : value;
}

// x^exponent modulo a polynomial.
std::uint32_t PowerOfX(std::uint64_t exponent, std::uint32_t polynomial) {
  const auto multiply = [&](std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (; b != 0; b >>= 1, a = TimesX(a, polynomial)) product ^= (b & 1) != 0 ? a : 0;
    return product;
  };
  std::uint32_t result = 1;
  std::uint32_t base = Degree(polynomial) == 1 ? 1 : 2;  // x itself, reduced
  for (; exponent != 0; exponent >>= 1, base = multiply(base, base))
    if ((exponent & 1) != 0) result = multiply(result, base);
  return result;
}

// Whether x has the order 2^degree - 1 modulo the polynomial.
bool IsPrimitive(std::uint32_t polynomial) {
  const std::uint64_t order = (std::uint64_t{1} << Degree(polynomial)) - 1;
  if (PowerOfX(order, polynomial) != 1) return false;
  std::uint64_t rest = order;
  for (std::uint64_t factor = 2; rest > 1; ++factor) {
    if (factor * factor > rest) factor = rest;
    if (rest % factor != 0) continue;
    if (factor != order && PowerOfX(order / factor, polynomial) == 1) return false;
    while (rest % factor == 0) rest /= factor;
  }
  return true;
}

std::uint32_t NextPrimitive(std::uint32_t polynomial) {
  for (polynomial += 2; !IsPrimitive(polynomial); polynomial += 2) {
  }
  return polynomial;
}

// The columns of a polynomial's matrix. The first columns, as many as the degree, are drawn: column
// k is an odd number below 2^(k+1), in the highest bits. The other columns follow from them.
Columns DrawColumns(std::uint32_t polynomial, Random& random) {
  const int degree = Degree(polynomial);
  Columns columns(kBits);
  for (int k = 0; k < kBits; ++k) {
    if (k < degree) {
      const auto odd = static_cast<std::uint32_t>(random.Below(std::uint64_t{1} << k)) * 2 + 1;
      columns[k] = odd << (kBits - 1 - k);
      continue;
    }
    columns[k] = columns[k - degree] ^ (columns[k - degree] >> degree);
    for (int i = 1; i < degree; ++i)
      if (((polynomial >> (degree - i)) & 1) != 0) columns[k] ^= columns[k - i];
  }
  return columns;
}

// The first rows of the matrix, as bits over its first columns.
Rows FirstRows(const Columns& columns) {
  Rows rows{};
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kRows; ++k) rows[row] |= ((columns[k] >> (kBits - 1 - row)) & 1) << k;
  }
  return rows;
}

// Whether the first `count` rows are linearly independent over their first `columns` columns.
bool Independent(Rows rows, int count, int columns) {
  for (int a = 0; a < count; ++a) {
    rows[a] &= (1U << columns) - 1;
    if (rows[a] == 0) return false;
    const std::uint32_t pivot = rows[a] & (0 - rows[a]);
    for (int b = a + 1; b < count; ++b)
      if ((rows[b] & pivot) != 0) rows[b] ^= rows[a];
  }
  return true;
}

// How unevenly two axes fill boxes: the sum of t^2 over runs of 2^m points. Here t is the smallest
// number for which all boxes with the area of 2^t points are filled alike. The boxes are filled
// alike if the first i rows of one axis and the first m - t - i rows of the other are independent,
// for every i.
int Unevenness(const Rows& one, const Rows& other) {
  int sum = 0;
  for (int m = 2; m <= kRows; m += 2) {
    int t = 0;
    for (bool even = false; !even; t += even ? 0 : 1) {
      even = true;
      for (int i = 1; i < m - t && even; ++i) {
        Rows rows = one;
        std::copy_n(other.begin(), m - t - i, rows.begin() + i);
        even = Independent(rows, m - t, m);
      }
    }
    sum += t * t;
  }
  return sum;
}

// A permutation of each digit that depends on the digits before it. With the digits reversed, a bit
// may change only the bits above it. Additions and products by even numbers do that.
std::uint32_t Scramble(std::uint32_t value, std::uint64_t seed) {
  std::uint32_t x = 0;
  for (int bit = 0; bit < kBits; ++bit) x |= ((value >> bit) & 1) << (kBits - 1 - bit);
  const auto low = static_cast<std::uint32_t>(seed);
  const auto high = static_cast<std::uint32_t>(seed >> 32);
  x += low;
  x ^= x * (high & ~1U);
  x ^= x * ((std::rotl(low, 11) ^ 0x9e3779b8U) & ~1U);
  x += std::rotl(high, 7);
  x ^= x * ((std::rotl(high, 19) ^ 0x85ebca6aU) & ~1U);
  x ^= x * ((std::rotl(low, 23) ^ 0xc2b2ae34U) & ~1U);
  std::uint32_t reversed = 0;
  for (int bit = 0; bit < kBits; ++bit) reversed |= ((x >> bit) & 1) << (kBits - 1 - bit);
  return reversed;
}

}  // namespace

SobolSequence::SobolSequence(std::size_t axes, std::uint64_t seed) {
  Random choices = Random(0).Fork("sobol");  // for the sequence itself; the same for every seed
  Random scrambling = Random(seed).Fork("sobol");
  std::uint32_t polynomial = 1;
  std::vector<Rows> chosen;  // first rows of the matrices so far
  for (std::size_t axis = 0; axis < axes; ++axis) {
    AxisBits bits;
    bits.seed = scrambling.Next();
    if (axis == 0) {
      for (int k = 0; k < kBits; ++k) bits.columns.push_back(1U << (kBits - 1 - k));
    } else {
      polynomial = axis == 1 ? 3 : NextPrimitive(polynomial);
      int least = INT32_MAX;
      for (int tries = axis < kChosenAxes ? kSobolTries : 1; tries > 0 && least > 0; --tries) {
        Columns columns = DrawColumns(polynomial, choices);
        const Rows rows = FirstRows(columns);
        int uneven = 0;
        for (std::size_t i = 0; i < std::min(chosen.size(), kCompared) && uneven < least; ++i)
          uneven += Unevenness(chosen[chosen.size() - 1 - i], rows);
        if (uneven >= least) continue;
        least = uneven;
        bits.columns = std::move(columns);
      }
    }
    chosen.push_back(FirstRows(bits.columns));
    axes_.push_back(std::move(bits));
  }
}

std::vector<double> SobolSequence::At(std::uint64_t index) const {
  std::vector<double> point;
  point.reserve(axes_.size());
  for (const AxisBits& axis : axes_) {
    std::uint32_t bits = 0;
    for (int k = 0; k < kBits; ++k)
      if (((index >> k) & 1) != 0) bits ^= axis.columns[k];
    point.push_back((Scramble(bits, axis.seed) + 0.5) / static_cast<double>(kIndices));
  }
  return point;
}

SobolSampler::SobolSampler(const Space& space, std::uint64_t seed)
    : space_(space), sequence_(space.size(), seed), seed_(seed) {}

std::optional<Point> SobolSampler::Propose(std::uint64_t counter) {
  if (space_.constraints().empty()) {
    if (counter >= kIndices) return std::nullopt;
    return space_.FromUnit(sequence_.At(counter));
  }
  const auto draw = [&] {
    Random draws = Random(seed_).Fork("sobol-draw").Fork(counter);
    return DrawPoint(space_, draws);
  };
  if (drawn_from_ && counter >= *drawn_from_) return draw();
  if (counter < proposed_) proposed_ = index_ = 0;
  const std::uint64_t most = std::min(kMostMisses, kMostMissed / space_.size());
  std::uint64_t misses = 0;
  while (index_ < kIndices && misses < most) {
    Point point = space_.FromUnit(sequence_.At(index_++));
    if (!space_.Satisfies(point)) {
      ++misses;
      continue;
    }
    misses = 0;
    if (proposed_++ == counter) return point;
  }
  drawn_from_ = proposed_;
  return draw();
}

}  // namespace sluice
