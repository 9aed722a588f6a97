#include "model/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/zoo/builder.h"

namespace sluice::model {
namespace {

using testing::HasSubstr;

// A network that computes scores for ten classes and returns what `of` makes of the scores.
Graph Returning(const std::function<ValueId(Builder&, ValueId)>& of) {
  Builder b;
  const ValueId scores = b.Linear("out", b.Input("x", {3}), 3, 10);
  const ValueId returned = of(b, scores);
  return std::move(b).Finish({returned})->graph;
}

Graph Scores() {
  return Returning([](Builder&, ValueId scores) { return scores; });
}
Graph Mean() {
  return Returning([](Builder& b, ValueId scores) {
    return b.Call("aten.mean.default", {Arg("self", scores)});
  });
}
Graph Best() {
  return Returning([](Builder& b, ValueId scores) {
    return b.Call("aten.argmax.default", {Arg("self", scores), Arg("dim", std::int64_t{1})},
                  DType::kInt64);
  });
}

std::string Refusal(const Graph& graph, std::string_view loss) {
  const Status status = CheckLoss(graph, loss);
  return status ? "" : status.error().message;
}

TEST(LossTest, FitsWhatTheNetworkReturns) {
  EXPECT_EQ(Refusal(Mean(), "returned"), "");
  for (const char* loss :
       {"cross_entropy", "nll", "binary_cross_entropy", "mse", "l1", "smooth_l1"})
    EXPECT_EQ(Refusal(Scores(), loss), "") << loss;
}

TEST(LossTest, SaysWhatWouldFit) {
  EXPECT_THAT(Refusal(Scores(), "returned"),
              HasSubstr("found 'linear_0', float32 [batch, 10]; name a function of it"));
  EXPECT_THAT(Refusal(Mean(), "mse"), HasSubstr("a single number; remove the key"));
  EXPECT_THAT(Refusal(Scores(), "cross_entrpy"), HasSubstr("did you mean 'cross_entropy'?"));
  EXPECT_THAT(Refusal(Best(), "mse"),
              HasSubstr("expected a network that returns real numbers first, found"));
  const Graph flat = Returning([](Builder& b, ValueId scores) {
    return b.Call("aten.select.int", {Arg("self", scores), Arg("dim", std::int64_t{1}),
                                      Arg("index", std::int64_t{0})});
  });
  EXPECT_EQ(Refusal(flat, "mse"), "");
  EXPECT_THAT(Refusal(flat, "cross_entropy"), HasSubstr("a score for each class"));
}

}  // namespace
}  // namespace sluice::model
