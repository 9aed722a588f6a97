// trainer-driver TRIALS STEPS FOLDER: trains a bundle of trials, as tests/train/test_trainer.py
// asks.
//
// TRIALS is a file with two lines for each trial: its seed, and its recipe in JSON (src/recipe).
// All trials are of one shape and one study. If the first recipe names no data, the inputs are
// drawn, and the loss is the mean square of each output, summed. The folder gets
//
//   I/first, I/last   checkpoints of trial I: before the first step, and after the last one
//   batches           a file of tensors: the batches as the network was given them, input.K and
//                     target [steps, ...]; losses [steps, trials]; and evaluated [trials], the
//                     loss at the end on the examples for evaluation, if there are any

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/sets/data_set.h"
#include "data/tensors/tensor_file.h"
#include "recipe/recipe.h"
#include "train/bundle/batch_source.h"
#include "train/bundle/group.h"
#include "train/check/drawn_batches.h"
#include "train/state/tensor_types.h"
#include "train/state/trial_state.h"

namespace {

using namespace sluice;
using namespace sluice::train;

struct DrivenTrial {
  std::uint64_t seed = 0;
  recipe::Recipe study;
  recipe::TrialRecipe recipe;
  MemberId member{};
};

// Keeps what it hands on.
class RecordedBatches : public Batches {
 public:
  using Record = std::map<std::string, std::vector<at::Tensor>>;
  RecordedBatches(std::unique_ptr<Batches> batches, Record& record)
      : batches_(std::move(batches)), record_(record) {}

  std::int64_t batch() const override { return batches_->batch(); }
  std::int64_t steps_per_epoch() const override { return batches_->steps_per_epoch(); }
  Result<Batch> ForTraining(std::span<const std::int64_t> steps) override {
    SLUICE_ASSIGN(Batch batch, batches_->ForTraining(steps));
    for (std::size_t i = 0; i < batch.inputs.size(); ++i)
      record_[fmt::format("input.{}", i)].push_back(batch.inputs[i].tensor.clone());
    if (batch.target.tensor.defined()) record_["target"].push_back(batch.target.tensor.clone());
    return batch;
  }
  std::int64_t evaluation_examples() const override { return batches_->evaluation_examples(); }
  Result<Batch> ForEvaluation(std::int64_t first, std::int64_t count) const override {
    return batches_->ForEvaluation(first, count);
  }

 private:
  std::unique_ptr<Batches> batches_;
  Record& record_;
};

Status WriteTensors(const std::string& path, const std::map<std::string, at::Tensor>& tensors) {
  std::vector<data::TensorFileWriter::Declared> declared;
  for (const auto& [name, tensor] : tensors)
    declared.push_back(
        {name, {.dtype = *StoredTypeOf(tensor.scalar_type()), .shape = tensor.sizes().vec()}});
  SLUICE_ASSIGN(auto writer, data::TensorFileWriter::Create(path, std::move(declared), {}));
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor whole = tensor.contiguous();
    SLUICE_TRY(writer.Write(name, {static_cast<char*>(whole.data_ptr()), whole.nbytes()}));
  }
  return writer.Commit();
}

Result<std::vector<DrivenTrial>> ReadTrials(const std::string& path) {
  std::vector<DrivenTrial> trials;
  std::ifstream file(path);
  std::string seed, json;
  while (std::getline(file, seed) && std::getline(file, json)) {
    DrivenTrial& trial = trials.emplace_back();
    trial.seed = std::stoull(seed);
    SLUICE_ASSIGN(trial.study, recipe::RecipeFromJson(json));
    SLUICE_ASSIGN(trial.recipe, recipe::Resolve(trial.study, "{}"));
  }
  if (trials.empty()) return InvalidArgument(path + ": expected a trial");
  return trials;
}

// The network of the trials, and where their batches come from.
struct Subject {
  std::shared_ptr<const PreparedNetwork> network;
  std::unique_ptr<Batches> batches;
};

Result<Subject> OpenSubject(const DrivenTrial& trial) {
  const recipe::Recipe& study = trial.study;
  const recipe::TrialRecipe& shape = trial.recipe;
  Subject subject;
  SLUICE_ASSIGN(TrainedNetwork opened, OpenTrainedNetwork(shape));
  const std::size_t inputs = opened.graph.inputs.size();
  if (study.data.path.empty() && study.data.train.inputs.empty()) {
    ReturnSquares(opened.graph);
    SLUICE_ASSIGN(subject.network, PreparedNetwork::Prepare(std::move(opened), shape));
    subject.batches =
        std::make_unique<DrawnBatches>(subject.network->graph(), subject.network->real());
    return subject;
  }
  SLUICE_ASSIGN(subject.network, PreparedNetwork::Prepare(std::move(opened), shape));
  SLUICE_ASSIGN(const data::DataSet data, data::OpenDataSet(study.data));
  const BatchSource::Options options{.batch = shape.batch,
                                     .seed = study.seed,
                                     .real = subject.network->real(),
                                     .augmentation = study.data.augmentation,
                                     .targets_are_input = inputs == 2};
  subject.batches = std::make_unique<BatchSource>(data, options);
  return subject;
}

Status Save(const std::string& folder, const Group& group, const DrivenTrial& trial) {
  std::filesystem::create_directories(folder);
  return SaveTrial(folder, group.network().network(), group.StateOf(trial.member),
                   {.optimizer = trial.recipe.optimizer.kind,
                    .precision = trial.recipe.precision,
                    .recipe = "{}"});
}

Status Drive(std::vector<DrivenTrial> trials, std::int64_t steps, const std::string& folder) {
  SLUICE_ASSIGN(Subject subject, OpenSubject(trials.front()));
  RecordedBatches::Record record;
  Group group(subject.network,
              std::make_unique<RecordedBatches>(std::move(subject.batches), record),
              {.unit_is_epoch = trials.front().study.unit == "epoch"});
  for (std::size_t i = 0; i < trials.size(); ++i) {
    SLUICE_ASSIGN(trials[i].member, group.Join(trials[i].recipe, trials[i].seed, std::nullopt));
    SLUICE_TRY(Save(fmt::format("{}/{}/first", folder, i), group, trials[i]));
  }
  const at::Tensor losses =
      at::zeros({steps, static_cast<std::int64_t>(trials.size())}, at::kDouble);
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto trained = group.Step();
    for (std::size_t i = 0; i < trained.size(); ++i)
      losses[step][static_cast<std::int64_t>(i)] = trained[i].loss;
  }
  std::map<std::string, at::Tensor> tensors = {{"losses", losses}};
  for (const auto& [name, each] : record) tensors[name] = at::stack(each);
  std::vector<MemberId> members;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    SLUICE_TRY(Save(fmt::format("{}/{}/last", folder, i), group, trials[i]));
    members.push_back(trials[i].member);
  }
  if (group.has_evaluation()) {
    SLUICE_ASSIGN(const std::vector<Measured> measured, group.Evaluate(members));
    std::vector<double> found;
    for (const Measured& each : measured) found.push_back(each.values.at("loss"));
    tensors["evaluated"] = at::tensor(found, at::kDouble);
  }
  return WriteTensors(folder + "/batches", tensors);
}

Status Run(char** words) {
  SLUICE_ASSIGN(std::vector<DrivenTrial> trials, ReadTrials(words[1]));
  return Drive(std::move(trials), std::stoll(words[2]), words[3]);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: trainer-driver TRIALS STEPS FOLDER\n";
    return 2;
  }
  at::set_num_threads(1);
  const Status status = Run(words);
  if (!status) std::cerr << status.error().message << "\n";
  return status ? 0 : 1;
}
