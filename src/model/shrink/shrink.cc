#include "model/shrink/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace sluice::model {
namespace {

// If a product should still shrink by at least this ratio, its next class shrinks.
constexpr double kPassedOn = 1.99;

// Chooses a size for each class.
class Sizing {
 public:
  Sizing(const Widths& widths, const ShrinkOptions& options) : widths_(widths), options_(options) {}

  std::vector<std::int64_t> Choose() {
    const std::vector<WidthClass>& classes = widths_.classes();
    for (const WidthClass& width : classes) {
      const auto given = options_.sizes.find(width.name);
      sizes_.push_back(given == options_.sizes.end() ? width.size : given->second);
    }
    const auto is_given = [&](std::size_t c) { return options_.sizes.contains(classes[c].name); };
    for (std::size_t c = 0; c < classes.size(); ++c)
      if (!classes[c].kept && !is_given(c)) sizes_[c] = Divided(c, options_.scale, Beside(c));
    for (const auto rank : {Dims::Rank::kWidth, Dims::Rank::kCount, Dims::Rank::kInner}) {
      for (std::size_t c = 0; c < classes.size(); ++c) {
        if (!classes[c].kept || is_given(c) || classes[c].rank != rank) continue;
        const double ratio = LeftFor(c);
        if (ratio >= kPassedOn) sizes_[c] = Divided(c, ratio, Beside(c));
      }
    }
    return sizes_;
  }

 private:
  std::int64_t Divided(std::size_t c, double ratio, std::int64_t beside) const {
    const std::int64_t size = widths_.classes()[c].size;
    const auto wanted = static_cast<std::int64_t>(std::llround(static_cast<double>(size) / ratio));
    const std::int64_t least =
        std::max<std::int64_t>((options_.min_width + beside - 1) / beside, 1);
    return std::clamp(wanted, std::min(least, size), size);
  }
  // What the sizes of the other classes multiply to, at most, in any product that has this class.
  std::int64_t Beside(std::size_t c) const {
    std::int64_t most = 1;
    for (const Widths::Product& product : widths_.products()) {
      if (std::ranges::find(product, c) == product.end()) continue;
      std::int64_t others = 1;
      for (const std::size_t other : product)
        if (other != c) others = std::min<std::int64_t>(others * sizes_[other], INT32_MAX);
      most = std::max(most, others);
    }
    return most;
  }
  // The smallest ratio by which the products that have this class should still shrink.
  double LeftFor(std::size_t c) const {
    double left = options_.scale;
    for (const Widths::Product& product : widths_.products()) {
      if (product.size() < 2 || std::ranges::find(product, c) == product.end()) continue;
      double ratio = options_.scale;
      for (const std::size_t other : product) {
        ratio /= static_cast<double>(widths_.classes()[other].size) /
                 static_cast<double>(std::max<std::int64_t>(sizes_[other], 1));
      }
      left = std::min(left, ratio);
    }
    return left;
  }

  const Widths& widths_;
  const ShrinkOptions& options_;
  std::vector<std::int64_t> sizes_;
};

Status CheckGiven(const Widths& widths, const ShrinkOptions& options) {
  if (!(options.scale >= 1 && options.scale <= 1e6))
    return InvalidArgument(fmt::format("expected a scale from 1 on, found {}", options.scale));
  if (options.min_width < 1)
    return InvalidArgument(
        fmt::format("expected a least width from 1 on, found {}", options.min_width));
  std::vector<std::string> names;
  for (const WidthClass& width : widths.classes()) names.push_back(width.name);
  for (const auto& [name, size] : options.sizes) {
    const auto known = std::ranges::find(names, name);
    if (known == names.end()) {
      return InvalidArgument(fmt::format("expected one of {}, found '{}'",
                                         names.empty() ? "no widths" : Join(names), Shown(name)));
    }
    const std::int64_t most =
        widths.classes()[static_cast<std::size_t>(known - names.begin())].size;
    if (size < 1 || size > most)
      return InvalidArgument(
          fmt::format("{}: expected a size from 1 to {}, found {}", name, most, size));
  }
  return {};
}

void Rewrite(Argument& argument, std::size_t element, std::int64_t number) {
  if (auto* one = std::get_if<std::int64_t>(&argument.value)) *one = number;
  if (auto* list = std::get_if<std::vector<IntegerOrValue>>(&argument.value);
      list != nullptr && element < list->size())
    (*list)[element].number = number;
}

// Checks that every shape is what the formulas of the original say.
Status CheckAll(const Widths& widths, const Shrunken& made,
                const std::map<std::string, std::int64_t>& symbols) {
  SLUICE_ASSIGN(const Inference again, Inference::Run(made.graph, symbols));
  for (std::uint32_t v = 0; v < made.graph.values.size(); ++v) {
    const ValueId value{v};
    const Shape& before = widths.inference().shape(value);
    const std::vector<std::int64_t> after = again.SizesOf(value);
    bool same = before.size() == after.size();
    for (std::size_t i = 0; i < after.size() && same; ++i)
      same = made.SizeOf(widths, before[i]) == after[i];
    if (!same) {
      return InvalidArgument(
          fmt::format("'{}' is [{}] in the narrower network, which does not match the analysis: "
                      "please report this",
                      Shown(made.graph.value(value).name), fmt::join(after, ", ")));
    }
  }
  return {};
}

}  // namespace

