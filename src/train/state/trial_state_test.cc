#include "train/state/trial_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "data/tensors/tensor_file.h"
#include "train/state/test_archive.h"
#include "train/test_graph.h"

namespace sluice::train {
namespace {

using testing::HasSubstr;

const char* const kFiles[] = {"trial.json", "model.safetensors", "optimizer.safetensors"};

TrainedNetwork NetworkFor(const std::string& name, double scale = 1) {
  recipe::TrialRecipe recipe;
  recipe.network = name;
  recipe.scale = scale;
  auto opened = OpenTrainedNetwork(recipe);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : TrainedNetwork();
}

// A state with numbers of its own in every tensor. Of the buffers, those with whole numbers or of
// batch norm are written.
TrialState StateOf(const TrainedNetwork& network, at::ScalarType real, bool second = true) {
  TrialState state;
  state.step = 41;
  state.parameters = *InitialTensors(network, 5, real);
  const std::size_t count = state.parameters.size();
  state.moment1.resize(count);
  state.moment2.resize(count);
  for (std::size_t p = 0; p < count; ++p) {
    const model::Parameter& parameter = network.graph.parameters[p];
    at::Tensor& tensor = state.parameters[p];
    if (!tensor.defined()) continue;
    if (!parameter.trainable && !parameter.name.contains("running") &&
        !parameter.name.contains("num_batches")) {
      tensor = at::Tensor();
      continue;
    }
    if (!parameter.trainable) {
      tensor = tensor + 3;
      continue;
    }
    tensor = Numbers(parameter.sizes, p).to(real);
    state.moment1[p] = Numbers(parameter.sizes, 1000 + p).to(real);
    if (second) state.moment2[p] = Numbers(parameter.sizes, 2000 + p).to(real).abs();
  }
  return state;
}

void ExpectSame(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].defined(), b[i].defined()) << i;
    if (!a[i].defined()) continue;
    EXPECT_EQ(a[i].scalar_type(), b[i].scalar_type()) << i;
    EXPECT_TRUE(at::equal(a[i], b[i])) << i;
  }
}

void ExpectSame(const TrialState& a, const TrialState& b) {
  EXPECT_EQ(a.step, b.step);
  ExpectSame(a.parameters, b.parameters);
  ExpectSame(a.moment1, b.moment1);
  ExpectSame(a.moment2, b.moment2);
}

