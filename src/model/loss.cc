#include "model/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace sluice::model {
namespace {

constexpr std::string_view kReturned = "returned";

// Whether the loss needs an output that has a dimension of classes.
bool HasClasses(std::string_view loss) { return loss == "cross_entropy" || loss == "nll"; }

std::string Sizes(const Value& value) {
  std::vector<std::string> sizes;
  for (const Size& size : value.sizes) sizes.push_back(SizeText(size));
  return fmt::format("{} [{}]", Name(value.dtype), Join(sizes));
}

}  // namespace

std::span<const std::string> Losses() {
  static const auto& names = *new std::vector<std::string>{std::string(kReturned),
                                                           "cross_entropy",
                                                           "nll",
                                                           "binary_cross_entropy",
                                                           "mse",
                                                           "l1",
                                                           "smooth_l1"};
  return names;
}

Status CheckLoss(const Graph& graph, std::string_view loss) {
  const std::span<const std::string> names = Losses();
  if (std::ranges::find(names, loss) == names.end()) {
    return InvalidArgument(fmt::format("expected one of {}, found '{}'{}", Join(names), Shown(loss),
                                       DidYouMean(loss, names)));
  }
  if (graph.outputs.empty()) return InvalidArgument("the network returns nothing to train on");
  const Value& output = graph.value(graph.outputs.front());
  if (output.kind != Value::Kind::kTensor || !IsFloating(output.dtype)) {
    return InvalidArgument(fmt::format(
        "expected a network that returns real numbers first, found '{}', {}", Shown(output.name),
        output.kind == Value::Kind::kTensor ? Sizes(output) : "a number without gradients"));
  }
  const bool single = std::ranges::all_of(
      output.sizes, [](const Size& size) { return size.symbol.empty() && size.number == 1; });
  if (loss == kReturned) {
    if (single) return {};
    return InvalidArgument(fmt::format(
        "expected a network that returns its loss, a single number, found '{}', {}; name a "
        "function of it, as in 'loss: cross_entropy'",
        Shown(output.name), Sizes(output)));
  }
  if (single) {
    return InvalidArgument(fmt::format(
        "expected a network that does not compute a loss itself, found '{}', a single number; "
        "remove the key",
        Shown(output.name)));
  }
  if (HasClasses(loss) && output.sizes.size() < 2) {
    return InvalidArgument(
        fmt::format("expected a network that returns a score for each class, found '{}', {}",
                    Shown(output.name), Sizes(output)));
  }
  return {};
}

}  // namespace sluice::model
