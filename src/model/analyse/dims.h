#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::model {

enum class Dim : std::uint32_t {};  // a dimension; valid for one Dims

// The sizes of dimensions as formulas of classes, found by unification. An addition makes two
// dimensions the same. A reshape makes one dimension the product of others. A concatenation makes
// one dimension the sum of others. A class is a size that can be chosen independently of other
// classes, or that is fixed.
//
// Only sizes are unified. Dims does not follow which element goes where: the units of a width are
// interchangeable, so a shuffle of channels is no obstacle. If two formulas cannot be unified (such
// as a*b = c*d with the sizes 4*15 = 6*10), all of their classes are fixed, and the reason is
// remembered. A fixed class is not a width. Fixing is always safe: it only leaves fewer widths to
// shrink.
class Dims {
 public:
  enum class Form : std::uint8_t { kClass, kProduct, kSum };

  // The order in which the classes of a product shrink. Later ranks keep their size while they can.
  enum class Rank : std::uint8_t {
    kWidth,  // channels, features, heads
    kCount,  // the number of groups, of queries for each key, of chunks
    // The size of a head: the dimension over which two activations are contracted, and their other
    // dimensions that are not heads.
    kInner,
  };

  // A new class.
  Dim New(std::int64_t size);
  Dim Fixed(std::int64_t size, std::string_view reason);
  // The product or the sum of these parts. Without parts, a product is 1 and a sum 0.
  Dim Product(std::span<const Dim> factors);
  Dim Sum(std::span<const Dim> terms);

  std::int64_t SizeOf(Dim dim) const { return terms_[At(dim)].size; }

  // Makes two dimensions the same. Fails if their sizes differ.
  Status Unify(Dim a, Dim b, std::string_view reason);
  // Fixes all classes of a dimension. A reason is surprising if the network's author would not
  // expect it, or could avoid it. An ordinary reason replaces a surprising one.
  void Fix(Dim dim, std::string_view reason, bool surprising = false);
  // Raises every class of a dimension to at least this rank.
  void Raise(Dim dim, Rank rank);

  // What a dimension is now: a class, or a product or sum with its parts. No part has the form of
  // the whole. Neutral parts (a fixed 1 in a product, a fixed 0 in a sum) are left out. A formula
  // with too many parts is a tangle: its view has the form of a class, but the dimension is not a
  // class.
  struct View {
    Form form = Form::kClass;
    Dim dim{};
    std::vector<Dim> parts;
    bool tangle = false;
  };
  View Look(Dim dim) const;

  // For classes only.
  bool IsFixed(Dim leaf) const { return terms_[At(leaf)].fixed; }
  const std::string& ReasonOf(Dim leaf) const { return terms_[At(leaf)].reason; }
  bool IsSurprising(Dim leaf) const { return terms_[At(leaf)].surprising; }
  Rank RankOf(Dim leaf) const { return terms_[At(leaf)].rank; }

  // The classes of a dimension, each once.
  std::vector<Dim> ClassesOf(Dim dim) const;
  bool IsAllFixed(Dim dim) const;

  // The size of a dimension if each class that is not fixed has the size that `size_of_class`
  // gives.
  template <typename SizeOfClass>
  std::int64_t Evaluate(Dim dim, const SizeOfClass& size_of_class) const {
    std::map<Dim, std::int64_t> known;
    return Evaluate(dim, size_of_class, known);
  }

 private:
  template <typename SizeOfClass>
  std::int64_t Evaluate(Dim dim, const SizeOfClass& size_of_class,
                        std::map<Dim, std::int64_t>& known) const {
    const Dim at = Dim(static_cast<std::uint32_t>(At(dim)));
    const Term& term = terms_[At(dim)];
    if (term.form == Form::kClass) return term.fixed ? term.size : size_of_class(at);
    if (const auto found = known.find(at); found != known.end()) return found->second;
    std::int64_t size = term.form == Form::kProduct ? 1 : 0;
    for (const Dim part : term.parts) {
      const std::int64_t each = Evaluate(part, size_of_class, known);
      size = term.form == Form::kProduct ? Times(size, each) : Plus(size, each);
    }
    known.emplace(at, size);
    return size;
  }
  static std::int64_t Times(std::int64_t a, std::int64_t b);
  static std::int64_t Plus(std::int64_t a, std::int64_t b);

  struct Term {
    Form form = Form::kClass;
    std::int64_t size = 0;
    bool fixed = false;
    bool surprising = false;  // whether the reason is surprising
    Rank rank = Rank::kWidth;
    std::optional<Dim> is;  // what this class turned out to be
    std::vector<Dim> parts;
    std::string reason;  // why the class is fixed
  };

  // The index of the dimension's term, after following `is` to the end.
  std::size_t At(Dim dim) const;
  Dim Add(Term term);
  // Makes a class the formula `to`.
  void Bind(Dim leaf, Dim to);
  // Makes two different formulas the same, or fixes all of their classes.
  void Merge(const View& a, const View& b, std::string_view reason, int depth);
  // Make two lists of parts the same. False if that is not possible.
  bool MergeProducts(std::vector<Dim> a, std::vector<Dim> b, std::string_view reason, int depth);
  bool MergeSums(std::vector<Dim> a, std::vector<Dim> b, std::string_view reason, int depth);
  bool MergeSumWithProduct(const std::vector<Dim>& sum, const std::vector<Dim>& product,
                           std::string_view reason, int depth);
  bool MatchAlike(std::vector<Dim>& a, std::vector<Dim>& b, std::string_view reason, int depth);
  void UnifyAt(Dim a, Dim b, std::string_view reason, int depth);
  // Appends the parts of a dimension, read as a product or as a sum. False if there are too many.
  bool Flatten(Dim dim, Form form, std::vector<Dim>& parts) const;
  // Fixes the parts, and returns a fixed dimension of this size.
  Dim Tangle(std::span<const Dim> parts, std::int64_t size);

  std::vector<Term> terms_;
};

}  // namespace sluice::model
