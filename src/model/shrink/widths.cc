#include "model/shrink/widths.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace sluice::model {
namespace {

constexpr std::size_t kMaxProducts = 10'000;  // of one dimension

bool IsPrime(std::int64_t number) {
  for (std::int64_t i = 2; i * i <= number; ++i)
    if (number % i == 0) return false;
  return true;
}

// Sizes for symbols: primes from 1009 on, which equal no other size by chance. A symbol whose range
// does not contain its prime is left out.
std::map<std::string, std::int64_t> RareSizes(const Graph& graph) {
  std::map<std::string, std::int64_t> sizes;
  std::int64_t next = 1009;
  for (const Symbol& symbol : graph.symbols) {
    while (!IsPrime(next)) ++next;
    if (next >= symbol.least && next <= symbol.most) sizes[symbol.name] = next;
    ++next;
  }
  return sizes;
}

Status Pin(const Graph& graph, const Place& place, Inference& inference) {
  const auto found = std::ranges::find(graph.parameters, place.parameter, &Parameter::name);
  if (found == graph.parameters.end()) {
    std::vector<std::string> names;
    for (const Parameter& parameter : graph.parameters) names.push_back(parameter.name);
    return InvalidArgument(fmt::format("expected the name of a parameter, found '{}'{}",
                                       Shown(place.parameter), DidYouMean(place.parameter, names)));
  }
  const Shape& shape = inference.shape(found->value);
  if (place.axis >= shape.size()) {
    return InvalidArgument(fmt::format("'{}' has {} dimensions, found {}", Shown(place.parameter),
                                       shape.size(), place.axis));
  }
  inference.dims().Fix(shape[place.axis], "you pinned it");
  return {};
}

}  // namespace

Result<Widths> Widths::Find(const Graph& graph, const WidthOptions& options) {
  std::map<std::string, std::int64_t> symbols = RareSizes(graph);
  Result<Inference> inferred = Inference::Run(graph, symbols);
  if (!inferred) {  // some networks take only certain sizes
    symbols.clear();
    inferred = Inference::Run(graph);
  }
  if (!inferred) return std::unexpected(inferred.error());
  Inference& inference = *inferred;
  for (const ValueId output : graph.outputs)
    for (const Dim dim : inference.shape(output))
      inference.dims().Fix(dim, fmt::format("output '{}'", Shown(graph.value(output).name)));
  for (std::size_t i = 0; i < graph.parameters.size() && i < options.frozen.size(); ++i) {
    const Shape& shape = inference.shape(graph.parameters[i].value);
    std::size_t stay = options.frozen[i] == Frozen::kNo ? 0 : shape.size();
    if (options.frozen[i] == Frozen::kAllButLast && stay > 0) --stay;
    for (std::size_t axis = 0; axis < stay; ++axis) {
      inference.dims().Fix(shape[axis],
                           fmt::format("the values of '{}' were made for this size",
                                       Shown(graph.parameters[i].name)),
                           /*surprising=*/true);
    }
  }
  for (const Place& pin : options.pins) SLUICE_TRY(Pin(graph, pin, inference));
  Widths widths(std::move(inference));
  widths.symbols_ = std::move(symbols);
  widths.NameClasses(graph);
  widths.FindProducts(graph);
  return widths;
}

void Widths::NameClasses(const Graph& graph) {
  std::set<Dim> noted;
  for (const Parameter& parameter : graph.parameters) {
    const Shape& shape = inference_.shape(parameter.value);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      for (const Dim leaf : dims().ClassesOf(shape[axis])) {
        if (dims().IsFixed(leaf) && dims().IsSurprising(leaf) && noted.insert(leaf).second) {
          notes_.push_back(fmt::format("{}, dimension {}: {} stays: {}", Shown(parameter.name),
                                       axis, dims().SizeOf(leaf), dims().ReasonOf(leaf)));
        }
        if (dims().IsFixed(leaf) || Find(leaf) != nullptr) continue;
        by_dim_.emplace(leaf, classes_.size());
        classes_.push_back({.name = fmt::format("w{}", classes_.size() + 1),
                            .dim = leaf,
                            .size = dims().SizeOf(leaf),
                            .rank = dims().RankOf(leaf),
                            .first = {.parameter = parameter.name, .axis = axis}});
      }
    }
  }
}

// Writes the dimension as a sum of products of classes, and returns these products.
std::vector<Widths::Product> Widths::ProductsOf(Dim dim) const {
  const Dims::View view = dims().Look(dim);
  if (view.form == Dims::Form::kClass) {
    const WidthClass* width = view.tangle ? nullptr : Find(view.dim);
    if (width == nullptr) return {{}};
    return {{static_cast<std::size_t>(width - classes_.data())}};
  }
  std::vector<Product> products;
  if (view.form == Dims::Form::kSum) {
    for (const Dim part : view.parts) {
      for (Product& each : ProductsOf(part))
        if (products.size() < kMaxProducts) products.push_back(std::move(each));
    }
    return products;
  }
  products.emplace_back();
  for (const Dim part : view.parts) {
    std::vector<Product> longer;
    for (const Product& more : ProductsOf(part)) {
      for (const Product& before : products) {
        if (longer.size() >= kMaxProducts) break;
        Product& both = longer.emplace_back(before);
        both.insert(both.end(), more.begin(), more.end());
      }
    }
    products = std::move(longer);
  }
  return products;
}

