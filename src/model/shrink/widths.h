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
  Place first;  // the first dimension of a parameter that has this class
  // Whether the class keeps its size while other classes of its products shrink. Examples are the
  // size of a head and the number of groups.
  bool kept = false;
};

// Which dimensions of a parameter keep their sizes, because the parameter's values can neither be
// cut nor be drawn again.
enum class Frozen : std::uint8_t {
  kNo,
  kAllButLast,  // the values can be computed for another size of the last dimension
  kAll,
};

struct WidthOptions {
  // In the order of the parameters; empty: none is frozen.
  std::vector<Frozen> frozen = {};
  std::vector<Place> pins = {};  // dimensions whose sizes the user wants to keep
};

// The widths of a network: the sizes that can be chosen. Other sizes are decided by inputs,
// outputs, vocabularies, kernels, indices or the user.
class Widths {
 public:
  // Fails with invalid_argument if shapes do not agree or an operator is not known (the message
  // names the node), or if a pin does not exist.
  static Result<Widths> Find(const Graph& graph, const WidthOptions& options = {});

  const Inference& inference() const { return inference_; }
  const Dims& dims() const { return inference_.dims(); }
  const std::vector<WidthClass>& classes() const { return classes_; }
  // The sizes that symbols had during the analysis. They equal no other size by chance. A symbol
  // that is missing had the size of the export.
  const std::map<std::string, std::int64_t>& symbols() const { return symbols_; }
  // Null if the class is fixed.
  const WidthClass* Find(Dim leaf) const;

  // Indices of classes that are multiplied with each other, in the order in which they shrink. The
  // number of heads and a size inside of a head form a product, even if no dimension has both.
  using Product = std::vector<std::size_t>;
  const std::vector<Product>& products() const { return products_; }

  // Whether the dimension has a class that can be chosen.
  bool HasClass(Dim dim) const { return !dims().IsAllFixed(dim); }
  // Whether the dimension has a class that is not kept, so that it shrinks with the network.
  bool IsWidth(Dim dim) const;
  // How many dimensions of a parameter are widths.
  int CountIn(const Parameter& parameter) const;
  // Sizes that stay although the task does not require it: one line for each, with the reason.
  const std::vector<std::string>& notes() const { return notes_; }
  // The dimension as text: "w1", "64", "12*w1", "w1 + 2".
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

// Checks that the inferred shape of every tensor that is used is the one that the graph states.
Status CheckShapes(const Graph& graph);

}  // namespace sluice::model
