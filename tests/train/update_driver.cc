// update-driver FEED RESULTS: learning rates and updates of several trials, as
// tests/train/test_updates.py asks. FEED is lines, then float64 numbers:
//
//   optimizer sgd|adam|adamw NESTEROV loops|operators
//   steps COUNT STEPS_PER_UNIT
//   trial JOINS LEAVES lr momentum dampening beta1 beta2 eps weight_decay CLIP KIND gamma every
//         over last rise div warmup AT...    steps from JOINS on, below LEAVES; CLIP below 0: none
//   tensor SIZE lr decay eps                 elements of a trial, and the factors
//   end
//
// The numbers are the weights of each tensor [trials, SIZE], then at each step its gradients. A
// trial has its own row in all of them, but each step's bundle has only the trials that are there.
// RESULTS has the weights at the end, and then the learning rate of each trial's step [steps,
// trials].

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "train/update/optimizer.h"
#include "train/update/schedule.h"

namespace {

using namespace sluice;
using namespace sluice::train;

struct Member {
  std::int64_t joins = 0, leaves = 0;
  TrialUpdate update;
  recipe::Schedule schedule;
};

struct Run {
  recipe::OptimizerKind kind{};
  bool nesterov = false;
  bool operators = false;
  std::int64_t steps = 0;
  double steps_per_unit = 1;
  std::vector<Member> members;
  std::vector<TrainedTensor> tensors;  // of all members
};

const std::map<std::string, recipe::OptimizerKind> kOptimizers = {
    {"sgd", recipe::OptimizerKind::kSgd},
    {"adam", recipe::OptimizerKind::kAdam},
    {"adamw", recipe::OptimizerKind::kAdamW}};
const std::map<std::string, recipe::Schedule::Kind> kSchedules = {
    {"constant", recipe::Schedule::Kind::kConstant},
    {"step", recipe::Schedule::Kind::kStep},
    {"multi_step", recipe::Schedule::Kind::kMultiStep},
    {"exponential", recipe::Schedule::Kind::kExponential},
    {"cosine", recipe::Schedule::Kind::kCosine},
    {"one_cycle", recipe::Schedule::Kind::kOneCycle}};

Member ReadMember(std::istream& words) {
  Member member;
  recipe::OptimizerSettings& its = member.update.settings;
  recipe::Schedule& schedule = member.schedule;
  double clip = 0;
  std::string kind;
  words >> member.joins >> member.leaves >> its.lr >> its.momentum >> its.dampening >> its.beta1 >>
      its.beta2 >> its.eps >> its.weight_decay >> clip >> kind >> schedule.gamma >>
      schedule.every >> schedule.over >> schedule.last >> schedule.rise >> schedule.div >>
      schedule.warmup;
  schedule.at.assign(std::istream_iterator<double>(words), {});
  schedule.kind = kSchedules.at(kind);
  if (clip >= 0) its.clip_norm = clip;
  return member;
}

at::Tensor ReadNumbers(std::istream& file, std::int64_t trials, std::int64_t size) {
  at::Tensor numbers = at::empty({trials, size}, at::kDouble);
  file.read(static_cast<char*>(numbers.data_ptr()), static_cast<std::streamsize>(numbers.nbytes()));
  return numbers;
}

Run ReadRun(std::istream& file) {
  Run run;
  std::vector<std::int64_t> sizes;
  std::string line;
  while (std::getline(file, line) && line != "end") {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "optimizer") {
      std::string kind, how;
      words >> kind >> run.nesterov >> how;
      run.kind = kOptimizers.at(kind);
      run.operators = how == "operators";
    } else if (what == "steps") {
      words >> run.steps >> run.steps_per_unit;
    } else if (what == "trial") {
      run.members.push_back(ReadMember(words));
    } else {
      TrainedTensor tensor;
      words >> sizes.emplace_back() >> tensor.factors.lr >> tensor.factors.decay >>
          tensor.factors.eps;
      run.tensors.push_back(tensor);
    }
  }
  const auto trials = static_cast<std::int64_t>(run.members.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    run.tensors[i].weight = ReadNumbers(file, trials, sizes[i]);
    run.tensors[i].moment1 = at::zeros_like(run.tensors[i].weight);
    run.tensors[i].moment2 = at::zeros_like(run.tensors[i].weight);
  }
  return run;
}

// One step of those that are there, in a bundle of their own.
void StepBundle(Run& run, std::span<const std::int64_t> places,
                const std::vector<at::Tensor>& gradients) {
  const auto which = at::tensor(at::ArrayRef<std::int64_t>(places.data(), places.size()));
  std::vector<TrialUpdate> trials;
  for (const std::int64_t place : places)
    trials.push_back(run.members[static_cast<std::size_t>(place)].update);
  std::vector<TrainedTensor> bundle;
  for (std::size_t i = 0; i < run.tensors.size(); ++i) {
    const TrainedTensor& all = run.tensors[i];
    bundle.push_back({.weight = all.weight.index_select(0, which),
                      .gradient = gradients[i].index_select(0, which),
                      .moment1 = all.moment1.index_select(0, which),
                      .moment2 = all.moment2.index_select(0, which),
                      .factors = all.factors});
  }
  (run.operators ? UpdateByOperators : Update)(run.kind, run.nesterov, trials, bundle);
  for (std::size_t i = 0; i < run.tensors.size(); ++i) {
    run.tensors[i].weight.index_copy_(0, which, bundle[i].weight);
    run.tensors[i].moment1.index_copy_(0, which, bundle[i].moment1);
    run.tensors[i].moment2.index_copy_(0, which, bundle[i].moment2);
  }
}

void WriteNumbers(std::ostream& file, const at::Tensor& numbers) {
  file.write(static_cast<const char*>(numbers.data_ptr()),
             static_cast<std::streamsize>(numbers.nbytes()));
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: update-driver FEED RESULTS\n";
    return 2;
  }
  std::ifstream file(words[1], std::ios::binary);
  Run run = ReadRun(file);
  const auto trials = static_cast<std::int64_t>(run.members.size());
  const at::Tensor rates = at::zeros({run.steps, trials}, at::kDouble);
  for (std::int64_t step = 0; step < run.steps; ++step) {
    std::vector<at::Tensor> gradients;
    for (const TrainedTensor& each : run.tensors)
      gradients.push_back(ReadNumbers(file, trials, each.weight.size(1)));
    std::vector<std::int64_t> places;
    for (std::int64_t place = 0; place < trials; ++place) {
      Member& member = run.members[static_cast<std::size_t>(place)];
      if (step < member.joins || step >= member.leaves) continue;
      TrialUpdate& update = member.update;
      update.step = step - member.joins;
      update.lr = RateAt(update.settings, member.schedule, update.step, run.steps_per_unit);
      rates[step][place] = update.lr;
      places.push_back(place);
    }
    if (!places.empty()) StepBundle(run, places, gradients);
  }
  if (!file) {
    std::cerr << "the feed is too short\n";
    return 1;
  }
  std::ofstream results(words[2], std::ios::binary);
  for (const TrainedTensor& each : run.tensors) WriteNumbers(results, each.weight);
  WriteNumbers(results, rates);
  return results ? 0 : 1;
}