class TrialStateTest : public testing::Test {
 protected:
  void Save(const TrainedNetwork& network, const TrialState& state, CheckpointNotes notes = {}) {
    const Status saved = SaveTrial(folder_, network, state, notes);
    ASSERT_TRUE(saved) << saved.error().message;
  }
  LoadedTrial Load(const TrainedNetwork& network, at::ScalarType real = at::kFloat) {
    auto loaded = LoadTrial(folder_, network, real);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded ? *std::move(loaded) : LoadedTrial();
  }
  std::string WhyNot(const TrainedNetwork& network, ErrorCode code) {
    const auto loaded = LoadTrial(folder_, network, at::kFloat);
    if (loaded) return "";
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
    EXPECT_THAT(loaded.error().message, testing::StartsWith(folder_));
    return loaded.error().message;
  }
  std::string PathOf(const std::string& file) const { return folder_ + "/" + file; }
  std::string BytesIn(const std::string& file) const {
    std::ifstream in(PathOf(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(const std::string& file, const std::string& bytes) {
    std::ofstream(PathOf(file), std::ios::binary) << bytes;
  }
  // Replaces a text in trial.json.
  void Replace(const std::string& from, const std::string& to) {
    std::string text = BytesIn("trial.json");
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    Write("trial.json", text.replace(at, from.size(), to));
  }

  const std::string folder_ = EmptyFolder();
};

TEST_F(TrialStateTest, WhatIsSavedIsLoaded) {
  for (const char* name : {"zoo:resnet18", "zoo:gpt,vocab=30,tokens=6,width=16,layers=2,heads=2"}) {
    const TrainedNetwork network = NetworkFor(name, 2);
    const TrialState state = StateOf(network, at::kFloat);
    Save(network, state,
         {.optimizer = recipe::OptimizerKind::kAdamW,
          .precision = recipe::Precision::kBfloat16,
          .recipe = R"({"lr":0.1})"});
    const LoadedTrial loaded = Load(network);
    ExpectSame(loaded.state, state);
    EXPECT_EQ(loaded.notes.optimizer, recipe::OptimizerKind::kAdamW);
    EXPECT_EQ(loaded.notes.precision, recipe::Precision::kBfloat16);
    EXPECT_EQ(loaded.notes.recipe, R"({"lr":0.1})");
  }
}

TEST_F(TrialStateTest, ASliceOfABundleIsSavedAsTheTrialAlone) {
  const TrainedNetwork network = NetworkFor("zoo:lenet");
  const TrialState alone = StateOf(network, at::kFloat, /*second=*/false);
  TrialState slice = alone;
  for (auto* tensors : {&slice.parameters, &slice.moment1}) {
    for (at::Tensor& each : *tensors)
      if (each.defined()) each = at::stack({each + 1, each, each - 1}).requires_grad_()[1];
  }
  Save(network, alone);
  std::vector<std::string> before;
  for (const char* file : kFiles) before.push_back(BytesIn(file));
  Save(network, slice);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(BytesIn(kFiles[i]), before[i]);
}

TEST_F(TrialStateTest, ATrialGoesOnAtAnotherPrecision) {
  const TrainedNetwork network = NetworkFor("zoo:resnet18", 8);
  const TrialState wide = StateOf(network, at::kDouble);
  Save(network, wide, {.precision = recipe::Precision::kFloat64});
  ExpectSame(Load(network, at::kDouble).state, wide);
  const TrialState narrow = Load(network, at::kFloat).state;
  for (std::size_t p = 0; p < wide.parameters.size(); ++p) {
    if (!wide.parameters[p].defined()) continue;
    const at::ScalarType before = wide.parameters[p].scalar_type();
    const at::ScalarType expected = before == at::kDouble ? at::kFloat : before;
    EXPECT_TRUE(at::equal(narrow.parameters[p], wide.parameters[p].to(expected)));
  }
}

TEST_F(TrialStateTest, TheModelFileHasTheWholeStateDictOnce) {
  const TrainedNetwork network =
      NetworkFor("zoo:gpt,vocab=30,tokens=6,width=16,layers=2,heads=2", 2);
  Save(network, StateOf(network, at::kFloat));
  const auto file = data::TensorFile::Open(PathOf("model.safetensors"));
  ASSERT_TRUE(file) << file.error().message;
  std::size_t expected = 0;
  for (const model::Parameter& parameter : network.graph.parameters) {
    const bool is_there = !parameter.tied_to && parameter.persistent &&
                          parameter.role != model::Parameter::Role::kConstant;
    EXPECT_EQ(file->Find(parameter.name) != nullptr, is_there) << parameter.name;
    expected += is_there ? 1 : 0;
  }
  EXPECT_EQ(file->tensors().size(), expected);
  EXPECT_THAT(BytesIn("trial.json"),
              HasSubstr(R"("tied":{"lm_head.weight":"transformer.wte.weight"})"));
  EXPECT_THAT(BytesIn("trial.json"), HasSubstr("is also used elsewhere"));
}

TEST_F(TrialStateTest, ACheckpointOfAnotherNetworkIsRefused) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32", 2);
  Save(network, StateOf(network, at::kFloat));
  EXPECT_THAT(WhyNot(NetworkFor("zoo:mlp,in=12,hidden=32", 4), ErrorCode::kInvalidArgument),
              HasSubstr("expected a checkpoint of zoo:mlp,in=12,hidden=32 at scale 4, found one of "
                        "zoo:mlp,in=12,hidden=32 at scale 2"));
  EXPECT_THAT(WhyNot(NetworkFor("zoo:lenet"), ErrorCode::kInvalidArgument),
              HasSubstr("expected a checkpoint of zoo:lenet at scale 1"));
  TrainedNetwork edited = network;
  edited.fingerprint = "0";
  EXPECT_THAT(WhyNot(edited, ErrorCode::kInvalidArgument),
              HasSubstr("whose parameters or operators were others"));
}

TEST_F(TrialStateTest, MissingAndDamagedFilesAreNamed) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32");
  EXPECT_THAT(WhyNot(network, ErrorCode::kNotFound), HasSubstr("trial.json"));
  const TrialState state = StateOf(network, at::kFloat);
  for (const std::string file : kFiles) {
    Save(network, state);
    std::filesystem::remove(PathOf(file));
    EXPECT_THAT(WhyNot(network, ErrorCode::kNotFound), HasSubstr(file));
    Save(network, state);
    const std::string bytes = BytesIn(file);
    Write(file, bytes.substr(0, bytes.size() - 3));
    EXPECT_THAT(WhyNot(network, ErrorCode::kCorruption), HasSubstr(file));
    Write(file, "");
    EXPECT_THAT(LoadTrial(folder_, network, at::kFloat).error().message, HasSubstr(file));
  }
}

TEST_F(TrialStateTest, AChangedByteIsNoticed) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32");
  const TrialState state = StateOf(network, at::kFloat);
  for (const std::string file : {"model.safetensors", "optimizer.safetensors"}) {
    Save(network, state);
    std::string bytes = BytesIn(file);
    bytes[bytes.size() - 9] ^= 4;
    Write(file, bytes);
    EXPECT_THAT(WhyNot(network, ErrorCode::kCorruption),
                HasSubstr(file + ": its tensors are not those that were written with trial.json"));
  }
}

