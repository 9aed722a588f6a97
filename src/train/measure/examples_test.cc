#include "train/measure/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <utility>

#include "train/state/tensor_types.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::HasSubstr;
using Verdict = model::Comparison::Verdict;

// A file of examples that holds these tensors.
data::TensorFile ExamplesFile(const std::map<std::string, at::Tensor>& tensors,
                              std::map<std::string, std::string> metadata = {}) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = testing::TempDir() + "examples_" + test->name() + ".examples";
  std::vector<data::TensorFileWriter::Declared> declared;
  for (const auto& [name, tensor] : tensors)
    declared.push_back(
        {.name = name,
         .type = {.dtype = *StoredTypeOf(tensor.scalar_type()), .shape = tensor.sizes().vec()}});
  auto writer =
      data::TensorFileWriter::Create(path, std::move(declared), std::move(metadata)).value();
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor whole = tensor.contiguous();
    EXPECT_TRUE(writer.Write(name, {static_cast<const char*>(whole.data_ptr()), whole.nbytes()}));
  }
  EXPECT_TRUE(writer.Commit());
  return data::TensorFile::Open(path).value();
}

at::Tensor Floats(at::IntArrayRef sizes, std::uint64_t seed) {
  return Numbers(sizes, seed).to(at::kFloat);
}

// x -> linear -> batch norm (-> dropout), with its tensors and what it computes for `x`.
struct NormedNetwork {
  explicit NormedNetwork(bool drops) {
    GraphMaker maker;
    const auto input = maker.Input();
    const auto weight = maker.Parameter("weight");
    const auto mean = maker.Parameter("mean", false);
    const auto variance = maker.Parameter("variance", false);
    auto y = maker.Call("aten.linear.default", {input, weight});
    y = maker.Call("aten.batch_norm.default", {y, GraphMaker::Given(), GraphMaker::Given(), mean,
                                               variance, true, 0.1, 1e-5, false});
    if (drops) y = maker.Call("aten.dropout.default", {y, 0.5, true});
    graph = maker.Finish({y});
    const at::Tensor linear = at::linear(x, tensors[0]);
    trained = at::batch_norm(linear, {}, {}, {}, {}, true, 0.1, 1e-5, false);
    evaluated = at::batch_norm(linear, {}, {}, tensors[1], tensors[2], false, 0.1, 1e-5, false);
  }

  ExamplesCheck Check(const std::map<std::string, at::Tensor>& stored,
                      std::map<std::string, std::string> metadata = {}) const {
    auto checked = CheckExamples(graph, tensors, ExamplesFile(stored, std::move(metadata)));
    EXPECT_TRUE(checked) << checked.error().message;
    return checked ? *std::move(checked) : ExamplesCheck{};
  }

  model::Graph graph;
  at::Tensor x = Floats({6, 4}, 1);
  std::vector<at::Tensor> tensors = {Floats({5, 4}, 2), Floats({5}, 3), Floats({5}, 4).abs()};
  at::Tensor trained;
  at::Tensor evaluated;
};

TEST(ExamplesTest, EqualOutputsAreEqual) {
  const NormedNetwork net(false);
  const ExamplesCheck check =
      net.Check({{"input.0", net.x}, {"output.0", net.trained}, {"eval_output.0", net.evaluated}});
  EXPECT_EQ(check.training.verdict, Verdict::kEqual) << check.training.about;
  EXPECT_EQ(check.evaluation.verdict, Verdict::kEqual) << check.evaluation.about;
  ASSERT_EQ(check.outputs.size(), 2u);
  EXPECT_EQ(check.outputs[1].name, "eval_output.0");
  EXPECT_LE(check.outputs[1].difference, check.outputs[1].bound / 10);
}

TEST(ExamplesTest, AnOutputThatDiffersIsNamed) {
  const NormedNetwork net(false);
  at::Tensor wrong = net.evaluated.clone();
  wrong.view({-1})[7] += 0.01;
  ExamplesCheck check =
      net.Check({{"input.0", net.x}, {"output.0", net.trained}, {"eval_output.0", wrong}});
  EXPECT_EQ(check.training.verdict, Verdict::kEqual);
  EXPECT_EQ(check.evaluation.verdict, Verdict::kDiffers);
  EXPECT_THAT(ComparisonText(check.evaluation),
              HasSubstr("differs: eval_output.0: differs by up to 0.01"));
  wrong.view({-1})[7] = std::numeric_limits<float>::quiet_NaN();
  check = net.Check({{"input.0", net.x}, {"output.0", net.trained}, {"eval_output.0", wrong}});
  EXPECT_THAT(check.evaluation.about, HasSubstr("other elements are infinite or not a number"));
  check = net.Check({{"input.0", net.x},
                     {"output.0", net.trained.narrow(1, 0, 3)},
                     {"eval_output.0", net.evaluated},
                     {"eval_output.1", net.evaluated}});
  EXPECT_EQ(check.training.about, "output.0: expected float32 [6, 3], found float32 [6, 5]");
  EXPECT_EQ(check.evaluation.about, "expected 2 outputs, as the file has (eval_output.N), found 1");
}

TEST(ExamplesTest, ANetworkThatDrawsIsComparedInEvaluationAlone) {
  const NormedNetwork net(true);
  const ExamplesCheck check =
      net.Check({{"input.0", net.x}, {"output.0", net.trained}, {"eval_output.0", net.evaluated}});
  EXPECT_EQ(check.training.verdict, Verdict::kUnchecked);
  EXPECT_THAT(check.training.about, HasSubstr("draws random numbers"));
  EXPECT_EQ(check.evaluation.verdict, Verdict::kEqual) << check.evaluation.about;
}

TEST(ExamplesTest, FilesWithoutEvaluationOutputsAreUnchecked) {
  const NormedNetwork net(false);
  const std::map<std::string, at::Tensor> stored = {{"input.0", net.x}, {"output.0", net.trained}};
  EXPECT_EQ(ComparisonText(net.Check(stored).evaluation),
            "unchecked: the archive has no evaluation outputs; export the network again");
  const ExamplesCheck check = net.Check(stored, {{"eval_output", "it does not run"}});
  EXPECT_EQ(ComparisonText(check.evaluation),
            "unchecked: the archive has no evaluation outputs: it does not run");
  EXPECT_THAT(check.outputs, testing::SizeIs(1));
}

TEST(ExamplesTest, InputsOfAnotherNetworkAreRefused) {
  const NormedNetwork net(false);
  const auto few = CheckExamples(net.graph, net.tensors, ExamplesFile({{"output.0", net.x}}));
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("of another network: expected 1 inputs, found 0"));
  const auto narrow =
      CheckExamples(net.graph, net.tensors, ExamplesFile({{"input.0", Floats({6, 3}, 1)}}));
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, ErrorCode::kInvalidArgument);
}

TEST(ExamplesTest, WhatTheTrainerCannotTrainIsRefused) {
  GraphMaker maker;
  const auto x = maker.Input();
  const auto graph = maker.Finish({maker.Call("aten.set_.source_Tensor", {x, x})});
  const auto refused = CheckExamples(graph, {}, ExamplesFile({{"input.0", Floats({3, 3}, 1)}}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("aten.set_.source_Tensor"));
}

TEST(ExamplesTest, AnArchiveWithoutItsFileIsNotFound) {
  const auto missing = CheckExamples("/nowhere/net.pt2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sluice::train
