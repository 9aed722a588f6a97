#include "model/analyse/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

// The method. A formula is a class, a product or a sum. A class that is unified with a formula
// becomes that formula.
//
// Two products are cut into blocks, from the left: a block ends where the factors of both sides
// have the same product. In a pair of blocks with a single factor on one side, that factor is the
// product of the other block. Blocks with several factors on both sides come from shuffles. Their
// factors are paired if they are the same, or of the same size. What remains is unified again. If
// none can be paired, but a factor of one side divides a factor of the other, the larger of the two
// is split into the smaller one and a rest. Sums are cut into blocks of the same sum and unified in
// the same way, but no term is split.
//
// Equal sizes alone never make two dimensions the same. They only decide what is paired inside of
// an equation, and an equation comes from the data flow. Alternatives: polynomials with a solver
// would find more (x*y = 2*z for all x), but could not say why a size is fixed. Maps of indices
// would not survive a shuffle of channels.

namespace sluice::model {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxParts = 1024;  // of a formula
constexpr std::int64_t kMaxCopies = 64;  // of a term, when a product becomes a sum

}  // namespace

// A size that overflows is INT64_MAX.
std::int64_t Dims::Times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t Dims::Plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

std::size_t Dims::At(Dim dim) const {
  auto at = static_cast<std::size_t>(dim);
  while (terms_[at].is) at = static_cast<std::size_t>(*terms_[at].is);
  return at;
}

Dim Dims::Add(Term term) {
  terms_.push_back(std::move(term));
  return Dim(static_cast<std::uint32_t>(terms_.size() - 1));
}

Dim Dims::New(std::int64_t size) {
  // A size of 0 or 1 stays as it is, however wide the network is.
  const bool trivial = size <= 1;
  return Add({.size = size, .fixed = trivial, .is = {}, .parts = {}, .reason = {}});
}

Dim Dims::Fixed(std::int64_t size, std::string_view reason) {
  return Add({.size = size, .fixed = true, .is = {}, .parts = {}, .reason = std::string(reason)});
}

Dim Dims::Product(std::span<const Dim> factors) {
  std::vector<Dim> parts;
  std::int64_t size = 1;
  for (const Dim factor : factors) size = Times(size, SizeOf(factor));
  for (const Dim factor : factors)
    if (!Flatten(factor, Form::kProduct, parts)) return Tangle(factors, size);
  if (parts.size() == 1 && SizeOf(parts.front()) == size) return parts.front();
  if (parts.empty() || size == 0) return Fixed(size, "");
  return Add(
      {.form = Form::kProduct, .size = size, .is = {}, .parts = std::move(parts), .reason = {}});
}

Dim Dims::Sum(std::span<const Dim> terms) {
  std::vector<Dim> parts;
  std::int64_t size = 0;
  for (const Dim term : terms) size = Plus(size, SizeOf(term));
  for (const Dim term : terms)
    if (!Flatten(term, Form::kSum, parts)) return Tangle(terms, size);
  if (parts.empty()) return Fixed(0, "");
  if (parts.size() == 1) return parts.front();
  return Add({.form = Form::kSum, .size = size, .is = {}, .parts = std::move(parts), .reason = {}});
}

Dim Dims::Tangle(std::span<const Dim> parts, std::int64_t size) {
  for (const Dim part : parts) Fix(part, "a formula with too many parts", /*surprising=*/true);
  return Fixed(size, "a formula with too many parts");
}

bool Dims::Flatten(Dim dim, Form form, std::vector<Dim>& parts) const {
  const std::size_t at = At(dim);
  const Term& term = terms_[at];
  if (term.form == form) {
    return std::ranges::all_of(term.parts, [&](Dim part) { return Flatten(part, form, parts); });
  }
  const bool neutral =
      term.form == Form::kClass && term.fixed && term.size == (form == Form::kProduct ? 1 : 0);
  if (!neutral) parts.push_back(Dim(static_cast<std::uint32_t>(at)));
  return parts.size() <= kMaxParts;
}

