#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>

#include "base/test_soak.h"
#include "model/evaluate/evaluation.h"
#include "model/zoo/zoo.h"
#include "train/program.h"
#include "train/test_graph.h"

// The networks of the zoo, for three trials at once and for each alone.
namespace sluice::train {
namespace {

constexpr std::int64_t kTogether = 3;
constexpr std::int64_t kBatch = 2;
constexpr double kBound = 1e-10;

const char* const kNetworks[] = {
    "mlp,in=12,hidden=8",
    "lenet",
    "vgg11",
    "resnet18",
    "resnet50",
    "mobilenetv3",
    "shufflenetv2",
    "vit-tiny,classes=10,image=32,patch=8,width=24,layers=2",
    "deit-tiny,classes=10,image=32,patch=8,width=24,layers=2",
    "dcgan-generator,latent=6,width=4",
    "dcgan-discriminator,width=4",
    "lstm-lm,vocab=30,tokens=5,width=8,hidden=8,layers=2",
    "transformer-lm,vocab=30,tokens=6,width=8,hidden=16,layers=2",
    "gpt,vocab=30,tokens=6,width=8,layers=2,heads=2",
    "pythia-14m,vocab=30,tokens=6,width=16,layers=2,heads=2",
    "bert-tiny,vocab=30,tokens=6,positions=8,width=8,layers=2,heads=2",
};

at::Tensor Drawn(const model::Parameter& parameter, const model::Law& law,
                 const model::Graph& graph, std::uint64_t seed) {
  const bool real = model::IsFloating(graph.value(parameter.value).dtype);
  if (!real) {
    at::Tensor zeros = at::zeros(parameter.sizes, at::kLong);
    return law.kind == model::Law::Kind::kConstant ? zeros + law.mean : zeros;
  }
  const double spread = law.deviation > 0 ? law.deviation : 0.05;
  const at::Tensor numbers = Numbers(parameter.sizes, seed) * spread + law.mean;
  return parameter.role == model::Parameter::Role::kBuffer ? numbers.abs() : numbers;
}

at::Tensor InputOf(const model::Value& value, std::uint64_t seed) {
  Sizes sizes;
  for (const model::Size& size : value.sizes)
    sizes.push_back(size.symbol.empty() ? size.number : kBatch);
  const at::Tensor numbers = Numbers(sizes, seed);
  return model::IsFloating(value.dtype) ? numbers
                                        : numbers.abs().mul(1000).to(at::kLong).remainder(2);
}

struct Results {
  std::vector<Value> outputs;
  std::vector<at::Tensor> gradients;  // by parameter; undefined where there is none
  std::vector<std::pair<std::size_t, at::Tensor>> written;
  std::string error;
};

Results StepOf(const Program& program, const std::vector<at::Tensor>& held,
               const std::vector<Value>& inputs, std::vector<CounterDraws::Trial> trials) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& each : held) {
    parameters.push_back(each.clone());
    if (each.is_floating_point()) parameters.back().requires_grad_();
  }
  const auto count = static_cast<std::int64_t>(trials.size());
  const CounterDraws draws(std::move(trials));
  const auto outcome =
      program.Run({.trials = count, .parameters = parameters, .inputs = inputs, .draws = &draws});
  if (!outcome) return {{}, {}, {}, outcome.error().message};
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const Value& each : outcome->outputs)
    sum = sum + each.tensor.to(at::kDouble).square().mean() * count;
  sum.backward();
  Results results{outcome->outputs, {}, outcome->written, ""};
  for (const at::Tensor& each : parameters) results.gradients.push_back(each.grad());
  return results;
}

// What three trials hold, and what they are given.
struct Held {
  std::vector<at::Tensor> all;
  std::vector<Value> inputs;
};
Held HeldFor(const model::BuiltModel& built, const Program& program, at::ScalarType real) {
  const auto as_real = [&](const at::Tensor& tensor) {
    return tensor.is_floating_point() ? tensor.to(real) : tensor;
  };
  const model::Graph& graph = built.graph;
  Held held;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    std::vector<at::Tensor> each;
    for (std::int64_t trial = 0; trial < kTogether; ++trial)
      each.push_back(as_real(Drawn(graph.parameters[i], built.laws[i], graph,
                                   10 * i + (program.stacked(i) ? trial : 0))));
    held.all.push_back(program.stacked(i) ? at::stack(each) : each[0]);
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    held.inputs.push_back(Shared(as_real(InputOf(graph.value(graph.inputs[i]), 9000 + i))));
  return held;
}

std::vector<at::Tensor> OfOneTrial(const Held& held, const Program& program, std::int64_t trial) {
  std::vector<at::Tensor> own;
  for (std::size_t i = 0; i < held.all.size(); ++i)
    own.push_back(program.stacked(i) ? held.all[i].narrow(0, trial, 1) : held.all[i]);
  return own;
}

const std::vector<CounterDraws::Trial> kKeys = {{11, 5}, {12, 5}, {13, 7}};

// Each step then calls each operator once for all trials, and nothing is lost to loops.
TEST(ZooFallbacksTest, EveryOperatorOfTheZooHasARuleForSeveralTrials) {
  for (const model::ZooEntry& entry : model::Zoo()) {
    const auto built = model::BuildFromZoo(entry.name);
    ASSERT_TRUE(built) << built.error().message;
    const auto evaluation = model::MakeEvaluation(built->graph);
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    for (const model::Graph* graph : {&built->graph, &evaluation->graph}) {
      const auto program = Program::Prepare(*graph, {.real = at::kFloat});
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_TRUE(program->fallbacks().empty()) << entry.name << ": " << program->fallbacks()[0].op
                                                << ": " << program->fallbacks()[0].why;
    }
  }
}

class ZooRunTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    before_ = at::get_default_dtype();
    at::set_default_dtype(caffe2::TypeMeta::Make<double>());
  }
  void TearDown() override { at::set_default_dtype(before_); }

 private:
  caffe2::TypeMeta before_;
};

TEST_P(ZooRunTest, ThreeTrialsAtOnceAreEachAsAlone) {
  if (GetParam() == std::string_view("resnet50") && !Soaks())
    GTEST_SKIP() << "takes 10 s: make soak";
  const auto built = model::BuildFromZoo(GetParam());
  ASSERT_TRUE(built) << built.error().message;
  const model::Graph& graph = built->graph;
  const auto program = Program::Prepare(graph, {.real = at::kDouble});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->fallbacks().empty()) << program->fallbacks()[0].op;

  const Held held = HeldFor(*built, *program, at::kDouble);
  const Results together = StepOf(*program, held.all, held.inputs, kKeys);
  ASSERT_EQ(together.error, "");
  for (std::int64_t trial = 0; trial < kTogether; ++trial) {
    const Results alone =
        StepOf(*program, OfOneTrial(held, *program, trial), held.inputs, {kKeys[trial]});
    ASSERT_EQ(alone.error, "");
    for (std::size_t i = 0; i < alone.outputs.size(); ++i)
      EXPECT_LE(Difference(OfTrial(together.outputs[i], trial), OfTrial(alone.outputs[i], 0)),
                kBound)
          << "output " << i;
    for (std::size_t i = 0; i < held.all.size(); ++i) {
      if (!program->stacked(i)) continue;
      const at::Tensor& all = together.gradients[i];
      ASSERT_EQ(all.defined(), alone.gradients[i].defined()) << graph.parameters[i].name;
      if (!all.defined()) continue;
      EXPECT_LE(Difference(all[trial], alone.gradients[i][0]), kBound)
          << "gradient of " << graph.parameters[i].name;
    }
    ASSERT_EQ(together.written.size(), alone.written.size());
    for (std::size_t i = 0; i < alone.written.size(); ++i)
      EXPECT_LE(Difference(together.written[i].second[trial], alone.written[i].second[0]), kBound)
          << graph.parameters[alone.written[i].first].name;
  }
}

// In bfloat16, operators of PyTorch may add up in another order for several trials than for one.
// Two roundings of one number are at most as far apart as both are from it. So a trial among others
// must be as near to the step in double precision as it is alone, up to a factor of 2 and the
// rounding of one result.
constexpr double kRounding = 1.0 / 256;

class ZooAutocastTest : public ZooRunTest {};

TEST_P(ZooAutocastTest, ThreeTrialsAtOnceAreAsExactAsAlone) {
  if (GetParam() == std::string_view("resnet50") && !Soaks())
    GTEST_SKIP() << "takes 20 s: make soak";
  const auto built = model::BuildFromZoo(GetParam());
  ASSERT_TRUE(built) << built.error().message;
  const auto exact = Program::Prepare(built->graph, {.real = at::kDouble});
  const auto program =
      Program::Prepare(built->graph, {.real = at::kFloat, .autocast = at::kBFloat16});
  ASSERT_TRUE(exact && program);
  const Held wide = HeldFor(*built, *exact, at::kDouble);
  const Results expected = StepOf(*exact, wide.all, wide.inputs, kKeys);
  ASSERT_EQ(expected.error, "");
  at::set_default_dtype(caffe2::TypeMeta::Make<float>());
  const Held held = HeldFor(*built, *program, at::kFloat);
  const Results together = StepOf(*program, held.all, held.inputs, kKeys);
  ASSERT_EQ(together.error, "");
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  int compared = 0;
  int same = 0;
  const auto compare = [&](const at::Tensor& found, const at::Tensor& alone,
                           const at::Tensor& truth, const std::string& what) {
    ASSERT_EQ(found.scalar_type(), alone.scalar_type()) << what;
    ++compared;
    if (at::equal(found, alone)) {
      ++same;
      return;
    }
    const double apart = Difference(found.to(at::kDouble), truth);
    EXPECT_LE(apart, 2 * Difference(alone.to(at::kDouble), truth) + kRounding) << what;
  };
  for (std::int64_t trial = 0; trial < kTogether; ++trial) {
    const Results alone =
        StepOf(*program, OfOneTrial(held, *program, trial), held.inputs, {kKeys[trial]});
    ASSERT_EQ(alone.error, "");
    for (std::size_t i = 0; i < alone.outputs.size(); ++i)
      compare(OfTrial(together.outputs[i], trial), OfTrial(alone.outputs[i], 0),
              OfTrial(expected.outputs[i], trial), fmt::format("output {}", i));
    for (std::size_t i = 0; i < held.all.size(); ++i) {
      if (!program->stacked(i) || !alone.gradients[i].defined()) continue;
      EXPECT_EQ(alone.gradients[i].scalar_type(), at::kFloat);
      compare(together.gradients[i][trial], alone.gradients[i][0], expected.gradients[i][trial],
              "gradient of " + built->graph.parameters[i].name);
    }
  }
  RecordProperty("same", same);
  RecordProperty("compared", compared);
}

std::string NameOfNetwork(const testing::TestParamInfo<const char*>& each) {
  std::string name = each.param;
  name.resize(name.find(',') == std::string::npos ? name.size() : name.find(','));
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooAutocastTest, testing::ValuesIn(kNetworks), NameOfNetwork);
INSTANTIATE_TEST_SUITE_P(Zoo, ZooRunTest, testing::ValuesIn(kNetworks), NameOfNetwork);

}  // namespace
}  // namespace sluice::train