std::int64_t Shrunken::SizeOf(const Widths& widths, Dim dim) const {
  return widths.dims().Evaluate(dim, [&](Dim leaf) {
    const WidthClass* width = widths.Find(leaf);
    return width == nullptr ? widths.dims().SizeOf(leaf)
                            : sizes[static_cast<std::size_t>(width - widths.classes().data())];
  });
}

std::int64_t TrainableElements(const Graph& graph) {
  std::int64_t all = 0;
  for (const Parameter& parameter : graph.parameters) {
    if (!parameter.trainable || parameter.tied_to) continue;
    std::int64_t elements = 1;
    for (const std::int64_t size : parameter.sizes) elements *= size;
    all += elements;
  }
  return all;
}

Result<Shrunken> Shrink(const Graph& graph, const Widths& widths, const ShrinkOptions& options) {
  if (widths.classes().empty()) {
    const std::vector<std::string>& notes = widths.notes();
    return FailedPrecondition(fmt::format(
        "nothing in it can shrink: every size is decided by inputs, outputs, kernels or pins{}",
        notes.empty() ? "" : "; " + notes.front()));
  }
  SLUICE_TRY(CheckGiven(widths, options));
  Shrunken made{.graph = graph, .sizes = Sizing(widths, options).Choose()};
  for (Parameter& parameter : made.graph.parameters) {
    const Shape& shape = widths.inference().shape(parameter.value);
    std::vector<Size>& sizes = made.graph.values[Index(parameter.value)].sizes;
    bool changed = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::int64_t size = made.SizeOf(widths, shape[i]);
      changed = changed || size != parameter.sizes[i];
      parameter.sizes[i] = size;
      if (i < sizes.size()) sizes[i] = {.number = size, .symbol = {}};
    }
    if (changed) parameter.storage = {};  // new values have to be drawn
  }
  for (const SizeInArgument& each : widths.inference().arguments()) {
    const std::int64_t size = made.SizeOf(widths, each.dim);
    if (size == widths.dims().SizeOf(each.dim)) continue;
    Rewrite(made.graph.nodes[Index(each.node)].arguments[each.argument], each.element,
            each.from_end ? -size : size);
  }
  SLUICE_TRY(CheckAll(widths, made, widths.symbols()));
  SLUICE_ASSIGN(const Inference example, Inference::Run(made.graph));
  for (std::uint32_t v = 0; v < made.graph.values.size(); ++v) {
    const std::vector<std::int64_t> sizes = example.SizesOf(ValueId(v));
    std::vector<Size>& known = made.graph.values[v].sizes;
    for (std::size_t i = 0; i < sizes.size() && i < known.size(); ++i) known[i].number = sizes[i];
  }
  return made;
}

Result<Shrunken> ShrinkTo(const Graph& graph, const Widths& widths, std::int64_t elements,
                          ShrinkOptions options) {
  constexpr int kHalvings = 40;
  const std::int64_t all = TrainableElements(graph);
  if (elements < 1 || elements > all) {
    return InvalidArgument(fmt::format(
        "expected from 1 to {} parameters, the number in the network, found {}", all, elements));
  }
  double low = 1;
  double high = 4096;
  std::optional<Shrunken> best;
  std::int64_t least_off = INT64_MAX;
  for (int i = 0; i < kHalvings; ++i) {
    options.scale = std::sqrt(low * high);
    SLUICE_ASSIGN(Shrunken made, Shrink(graph, widths, options));
    const std::int64_t off = TrainableElements(made.graph) - elements;
    (off > 0 ? low : high) = options.scale;
    if (std::abs(off) >= least_off) continue;
    least_off = std::abs(off);
    best = std::move(made);
  }
  return *std::move(best);
}

Result<double> ReadScale(std::string_view word) {
  constexpr double kMost = 1e6;
  double scale = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, scale);
  if (error == std::errc() && rest == end && scale >= 1 && scale <= kMost) return scale;
  return InvalidArgument(
      fmt::format("--scale: expected a number from 1 to {:.0f}, found '{}'", kMost, Shown(word)));
}

}  // namespace sluice::model