Dims::View Dims::Look(Dim dim) const {
  const std::size_t at = At(dim);
  View view{.form = terms_[at].form, .dim = Dim(static_cast<std::uint32_t>(at)), .parts = {}};
  if (view.form == Form::kClass) return view;
  if (!Flatten(view.dim, view.form, view.parts)) {
    return {.form = Form::kClass, .dim = view.dim, .parts = {}, .tangle = true};
  }
  if (view.parts.size() == 1) return Look(view.parts.front());
  return view;
}

std::vector<Dim> Dims::ClassesOf(Dim dim) const {
  std::vector<Dim> classes;
  std::vector<std::size_t> open = {At(dim)};
  std::set<std::size_t> seen = {open.front()};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    const Term& term = terms_[at];
    if (term.form == Form::kClass) {
      classes.push_back(Dim(static_cast<std::uint32_t>(at)));
      continue;
    }
    // The first part comes out of the stack first.
    for (std::size_t i = term.parts.size(); i-- > 0;) {
      const std::size_t part = At(term.parts[i]);
      if (seen.insert(part).second) open.push_back(part);
    }
  }
  return classes;
}

bool Dims::IsAllFixed(Dim dim) const {
  return std::ranges::all_of(ClassesOf(dim), [&](Dim leaf) { return IsFixed(leaf); });
}

void Dims::Fix(Dim dim, std::string_view reason, bool surprising) {
  for (const Dim leaf : ClassesOf(dim)) {
    Term& term = terms_[At(leaf)];
    if (term.fixed && (surprising || !term.surprising)) continue;
    term.fixed = true;
    term.surprising = surprising;
    term.reason = reason;
  }
}

void Dims::Raise(Dim dim, Rank rank) {
  for (const Dim leaf : ClassesOf(dim)) {
    Term& term = terms_[At(leaf)];
    term.rank = std::max(term.rank, rank);
  }
}

void Dims::Bind(Dim leaf, Dim to) {
  Term& term = terms_[At(leaf)];
  SLUICE_CHECK(term.form == Form::kClass, "only a class becomes something else");
  if (term.fixed) Fix(to, std::string(term.reason), term.surprising);
  Raise(to, term.rank);
  term.is = Look(to).dim;
}

Status Dims::Unify(Dim a, Dim b, std::string_view reason) {
  if (SizeOf(a) != SizeOf(b))
    return InvalidArgument(fmt::format("sizes {} and {} should be the same", SizeOf(a), SizeOf(b)));
  UnifyAt(a, b, reason, 0);
  return {};
}

void Dims::UnifyAt(Dim a, Dim b, std::string_view reason, int depth) {
  const View x = Look(a);
  const View y = Look(b);
  if (x.dim == y.dim) return;
  if (x.tangle || y.tangle) {
    const Dim both[] = {x.dim, y.dim};
    static_cast<void>(Tangle(both, SizeOf(x.dim)));
    return;
  }
  Merge(x, y, reason, depth);
}

void Dims::Merge(const View& a, const View& b, std::string_view reason, int depth) {
  const auto is_in = [&](const View& leaf, const View& other) {
    const std::vector<Dim> classes = ClassesOf(other.dim);
    return std::ranges::find(classes, leaf.dim) != classes.end();
  };
  bool merged = false;
  if (depth > kMaxDepth) {
    merged = false;
  } else if (a.form == Form::kClass || b.form == Form::kClass) {
    const bool first = a.form == Form::kClass;
    const View& leaf = first ? a : b;
    const View& other = first ? b : a;
    // A class is not bound to a formula that contains it. Both are fixed below.
    merged = other.form == Form::kClass || !is_in(leaf, other);
    if (merged) Bind(leaf.dim, other.dim);
  } else if (a.form == b.form) {
    merged = a.form == Form::kProduct ? MergeProducts(a.parts, b.parts, reason, depth + 1)
                                      : MergeSums(a.parts, b.parts, reason, depth + 1);
  } else {
    const bool first = a.form == Form::kSum;
    merged = MergeSumWithProduct(first ? a.parts : b.parts, first ? b.parts : a.parts, reason,
                                 depth + 1);
  }
  if (merged) return;
  const std::string why = fmt::format("{}: equal sizes meet whose parts cannot be matched", reason);
  Fix(a.dim, why, /*surprising=*/true);
  Fix(b.dim, why, /*surprising=*/true);
}

