#include "train/bundle/group.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::train {

Group::Group(std::shared_ptr<const PreparedNetwork> network, std::unique_ptr<Batches> batches,
             Options options)
    : network_(std::move(network)), options_(std::move(options)), batches_(std::move(batches)) {
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
  if (const auto place = PlaceOf(member)) {
    stacks_[place->stack].Remove({{place->at}});
    std::erase(in_stacks_[place->stack], member);
  }
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

std::int64_t Group::StepOf(MemberId member) const {
  if (const auto place = PlaceOf(member)) return stacks_[place->stack].step(place->at);
  return members_.at(member).parked->step;
}

void Group::Arrange(std::size_t width) {
  // All states out of the stacks, then those that train into new ones. A stack that stays as it is
  // keeps its tensors.
  std::vector<std::vector<MemberId>> wanted;
  for (const auto& [id, joined] : members_) {
    if (joined.waiting) continue;
    if (wanted.empty() || wanted.back().size() == width) wanted.emplace_back();
    wanted.back().push_back(id);
  }
  std::vector<Stack> kept;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    if (i < wanted.size() && wanted[i] == in_stacks_[i]) continue;
    std::vector<std::size_t> all(in_stacks_[i].size());
    for (std::size_t at = 0; at < all.size(); ++at) all[at] = at;
    std::vector<TrialState> states = stacks_[i].Remove(all);
    for (std::size_t at = 0; at < all.size(); ++at)
      members_.at(in_stacks_[i][at]).parked = std::move(states[at]);
    in_stacks_[i].clear();
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
    stacks_[i].Add(members, std::move(states));
    in_stacks_[i] = wanted[i];
  }
  width_ = width;
}

Result<std::vector<Group::Trained>> Group::Step() {
  const std::size_t trials = TrialsThatTrain();
  std::vector<Trained> trained;
  if (trials == 0) return trained;
  Arrange(options_.seconds ? choice_.WidthFor(trials) : std::min(trials, choice_.most()));
  const double before_s = options_.seconds ? options_.seconds() : 0;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    auto losses = stacks_[i].Step(*batches_);
    if (!losses) {
      const std::size_t size = in_stacks_[i].size();
      if (losses.error().code != ErrorCode::kUnavailable || size == 1)
        return std::unexpected(std::move(losses).error());
      LimitWidth(size / 2);
      return trained;
    }
    for (std::size_t at = 0; at < losses->size(); ++at)
      trained.push_back(
          {.member = in_stacks_[i][at], .steps = stacks_[i].step(at), .loss = (*losses)[at]});
  }
  if (options_.seconds) choice_.Measured(trials, options_.seconds() - before_s);
  return trained;
}

Result<std::vector<Measured>> Group::Evaluate(const std::vector<MemberId>& members) const {
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> by_stack;
  std::vector<Measured> all(members.size());
  std::vector<MemberId> parked;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto place = PlaceOf(members[i]);
    SLUICE_CHECK(place, "a trial is evaluated where it was trained");
    by_stack[place->stack].emplace_back(place->at, i);
  }
  for (auto& [stack, wanted] : by_stack) {
    std::ranges::sort(wanted);
    std::vector<std::size_t> places;
    for (const auto& [at, i] : wanted) places.push_back(at);
    SLUICE_ASSIGN(std::vector<Measured> found, stacks_[stack].Evaluate(places, *batches_));
    for (std::size_t k = 0; k < wanted.size(); ++k) all[wanted[k].second] = std::move(found[k]);
  }
  return all;
}

void Group::LimitWidth(std::size_t most) { choice_.Limit(std::max<std::size_t>(1, most)); }

}  // namespace sluice::train
