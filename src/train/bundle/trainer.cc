#include "train/bundle/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include "client/checkpoints.h"
#include "data/batches/batch_order.h"
#include "model/example_sizes.h"
#include "model/network.h"
#include "train/bundle/batch_source.h"
#include "train/failure.h"
#include "train/tensor_bound.h"

namespace sluice::train {

using client::Client;
using client::LaunchRef;
using client::MustLeave;

namespace {

// Where work is counted in steps, a trial reports about so often in all, and at its targets.
constexpr Work kReports = 100;

}  // namespace

Trainer::Trainer(const recipe::Recipe& recipe, const data::DataSet& data, client::Client& client,
                 Options options)
    : recipe_(recipe), data_(data), client_(client), options_(std::move(options)) {
  reports_every_ = recipe_.unit == "epoch" ? 1 : std::max<Work>(1, recipe_.length / kReports);
}

double Trainer::Now() const {
  return std::chrono::duration<double>(client::Clock::now().time_since_epoch()).count();
}

bool Trainer::AnyTrains() const {
  return std::ranges::any_of(groups_, [](const auto& each) { return each.second->AnyTrains(); });
}

Status Trainer::Run() {
  using std::chrono::milliseconds;
  for (;;) {
    // While trials train, a verdict is waited for a little: it usually comes within a millisecond,
    // and trials that go on together share their batches. While none trains, for as long as it
    // takes; the time only bounds a wait for nothing.
    const bool waits = std::ranges::any_of(
        running_, [](const auto& each) { return each.second.waits_for_verdict; });
    const milliseconds patience = !AnyTrains() ? milliseconds(1000) : milliseconds(waits ? 5 : 0);
    client::News news = client_.Wait(client::Clock::now() + patience);
    const bool finished = news.finished;
    HandleNews(std::move(news));
    if (finished) {
      while (!running_.empty())
        Leave({.at = running_.begin()->first, .why = MustLeave::Why::kAlone});
      return {};
    }
    for (auto group = groups_.begin(); group != groups_.end();) {
      if (group->second->size() == 0) {
        group = groups_.erase(group);
        continue;
      }
      if (group->second->AnyTrains()) TrainGroup(group->first, *group->second);
      ++group;
    }
  }
}

void Trainer::HandleNews(client::News news) {
  for (const MustLeave& each : news.must_leave) Leave(each);
  bool is_full = false;
  for (wire::Assign& each : news.joined) {
    const bool has_left =
        std::ranges::find(news.must_leave, each.at, &MustLeave::at) != news.must_leave.end();
    if (!has_left && !Begin(std::move(each))) is_full = true;
  }
  if (is_full) TakeNoMore();
  for (const client::NewTarget& each : news.targets) NoteTarget(each);
  if (!news.alone.empty()) options_.say(news.alone);
}

bool Trainer::Begin(wire::Assign assign) {
  const LaunchRef at = assign.at;
  auto running = Guarded("the trial", [&] { return Start(assign); });
  if (running) {
    launch_of_[{running->shape, running->member}] = at;
    running_.emplace(at, std::move(*running));
    return true;
  }
  if (IsScarce(running.error()) && !running_.empty()) {
    HandBack(at, running.error().message);
    return false;
  }
  Fail(at, running.error().message);
  return true;
}

Result<std::unique_ptr<Group>> Trainer::OpenGroup(const recipe::TrialRecipe& shape) {
  if (recipe_.recorded && !model::IsOfZoo(shape.network)) {
    data::FileRecord found{.path = shape.network};
    SLUICE_ASSIGN(found.hash, data::HashFile(shape.network));
    std::error_code error;
    found.bytes = std::filesystem::file_size(shape.network, error);
    SLUICE_TRY(recipe::CheckSameArchive(*recipe_.recorded, found));
  }
  SLUICE_ASSIGN(auto network, PreparedNetwork::Open(shape));
  const std::size_t inputs = network->graph().inputs.size();
  if (inputs != 1 && inputs != 2)
    return InvalidArgument(fmt::format(
        "{}: expected a network that takes a batch, or a batch and its targets, found {} inputs",
        shape.network, inputs));
  const std::vector<std::int64_t>& example = data_.train->input().shape;
  const model::Takes takes = model::HowItTakes(network->graph(), example);
  if (takes == model::Takes::kNot)
    return InvalidArgument(fmt::format(
        "data: expected examples of the sizes [{}], as the network {} takes them, found [{}]",
        model::SizesItTakes(network->graph()), shape.network, fmt::join(example, ", ")));
  const data::DType type = data_.train->input().dtype;
  SLUICE_TRY(
      model::CheckElements(network->graph(), shape.network,
                           {.type = data::Name(type), .whole = type == data::DType::kInt64}));
  if (const auto fixed = model::FixedBatch(network->graph())) {
    const auto& evaluated = data_.evaluated();
    SLUICE_TRY(model::CheckBatching(*fixed, shape.network,
                                    {.batch = shape.batch,
                                     .training_examples = data_.train->count(),
                                     .evaluation_examples = evaluated ? evaluated->count() : 0}));
  }
  auto batches = std::make_unique<BatchSource>(
      data_, BatchSource::Options{.batch = shape.batch,
                                  .seed = recipe_.seed,
                                  .real = network->real(),
                                  .augmentation = recipe_.data.augmentation,
                                  .flattened = takes == model::Takes::kFlattened,
                                  .targets_are_input = inputs == 2});
  return std::make_unique<Group>(std::move(network), std::move(batches),
                                 Group::Options{.unit_is_epoch = recipe_.unit == "epoch",
                                                .seconds = [this] { return Now(); },
                                                .workers = &workers_});
}

Result<Trainer::Running> Trainer::Start(const wire::Assign& assign) {
  Running running;
  running.assign = assign;
  SLUICE_ASSIGN(running.recipe, recipe::Resolve(recipe_, assign.params));
  running.target = assign.target;
  running.reported = assign.work;
  running.best = assign.best;
  running.shape = running.recipe.ShapeKey();
  if (!groups_.contains(running.shape)) {
    SLUICE_ASSIGN(auto opened, OpenGroup(running.recipe));
    for (const std::string& note : opened->network().notes()) options_.say(note);
    groups_.emplace(running.shape, std::move(opened));
  }
  const auto& group = groups_.at(running.shape);
  std::optional<TrialState> state;
  client::Checkpoints checkpoints(client_, assign);
  SLUICE_ASSIGN(const std::optional<std::string> latest, checkpoints.Latest());
  if (latest) {
    SLUICE_ASSIGN(LoadedTrial loaded,
                  LoadTrial(*latest, group->network().network(), group->network().real()));
    running.loss_sum = loaded.notes.loss_sum;
    running.losses = loaded.notes.losses;
    SLUICE_ASSIGN(state, StateFor(running.recipe, *group, std::move(loaded)));
    running.saved_work = state->step / group->steps_per_unit();
  }
  SLUICE_ASSIGN(running.member, group->Join(running.recipe, assign.seed, std::move(state)));
  running.saved_s = Now();
  return running;
}

Result<TrialState> Trainer::StateFor(const recipe::TrialRecipe& recipe, const Group& group,
                                     LoadedTrial loaded) const {
  if (loaded.notes.optimizer != recipe.optimizer.kind) {
    return FailedPrecondition(fmt::format(
        "expected a checkpoint of the optimizer {}, found one of {}: a fork goes on with the "
        "optimizer of its parent",
        recipe::Name(recipe.optimizer.kind), recipe::Name(loaded.notes.optimizer)));
  }
  const auto before = recipe::Resolve(recipe_, loaded.notes.recipe);
  if (!before || before->batch == recipe.batch || recipe_.unit != "epoch")
    return std::move(loaded.state);
  const data::BatchOrder order({.examples = data_.train->count(), .batch = before->batch});
  const std::int64_t then = order.steps_per_epoch();
  const std::int64_t now = group.steps_per_unit();
  std::int64_t& step = loaded.state.step;
  step = step / then * now + step % then * now / then;
  return std::move(loaded.state);
}

void Trainer::NoteTarget(const client::NewTarget& target) {
  const auto found = running_.find(target.at);
  if (found == running_.end()) return;
  Running& running = found->second;
  running.target = target.target;
  running.waits_for_verdict = client_.AwaitsVerdict(target.at);
  GroupOf(running).SetWaiting(running.member, running.waits_for_verdict);
}

void Trainer::Drop(LaunchRef at) {
  const auto found = running_.find(at);
  if (found == running_.end()) return;
  GroupOf(found->second).Leave(found->second.member);
  launch_of_.erase({found->second.shape, found->second.member});
  running_.erase(found);
}

void Trainer::End(LaunchRef at, Client::As as) {
  Drop(at);
  if (const Status left = client_.Leave(at, as); !left) options_.say(left.error().message);
}

void Trainer::Fail(LaunchRef at, const std::string& reason) {
  Drop(at);
  if (const Status told = client_.LeaveAsFailed(at, reason); !told)
    options_.say(told.error().message);
}

void Trainer::Refused(LaunchRef at, const Error& why) {
  if (why.code == ErrorCode::kFailedPrecondition) return ReportDiverged(at);
  if (!IsScarce(why) || running_.size() == 1) return Fail(at, why.message);
  // There is not enough memory for it beside the others. Trials that are due for a report have none
  // of that work saved: they would go on without the report.
  const Running& running = running_.at(at);
  if (!IsDue(running, GroupOf(running).StepOf(running.member))) Save(running_.at(at));
  HandBack(at, why.message);
  TakeNoMore();
}

void Trainer::Leave(const MustLeave& must_leave) {
  const auto found = running_.find(must_leave.at);
  const bool is_for_good =
      must_leave.why == MustLeave::Why::kRefused ||
      (must_leave.why == MustLeave::Why::kStop && must_leave.reason == "stopped");
  if (found != running_.end() && !is_for_good) Save(found->second);
  End(must_leave.at,
      must_leave.why == MustLeave::Why::kStop ? Client::As::kDone : Client::As::kPaused);
}

bool Trainer::Save(Running& running) {
  Group& group = GroupOf(running);
  const Work work = group.StepOf(running.member) / group.steps_per_unit();
  const bool is_past = group.StepOf(running.member) % group.steps_per_unit() != 0;
  if (work == running.saved_work && !is_past) return true;
  const double before_s = Now();
  client::Checkpoints checkpoints(client_, running.assign);
  const auto write = [&](const std::string& folder) {
    return Guarded("its state", [&] {
      return SaveTrial(folder, group.network().network(), group.ViewOf(running.member),
                       {.optimizer = running.recipe.optimizer.kind,
                        .precision = running.recipe.precision,
                        .recipe = running.assign.params,
                        .loss_sum = running.loss_sum,
                        .losses = running.losses});
    });
  };
  const auto saved = checkpoints.Save(work, write, is_past);
  if (!saved) {
    options_.say(fmt::format("trial {}: the checkpoint could not be saved: {}",
                             Number(running.assign.at.trial), saved.error().message));
    return false;
  }
  running.saved_s = Now();
  running.saved_work = work;
  save_budget_.Saved(running.saved_s - before_s);
  return true;
}

bool Trainer::IsDue(const Running& running, std::int64_t steps) const {
  const std::int64_t unit = groups_.at(running.shape)->steps_per_unit();
  if (steps % unit != 0) return false;
  const Work work = steps / unit;
  return work > running.reported &&
         (work % reports_every_ == 0 || (running.target && work >= *running.target));
}

void Trainer::TrainGroup(const std::string& shape, Group& group) {
  const double before_s = Now();
  const std::size_t most_before = group.most_width();
  const bool beside_before = group.allows_side_by_side();
  const std::vector<Group::Trained> trained = group.Step();
  if (group.most_width() < most_before) {
    options_.say(
        fmt::format("the memory does not suffice for {} trials in one program: at most {} "
                    "from now on",
                    group.arrangement().width, group.most_width()));
  }
  if (beside_before && !group.allows_side_by_side())
    options_.say(
        "the memory does not suffice for trials side by side: one after another from now on");
  const double trained_s = Now() - before_s;
  save_budget_.Trained(trained_s);
  std::vector<LaunchRef> due;
  bool handed_back = false;  // what memory it held may suffice for the others
  for (const Group::Trained& each : trained) {
    const LaunchRef at = launch_of_.at({shape, each.member});
    if (each.refused) {
      if (!IsScarce(*each.refused) || !std::exchange(handed_back, true)) Refused(at, *each.refused);
      continue;
    }
    Running& running = running_.at(at);
    running.loss_sum += each.loss;
    ++running.losses;
    if (IsDue(running, each.steps) || !std::isfinite(each.loss)) {
      due.push_back(at);
    } else {
      EndWindow(running, each.steps);
    }
  }
  const double evaluated_s = Now();
  if (!due.empty()) ReportDue(group, due);
  // While arrangements are measured, some of them are slow.
  if (group.IsMeasuring()) return;
  speeds_[shape].Trained(trained.size(), trained_s + Now() - evaluated_s);
  for (const LaunchRef at : due) {
    if (!running_.contains(at)) continue;
    TellSpeed(group, at);
    break;
  }
}

}  // namespace sluice::train