// Removes pairs of parts that are the same. Then unifies and removes pairs of parts that have the
// same size. False if there is no pair.
bool Dims::MatchAlike(std::vector<Dim>& a, std::vector<Dim>& b, std::string_view reason,
                      int depth) {
  bool any = false;
  for (const bool by_size : {false, true}) {
    for (std::size_t i = 0; i < a.size();) {
      const auto match = std::ranges::find_if(b, [&](Dim other) {
        return by_size ? SizeOf(other) == SizeOf(a[i]) : Look(other).dim == Look(a[i]).dim;
      });
      if (match == b.end()) {
        ++i;
        continue;
      }
      if (by_size) UnifyAt(a[i], *match, reason, depth);
      b.erase(match);
      a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
      any = true;
    }
  }
  return any;
}

bool Dims::MergeProducts(std::vector<Dim> a, std::vector<Dim> b, std::string_view reason,
                         int depth) {
  if (depth > kMaxDepth) return false;
  // Cut both sides into blocks with the same product.
  std::size_t i = 0;
  std::size_t j = 0;
  std::vector<Dim> rest_a;
  std::vector<Dim> rest_b;
  while (i < a.size() || j < b.size()) {
    std::vector<Dim> block_a;
    std::vector<Dim> block_b;
    std::int64_t product_a = 1;
    std::int64_t product_b = 1;
    do {
      const bool takes_a = product_a <= product_b ? i < a.size() : j >= b.size();
      if (takes_a) {
        block_a.push_back(a[i]);
        product_a = Times(product_a, SizeOf(a[i++]));
      } else if (j < b.size()) {
        block_b.push_back(b[j]);
        product_b = Times(product_b, SizeOf(b[j++]));
      } else {
        return false;
      }
    } while (product_a != product_b);
    if (block_a.size() == 1 && block_b.size() == 1) {
      UnifyAt(block_a[0], block_b[0], reason, depth);
    } else if (block_a.size() == 1 || block_b.size() == 1) {
      const bool first = block_a.size() == 1;
      const Dim whole = first ? block_a[0] : block_b[0];
      UnifyAt(whole, Product(first ? block_b : block_a), reason, depth);
    } else {
      rest_a.insert(rest_a.end(), block_a.begin(), block_a.end());
      rest_b.insert(rest_b.end(), block_b.begin(), block_b.end());
    }
  }
  if (rest_a.empty() && rest_b.empty()) return true;
  if (MatchAlike(rest_a, rest_b, reason, depth)) {
    if (rest_a.empty() && rest_b.empty()) return true;
    if (rest_a.empty() || rest_b.empty()) return false;
    const Dim left = Product(rest_a);
    const Dim right = Product(rest_b);
    if (SizeOf(left) != SizeOf(right)) return false;
    UnifyAt(left, right, reason, depth + 1);
    return true;
  }
  // The larger of two factors is split into the smaller one, which divides it, and a rest.
  for (const Dim x : rest_a) {
    for (const Dim y : rest_b) {
      const bool x_is_smaller = SizeOf(x) < SizeOf(y);
      const Dim small = x_is_smaller ? x : y;
      const Dim large = x_is_smaller ? y : x;
      if (SizeOf(small) < 2 || SizeOf(large) % SizeOf(small) != 0) continue;
      if (Look(large).form != Form::kClass || Look(small).form != Form::kClass) continue;
      const Dim parts[] = {small, New(SizeOf(large) / SizeOf(small))};
      Bind(large, Product(parts));
      UnifyAt(Product(rest_a), Product(rest_b), reason, depth + 1);
      return true;
    }
  }
  return false;
}

