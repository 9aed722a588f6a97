#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::model {

enum class Dim : std::uint32_t {};  // of a Dims

// Sizes of dimensions as formulas of classes, found by unification: an addition makes two dimensions one, a reshape
// makes one the product of others, a concatenation the sum. A class is a size that can be chosen alone, or is fixed.
//
// Only sizes are unified, not which element is which: units of a width are alike, so that a shuffle of channels is
// no obstacle. Where two formulas cannot be made one (4 * 6 = 8 * 3 in unknowns), everything in them is fixed, and
// the reason remembered: it is then no width, which is never wrong.
class Dims {
 public:
  enum class Form : std::uint8_t { kClass, kProduct, kSum };

  // Which of the classes in a product is chosen first when that is to shrink; later ones keep their size while they can.
  enum class Rank : std::uint8_t {
    kWidth,  // channels, features, heads
    kCount,  // of groups, of queries to a key, of chunks
    kInner,  // the size of a head: what two activations are contracted over, and what lies beside it
  };

  // A class of its own.
  Dim New(std::int64_t size);
  Dim Fixed(std::int64_t size, std::string_view reason);
  // Of parts, whose sizes are known; empty: 1 and 0.
  Dim Product(std::span<const Dim> factors);
  Dim Sum(std::span<const Dim> terms);

  std::int64_t SizeOf(Dim dim) const { return terms_[At(dim)].size; }

  // Fails if their sizes differ.
  Status Unify(Dim a, Dim b, std::string_view reason);
  // All classes in it. Surprising is what a reader of the network would not expect, or could change; an ordinary reason
  // takes its place.
  void Fix(Dim dim, std::string_view reason, bool surprising = false);
  // Of every class in it that has a lower one.
  void Raise(Dim dim, Rank rank);

  // What it is now: for a class, itself; for others, their parts, none of which has the same form or, in a product, is
  // a fixed 1. A formula with more parts than any network has is a tangle, and told as the class it is not.
  struct View {
    Form form = Form::kClass;
    Dim dim{};
    std::vector<Dim> parts;
    bool tangle = false;
  };
  View Look(Dim dim) const;

  // Of classes.
  bool IsFixed(Dim leaf) const { return terms_[At(leaf)].fixed; }
  const std::string& ReasonOf(Dim leaf) const { return terms_[At(leaf)].reason; }
  bool IsSurprising(Dim leaf) const { return terms_[At(leaf)].surprising; }
  Rank RankOf(Dim leaf) const { return terms_[At(leaf)].rank; }

  // The classes in it, each once.
  std::vector<Dim> ClassesOf(Dim dim) const;
  bool IsAllFixed(Dim dim) const;

  // Its size once classes that are not fixed have these ones.
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
    bool surprising = false;  // that it is fixed
    Rank rank = Rank::kWidth;
    std::optional<Dim> is;  // what this class turned out to be
    std::vector<Dim> parts;
    std::string reason;  // for being fixed
  };

  std::size_t At(Dim dim) const;  // where its term is, after all that it turned out to be
  Dim Add(Term term);
  void Bind(Dim leaf, Dim to);
  void Merge(const View& a, const View& b, std::string_view reason, int depth);
  bool MergeProducts(std::vector<Dim> a, std::vector<Dim> b, std::string_view reason, int depth);
  bool MergeSums(std::vector<Dim> a, std::vector<Dim> b, std::string_view reason, int depth);
  bool MergeSumWithProduct(const std::vector<Dim>& sum, const std::vector<Dim>& product,
                           std::string_view reason, int depth);
  bool MatchAlike(std::vector<Dim>& a, std::vector<Dim>& b, std::string_view reason, int depth);
  void UnifyAt(Dim a, Dim b, std::string_view reason, int depth);
  // False if there are too many.
  bool Flatten(Dim dim, Form form, std::vector<Dim>& parts) const;
  Dim Tangle(std::span<const Dim> parts, std::int64_t size);

  std::vector<Term> terms_;
};

}  // namespace sluice::model
