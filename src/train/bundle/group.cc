#include "train/bundle/group.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "train/bundle/step_batches.h"
#include "train/default_type.h"

namespace sluice::train {

Group::Group(std::shared_ptr<const PreparedNetwork> network, std::unique_ptr<Batches> batches,
             Options options)
    : network_(std::move(network)),
      options_(std::move(options)),
      batches_(std::move(batches)),
      choice_(options_.workers ? options_.workers->cores() : 1) {
  steps_per_unit_ = options_.unit_is_epoch ? batches_->steps_per_epoch() : 1;
}

Result<MemberId> Group::Join(const recipe::TrialRecipe& recipe, std::uint64_t seed,
                             std::optional<TrialState> state) {
  if (!state) {
    SLUICE_ASSIGN(state, network_->InitialState(seed));
  } else {
    SLUICE_TRY(network_->Complete(*state));
  }
  const auto id = MemberId{next_member_++};
  members_[id] = {.member = {.recipe = recipe,
                             .seed = seed,
                             .steps_per_unit = static_cast<double>(steps_per_unit_)},
                  .waiting = false,
                  .parked = std::move(state)};
  return id;
}

std::optional<Group::Place> Group::PlaceOf(MemberId member) const {
  for (std::size_t stack = 0; stack < in_stacks_.size(); ++stack) {
    const auto found = std::ranges::find(in_stacks_[stack], member);
    if (found != in_stacks_[stack].end())
      return Place{stack, static_cast<std::size_t>(found - in_stacks_[stack].begin())};
  }
  return std::nullopt;
}

void Group::Leave(MemberId member) {
  if (const auto place = PlaceOf(member)) TakeApart(place->stack);
  members_.erase(member);
}

void Group::SetWaiting(MemberId member, bool waiting) { members_.at(member).waiting = waiting; }

bool Group::AnyTrains() const {
  return std::ranges::any_of(members_, [](const auto& each) { return !each.second.waiting; });
}

std::size_t Group::TrialsThatTrain() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members_, [](const auto& each) { return !each.second.waiting; }));
}

bool Group::IsMeasuring() const {
  return options_.seconds && choice_.IsMeasuring(TrialsThatTrain());
}

TrialState Group::StateOf(MemberId member) const {
  if (const auto place = PlaceOf(member)) return stacks_[place->stack].StateOf(place->at);
  return *members_.at(member).parked;
}

TrialState Group::ViewOf(MemberId member) const {
  if (const auto place = PlaceOf(member)) return stacks_[place->stack].ViewOf(place->at);
  return *members_.at(member).parked;
}

std::int64_t Group::StepOf(MemberId member) const {
  if (const auto place = PlaceOf(member)) return stacks_[place->stack].step(place->at);
  return members_.at(member).parked->step;
}

Status Group::Arrange(std::size_t width) {
  // All states out of the stacks, then those that train into new ones. A stack that stays as it is
  // keeps its tensors.
  std::vector<std::vector<MemberId>> wanted;
  for (const auto& [id, joined] : members_) {
    if (joined.waiting) continue;
    if (wanted.empty() || wanted.back().size() == width) wanted.emplace_back();
    wanted.back().push_back(id);
  }
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    if (i < wanted.size() && wanted[i] == in_stacks_[i]) continue;
    TakeApart(i);
  }
  stacks_.resize(wanted.size(), Stack(network_));
  in_stacks_.resize(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == in_stacks_[i]) continue;
    std::vector<Member> members;
    std::vector<TrialState> states;
    for (const MemberId id : wanted[i]) {
      Joined& joined = members_.at(id);
      members.push_back(joined.member);
      states.push_back(std::move(*joined.parked));
      joined.parked.reset();
    }
    if (Status filled = stacks_[i].Fill(members, states); !filled) {
      Park(wanted[i], std::move(states));
      return filled;
    }
    in_stacks_[i] = wanted[i];
  }
  return {};
}

void Group::Park(const std::vector<MemberId>& members, std::vector<TrialState> states) {
  for (std::size_t i = 0; i < members.size(); ++i)
    members_.at(members[i]).parked = std::move(states[i]);
}

Arrangement Group::ArrangementFor(std::size_t trials) const {
  if (options_.seconds) return choice_.For(trials);
  return {.width = std::min(trials, choice_.most_width()),
          .workers = choice_.allows_side_by_side() ? options_.workers->cores() : 1};
}

void Group::ForStacks(std::size_t count, const std::function<void(std::size_t)>& task) const {
  if (arrangement_.workers > 1 && count > 1) {
    const DefaultType default_type(network_->real());
    options_.workers->Run(count, task);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) task(i);
}

void Group::NeedLess(std::size_t widest_failed, Error error, std::vector<Trained>& trained) {
  if (widest_failed > 1) return LimitWidth(widest_failed / 2);
  if (arrangement_.workers > 1) return choice_.RuleOutSideBySide();
  // The last of the trials that have not trained.
  const auto has_trained = [&](MemberId id) {
    return std::ranges::find(trained, id, &Trained::member) != trained.end();
  };
  for (auto each = members_.rbegin(); each != members_.rend(); ++each) {
    const auto& [id, joined] = *each;
    if (joined.waiting || has_trained(id)) continue;
    trained.push_back({.member = id, .steps = StepOf(id), .refused = std::move(error)});
    return;
  }
}

