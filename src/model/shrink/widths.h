#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/analyse/inference.h"
#include "model/graph.h"

namespace sluice::model {

// A dimension of a parameter.
struct Place {
  std::string parameter;
  std::size_t axis = 0;
};

// A size that can be chosen.
struct WidthClass {
  std::string name;  // "w1"
  Dim dim{};
  std::int64_t size = 0;
  Dims::Rank rank = Dims::Rank::kWidth;
  Place first;  // where it is met first
  bool kept =
      false;  // it stays while others in its products shrink: the size of a head, the number of groups
};

// Values that can neither be cut nor be drawn again, so that sizes stay.
enum class Frozen : std::uint8_t {
  kNo,
  kAllButLast,  // they can be made for another size of the last dimension
  kAll,
};

struct WidthOptions {
  // By the order of parameters; empty: none is.
  std::vector<Frozen> frozen = {};
  std::vector<Place> pins = {};  // what is to stay, for reasons of the user's
};

// Which sizes of a network are widths: those that neither inputs, outputs, vocabularies, kernels, indices, nor the user
// decide.
class Widths {
 public:
  // Fails with invalid_argument, naming the node, where shapes do not agree or an operator is not known.
  static Result<Widths> Find(const Graph& graph, const WidthOptions& options = {});

  const Inference& inference() const { return inference_; }
  const Dims& dims() const { return inference_.dims(); }
  const std::vector<WidthClass>& classes() const { return classes_; }
  // What symbols were taken to be: sizes that meet no others by chance.
  const std::map<std::string, std::int64_t>& symbols() const { return symbols_; }
  // Null for one that is fixed.
  const WidthClass* Find(Dim leaf) const;

  // Classes that are multiplied with each other, by their order: who shrinks first comes first. Heads and what is inside
  // of one are such, whether they ever stand in one dimension or not.
  using Product = std::vector<std::size_t>;
  const std::vector<Product>& products() const { return products_; }

  // It has a class in it that can be chosen.
  bool HasClass(Dim dim) const { return !dims().IsAllFixed(dim); }
  // It has one that is not kept: it shrinks with the network.
  bool IsWidth(Dim dim) const;
  // Of a parameter's dimensions, how many are widths.
  int CountIn(const Parameter& parameter) const;
  // Sizes that stay although nothing about the task says so, one a line: which, and why.
  const std::vector<std::string>& notes() const { return notes_; }
  // "w1", "64", "12*w1", "w1 + 2".
  std::string Formula(Dim dim) const;

 private:
  explicit Widths(Inference inference) : inference_(std::move(inference)) {}
  void NameClasses(const Graph& graph);
  void FindProducts(const Graph& graph);
  std::vector<Product> ProductsOf(Dim dim) const;

  Inference inference_;
  std::map<std::string, std::int64_t> symbols_;
  std::vector<WidthClass> classes_;
  std::map<Dim, std::size_t> by_dim_;  // into classes_
  std::vector<Product> products_;
  std::vector<std::string> notes_;
};

// Whether what we infer is what the archive says of every tensor that is used.
Status CheckShapes(const Graph& graph);

}  // namespace sluice::model