bool Dims::MergeSums(std::vector<Dim> a, std::vector<Dim> b, std::string_view reason, int depth) {
  if (depth > kMaxDepth) return false;
  std::size_t i = 0;
  std::size_t j = 0;
  std::vector<Dim> rest_a;
  std::vector<Dim> rest_b;
  while (i < a.size() && j < b.size()) {
    std::vector<Dim> block_a = {a[i]};
    std::vector<Dim> block_b = {b[j]};
    std::int64_t sum_a = SizeOf(a[i++]);
    std::int64_t sum_b = SizeOf(b[j++]);
    while (sum_a != sum_b) {
      const bool takes_a = sum_a < sum_b;
      if (takes_a ? i >= a.size() : j >= b.size()) return false;
      (takes_a ? block_a : block_b).push_back(takes_a ? a[i] : b[j]);
      std::int64_t& sum = takes_a ? sum_a : sum_b;
      sum = Plus(sum, SizeOf(takes_a ? a[i++] : b[j++]));
    }
    if (block_a.size() == 1 && block_b.size() == 1) {
      UnifyAt(block_a[0], block_b[0], reason, depth);
    } else if (block_a.size() == 1 || block_b.size() == 1) {
      const bool first = block_a.size() == 1;
      UnifyAt(first ? block_a[0] : block_b[0], Sum(first ? block_b : block_a), reason, depth);
    } else {
      rest_a.insert(rest_a.end(), block_a.begin(), block_a.end());
      rest_b.insert(rest_b.end(), block_b.begin(), block_b.end());
    }
  }
  if (rest_a.empty() && rest_b.empty()) return i == a.size() && j == b.size();
  if (!MatchAlike(rest_a, rest_b, reason, depth)) return false;
  if (rest_a.empty() && rest_b.empty()) return true;
  if (rest_a.empty() || rest_b.empty()) return false;
  UnifyAt(Sum(rest_a), Sum(rest_b), reason, depth + 1);
  return true;
}

// A product that has a sum as a factor is a sum of products. Any other product is read as a count n
// times a part, which is a sum of n such parts.
bool Dims::MergeSumWithProduct(const std::vector<Dim>& sum, const std::vector<Dim>& product,
                               std::string_view reason, int depth) {
  if (depth > kMaxDepth) return false;
  for (std::size_t i = 0; i < product.size(); ++i) {
    const View inner = Look(product[i]);
    if (inner.form != Form::kSum) continue;
    std::vector<Dim> terms;
    for (const Dim part : inner.parts) {
      std::vector<Dim> factors = product;
      factors[i] = part;
      terms.push_back(Product(factors));
    }
    return MergeSums(sum, terms, reason, depth + 1);
  }
  // The count n is the first factor by which the sum can be cut into equal parts.
  for (const Dim count : product) {
    const std::int64_t copies = SizeOf(count);
    if (Look(count).form != Form::kClass || copies < 2 || copies > kMaxCopies) continue;
    std::vector<Dim> rest;
    for (const Dim factor : product)
      if (factor != count) rest.push_back(factor);
    if (rest.empty()) continue;
    const Dim part = Product(rest);
    std::int64_t reached = 0;
    std::int64_t cuts = 0;
    for (const Dim term : sum) {
      reached = Plus(reached, SizeOf(term));
      if (reached % SizeOf(part) == 0) ++cuts;
    }
    if (cuts != copies) continue;
    Fix(count, reason);
    return MergeSums(sum, std::vector<Dim>(static_cast<std::size_t>(copies), part), reason,
                     depth + 1);
  }
  return false;
}

}  // namespace sluice::model