void Group::TakeApart(std::size_t stack) {
  const std::vector<MemberId> ids = std::exchange(in_stacks_[stack], {});
  Park(ids, stacks_[stack].TakeAll());
}

std::vector<Group::Trained> Group::StepOneByOne(std::size_t stack, Batches& batches) {
  const std::vector<MemberId> ids = std::exchange(in_stacks_[stack], {});
  std::vector<TrialState> states = stacks_[stack].TakeAll();
  std::vector<Trained> trained;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    Stack alone(network_);
    std::vector<TrialState> state;
    state.push_back(std::move(states[at]));
    Trained& each = trained.emplace_back(Trained{.member = ids[at], .steps = state[0].step});
    Status stepped = alone.Fill({{members_.at(ids[at]).member}}, state);
    if (stepped) {
      const auto losses = alone.Step(batches);
      if (losses) {
        each.loss = losses->front();
      } else {
        stepped = std::unexpected(losses.error());
      }
      state = alone.TakeAll();
    }
    if (!stepped) each.refused = std::move(stepped).error();
    each.steps = state[0].step;
    states[at] = std::move(state[0]);
  }
  std::vector<Member> members;
  for (const MemberId id : ids) members.push_back(members_.at(id).member);
  if (stacks_[stack].Fill(members, states)) {
    in_stacks_[stack] = ids;
  } else {
    Park(ids, std::move(states));
  }
  return trained;
}

std::vector<Group::Trained> Group::Step() {
  const std::size_t trials = TrialsThatTrain();
  std::vector<Trained> trained;
  if (trials == 0) return trained;
  arrangement_ = ArrangementFor(trials);
  if (Status arranged = Arrange(arrangement_.width); !arranged) {
    NeedLess(std::min(trials, arrangement_.width), std::move(arranged).error(), trained);
    return trained;
  }
  const double before_s = options_.seconds ? options_.seconds() : 0;
  StepBatches batches(*batches_);
  std::vector<Result<std::vector<double>>> losses(stacks_.size());
  ForStacks(stacks_.size(), [&](std::size_t i) { losses[i] = stacks_[i].Step(batches); });
  std::optional<Error> scarce;
  std::size_t widest_failed = 0;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    if (losses[i]) {
      for (std::size_t at = 0; at < losses[i]->size(); ++at)
        trained.push_back(
            {.member = in_stacks_[i][at], .steps = stacks_[i].step(at), .loss = (*losses[i])[at]});
    } else if (losses[i].error().code == ErrorCode::kOutOfMemory) {
      scarce = std::move(losses[i]).error();
      widest_failed = std::max(widest_failed, in_stacks_[i].size());
    } else {
      // One trial may be the reason, such as one that diverges: some operators refuse NaN.
      std::ranges::move(StepOneByOne(i, batches), std::back_inserter(trained));
    }
  }
  if (scarce) {
    NeedLess(widest_failed, *std::move(scarce), trained);
  } else if (options_.seconds) {
    choice_.Measured(trials, options_.seconds() - before_s);
  }
  return trained;
}

Status StepAll(Group& group) {
  for (Group::Trained& each : group.Step())
    if (each.refused) return std::unexpected(std::move(*each.refused));
  return {};
}

Result<Measured> Group::EvaluateParked(MemberId member) const {
  const Joined& joined = members_.at(member);
  Stack alone(network_);
  std::vector<TrialState> state{*joined.parked};
  SLUICE_TRY(alone.Fill({{joined.member}}, state));
  SLUICE_ASSIGN(std::vector<Measured> found,
                alone.Evaluate(std::vector<std::size_t>{0}, *batches_));
  return std::move(found.front());
}

Result<std::vector<Measured>> Group::Evaluate(const std::vector<MemberId>& members) const {
  struct Part {
    std::vector<std::size_t> places;  // in the stack
    std::vector<std::size_t> into;    // where their results go
    Result<std::vector<Measured>> found = {};
  };
  std::vector<Measured> all(members.size());
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> by_stack;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto place = PlaceOf(members[i]);
    if (place) {
      by_stack[place->stack].emplace_back(place->at, i);
    } else {
      SLUICE_ASSIGN(all[i], EvaluateParked(members[i]));
    }
  }
  std::vector<std::size_t> stacks;
  std::vector<Part> parts;
  for (auto& [stack, wanted] : by_stack) {
    std::ranges::sort(wanted);
    stacks.push_back(stack);
    Part& part = parts.emplace_back();
    for (const auto& [at, i] : wanted) {
      part.places.push_back(at);
      part.into.push_back(i);
    }
  }
  const auto evaluate = [&](std::size_t i) {
    parts[i].found = stacks_[stacks[i]].Evaluate(parts[i].places, *batches_);
  };
  ForStacks(parts.size(), evaluate);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    // One stack alone needs less memory than several side by side.
    if (!part.found && part.found.error().code == ErrorCode::kOutOfMemory && parts.size() > 1)
      evaluate(i);
    if (!part.found) return std::unexpected(std::move(part.found).error());
    for (std::size_t k = 0; k < part.into.size(); ++k)
      all[part.into[k]] = std::move((*part.found)[k]);
  }
  return all;
}

void Group::LimitWidth(std::size_t most) { choice_.LimitWidth(std::max<std::size_t>(1, most)); }

}  // namespace sluice::train