TEST_F(TrialStateTest, FilesOfTwoCheckpointsAreNotMixed) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32");
  TrialState state = StateOf(network, at::kFloat);
  Save(network, state);
  const std::string first = BytesIn("optimizer.safetensors");
  state.moment1[0] = state.moment1[0] + 1;
  Save(network, state);
  Write("optimizer.safetensors", first);
  EXPECT_THAT(WhyNot(network, ErrorCode::kCorruption), HasSubstr("optimizer.safetensors"));
}

TEST_F(TrialStateTest, TensorsOfOtherSizesAndTypesAreRefused) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32");
  const auto rewrite = [&](const data::TensorType& type) {
    Save(network, StateOf(network, at::kFloat));
    auto writer = data::TensorFileWriter::Create(PathOf("model.safetensors"),
                                                 {{"layers.0.weight", type}}, {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Write("layers.0.weight", std::string(*data::BytesOf(type), '\0')));
    ASSERT_TRUE(writer->Commit());
  };
  rewrite({.dtype = data::DType::kFloat32, .shape = {12, 32}});
  EXPECT_THAT(WhyNot(network, ErrorCode::kCorruption),
              HasSubstr("'layers.0.weight': expected float32 [32, 12], found float32 [12, 32]"));
  rewrite({.dtype = data::DType::kInt32, .shape = {32, 12}});
  EXPECT_THAT(WhyNot(network, ErrorCode::kCorruption), HasSubstr("found int32 [32, 12]"));
  rewrite({.dtype = data::DType::kFloat32, .shape = {32, 12}});
  EXPECT_THAT(WhyNot(network, ErrorCode::kCorruption),
              HasSubstr("expected a tensor 'layers.0.bias'"));
}

TEST_F(TrialStateTest, AWrongTrialJsonIsRefused) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32");
  const TrialState state = StateOf(network, at::kFloat);
  const auto change = [&](const std::string& from, const std::string& to, ErrorCode code) {
    Save(network, state);
    Replace(from, to);
    return WhyNot(network, code);
  };
  EXPECT_THAT(change("\"version\":1", "\"version\":2", ErrorCode::kFailedPrecondition),
              HasSubstr("expected version 1 of the checkpoint, found 2: a later Sluice wrote it"));
  EXPECT_THAT(change("sluice trial", "other", ErrorCode::kCorruption), HasSubstr("the format"));
  EXPECT_THAT(change("\"step\":41", "\"step\":-1", ErrorCode::kCorruption), HasSubstr("step"));
  // A number of steps that no training has: sums with it would overflow.
  EXPECT_THAT(change("\"step\":41", "\"step\":9223372036854775807", ErrorCode::kCorruption),
              HasSubstr("step"));
  EXPECT_THAT(change("\"sgd\"", "\"sdg\"", ErrorCode::kCorruption), HasSubstr("optimizer"));
  EXPECT_THAT(change("\"own\":[", "\"own\":[3,", ErrorCode::kCorruption), HasSubstr("own"));
  EXPECT_THAT(change("\"own\":[\"layers.0.weight\",", "\"own\":[", ErrorCode::kCorruption),
              HasSubstr("expected the trained parameter 'layers.0.weight' among `own`"));
  EXPECT_THAT(change("{", "[", ErrorCode::kCorruption), HasSubstr("expected a JSON object"));
}

TEST_F(TrialStateTest, AFolderThatCannotBeWrittenIsNamed) {
  const TrainedNetwork network = NetworkFor("zoo:mlp,in=12,hidden=32");
  const Status saved = SaveTrial(folder_ + "/missing", network, StateOf(network, at::kFloat), {});
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, HasSubstr("missing/model.safetensors"));
}

}  // namespace
}  // namespace sluice::train
