#include <utility>

#include "train/rules/rules.h"

namespace sluice::train {
namespace {

// The places of the arguments.
struct LossPlaces {
  int target, weight, reduction, ignore, smoothing;
};

// The number by which a mean divides: of all trials, or of each.
Value Weight(const Call& call, const LossPlaces& places, const Value& target) {
  const at::Tensor& classes = target.tensor;
  const at::Tensor ignored = classes == call.Integer(places.ignore);
  at::Tensor counted = ignored.logical_not();
  const Value& weight = call.Tensor(places.weight);
  if (weight.tensor.defined())
    counted =  // what is ignored need not be a class
        weight.tensor.index_select(0, classes.masked_fill(ignored, 0).flatten()).view_as(classes) *
        counted;
  return Reduced(target.stacked() ? Stacked(counted, target.axis) : Shared(counted),
                 Reduction::kSum);
}

void Loss(Call& call, const LossPlaces& places) {
  const Value& scores = call.Tensor(0);
  const Value& target = call.Tensor(places.target);
  const std::int64_t rank = scores.rank();
  if (rank < 2 || call.Tensor(places.weight).stacked()) return call.Loop();
  const bool classes = !target.tensor.is_floating_point();
  const std::int64_t trials = call.trials();
  // The batch carries the trials: all losses first, then the reduction of each trial.
  auto& stack = call.BoxedAll();
  stack[0] = At(scores, 0, trials).flatten(0, 1);
  stack[places.target] = At(target, 0, trials).flatten(0, 1);
  stack[places.reduction] = static_cast<std::int64_t>(Reduction::kNone);
  call.Invoke(stack);
  const Value each = Stacked(std::move(stack[0]).toTensor().unflatten(0, {trials, scores.size(0)}));
  const auto reduction = static_cast<Reduction>(call.Integer(places.reduction));
  if (reduction != Reduction::kMean) return call.Return(Reduced(each, reduction));
  const at::Tensor sums = Reduced(each, Reduction::kSum).tensor;
  if (!classes) {
    // Probabilities: PyTorch divides by how many rows there are, weighted or not.
    return call.Return(Stacked(sums / static_cast<double>(each.tensor.numel() / trials)));
  }
  call.Return(Stacked(sums / Weight(call, places, target).tensor));
}

}  // namespace

// Also the negative log likelihood.
Action CrossEntropy(const Signature& signature) {
  const LossPlaces places{.target = signature.Place("target"),
                          .weight = signature.Place("weight"),
                          .reduction = signature.Place("reduction"),
                          .ignore = signature.Place("ignore_index"),
                          .smoothing = signature.Place("label_smoothing")};
  if (places.target != 1 || places.ignore < 0) return {};
  return [places](Call& call) { Loss(call, places); };
}

}  // namespace sluice::train