void Widths::FindProducts(const Graph& graph) {
  std::set<Product> seen;
  const auto add = [&](Product product) {
    std::ranges::stable_sort(product, {}, [&](std::size_t c) { return classes_[c].rank; });
    if (product.empty() || !seen.insert(product).second) return;
    for (const std::size_t c : product)
      if (c != product.front()) classes_[c].kept = true;
    products_.push_back(std::move(product));
  };
  for (const Parameter& parameter : graph.parameters)
    for (const Dim dim : inference_.shape(parameter.value))
      for (Product& product : ProductsOf(dim)) add(std::move(product));
  const auto classes_in = [&](const std::vector<Dim>& list) {
    std::set<std::size_t> classes;
    for (const Dim dim : list)
      for (const Dim leaf : dims().ClassesOf(dim))
        if (const WidthClass* width = Find(leaf))
          classes.insert(static_cast<std::size_t>(width - classes_.data()));
    return classes;
  };
  for (const Contraction& contraction : inference_.contractions()) {
    const std::set<std::size_t> inner = classes_in(contraction.inner);
    for (const std::size_t head : classes_in(contraction.heads))
      for (const std::size_t each : inner)
        if (each != head) add({head, each});
  }
}

bool Widths::IsWidth(Dim dim) const {
  return std::ranges::any_of(dims().ClassesOf(dim), [&](Dim leaf) {
    const WidthClass* width = Find(leaf);
    return width != nullptr && !width->kept;
  });
}

const WidthClass* Widths::Find(Dim leaf) const {
  const auto found = by_dim_.find(leaf);
  return found == by_dim_.end() ? nullptr : &classes_[found->second];
}

int Widths::CountIn(const Parameter& parameter) const {
  const Shape& shape = inference_.shape(parameter.value);
  return static_cast<int>(std::ranges::count_if(shape, [&](Dim dim) { return IsWidth(dim); }));
}

std::string Widths::Formula(Dim dim) const {
  const Dims::View view = dims().Look(dim);
  if (view.tangle || !HasClass(view.dim)) return fmt::to_string(dims().SizeOf(view.dim));
  if (view.form == Dims::Form::kClass) {
    const WidthClass* known = Find(view.dim);
    return known == nullptr ? fmt::to_string(dims().SizeOf(view.dim)) : known->name;
  }
  const bool is_product = view.form == Dims::Form::kProduct;
  std::int64_t number = is_product ? 1 : 0;
  std::vector<std::string> parts;
  std::map<std::string, int> counts;  // how often each term of a sum occurs
  for (const Dim part : view.parts) {
    if (!HasClass(part)) {
      number = is_product ? number * dims().SizeOf(part) : number + dims().SizeOf(part);
      continue;
    }
    const bool nested = is_product && dims().Look(part).form == Dims::Form::kSum;
    std::string text = nested ? fmt::format("({})", Formula(part)) : Formula(part);
    if (is_product || counts[text]++ == 0) parts.push_back(std::move(text));
  }
  for (std::string& part : parts)
    if (!is_product && counts[part] > 1) part = fmt::format("{}*{}", counts[part], part);
  if (is_product && number != 1) parts.insert(parts.begin(), fmt::to_string(number));
  if (!is_product && number != 0) parts.push_back(fmt::to_string(number));
  return Join(parts, is_product ? "*" : " + ");
}

Status CheckShapes(const Graph& graph) {
  SLUICE_ASSIGN(const Inference inference, Inference::Run(graph));
  for (const Node& node : graph.nodes) {
    for (const auto& output : node.outputs) {
      if (!output || graph.value(*output).kind != Value::Kind::kTensor) continue;
      // PyTorch 2.11 states wrong shapes for the last states of an LSTM. Few networks use these
      // states.
      if (!inference.IsUsed(*output)) continue;
      std::vector<std::int64_t> said;
      for (const Size& size : graph.value(*output).sizes) said.push_back(size.number);
      const std::vector<std::int64_t> found = inference.SizesOf(*output);
      if (said == found || std::ranges::find(said, -1) != said.end()) continue;
      return InvalidArgument(fmt::format(
          "node {} ({}): its operands give a tensor of [{}], the program says [{}]",
          Shown(node.name), Shown(node.op), fmt::join(found, ", "), fmt::join(said, ", ")));
    }
  }
  return {};
}

}  // namespace sluice::model
