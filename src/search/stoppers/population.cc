#include "search/stoppers/population.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/fields.h"
#include "base/planted.h"
#include "base/state.h"

namespace sluice {
const Population::Place* Population::Find(TrialId trial) const {
  const auto found = index_.find(trial);
  return found == index_.end() ? nullptr : &places_[found->second];
}

Population::Place& Population::At(TrialId trial) {
  const auto found = index_.find(trial);
  SLUICE_CHECK(found != index_.end(), "a population judges its own trials");
  return places_[found->second];
}

void Population::Admit(TrialId trial) {
  SLUICE_CHECK(!closed_, "a closed population takes no trial");
  index_[trial] = places_.size();
  places_.push_back({.trial = trial, .ahead = {}});
  Enter(places_.back());
}

void Population::Replace(TrialId loser, TrialId fork) {
  const auto found = index_.extract(loser);
  SLUICE_CHECK(!found.empty(), "a fork takes the place of a trial that lost it");
  Place& place = places_[found.mapped()];
  place.trial = fork;
  index_[fork] = found.mapped();
}

Population::Settled Population::Report(TrialId trial, Work work, double value) {
  Place& place = At(trial);
  SLUICE_CHECK(place.phase != Phase::kOver, "no trial is judged after its end");
  place.work = work;
  const bool arrives = place.ahead.empty() && place.stage < rule_.Passed(work);
  while (place.stage + place.ahead.size() < rule_.Passed(work)) place.ahead.push_back(value);
  if (work >= rule_.max_budget()) SetOver(place);
  if (arrives) Arrive(place);
  Settle();
  if (place.phase != Phase::kOver)
    place.phase = place.ahead.empty() ? Phase::kRunning : Phase::kPaused;
  return Take(trial);
}

Population::Settled Population::End(TrialId trial) {
  Place& place = At(trial);
  SLUICE_CHECK(place.phase != Phase::kOver, "a trial ends once");
  SetOver(place);
  if (place.ahead.empty() && place.stage < rule_.stages()) --stages_[place.stage].coming;
  Settle();
  return Take(trial);
}

Population::Settled Population::Close() {
  closed_ = true;
  Settle();
  return Take({});
}

void Population::Release(TrialId trial) {
  Place& place = At(trial);
  SLUICE_CHECK(place.phase == Phase::kReady, "only a ready trial is released");
  place.phase = Phase::kRunning;
}

void Population::Hold(TrialId trial) {
  Place& place = At(trial);
  SLUICE_CHECK(place.phase == Phase::kRunning && place.ahead.empty(),
               "a trial that is held may go on");
  place.phase = Phase::kReady;
}

void Population::SetOver(Place& place) {
  place.phase = Phase::kOver;
  ++over_;
}

// A place comes to its stage, whether it has a value there already or not.
void Population::Enter(Place& place) {
  if (place.stage == rule_.stages()) return;
  if (place.ahead.empty() && place.phase == Phase::kOver) return;
  ++stages_[place.stage].coming;
  if (!place.ahead.empty()) Arrive(place);
}

void Population::Arrive(Place& place) {
  Stage& stage = stages_[place.stage];
  --stage.coming;
  ++stage.valued;
  stage.lower.insert({place.ahead.front(), place.trial});
}

// The trial goes on to the next stage.
void Population::Pass(const Mark& mark) {
  Place& place = At(mark.trial);
  place.ahead.erase(place.ahead.begin());
  ++place.stage;
  if (place.phase != Phase::kOver) settled_.ready.push_back(mark.trial);
  Enter(place);
}

// One pass upwards is enough: what is settled at a stage affects only the stages above.
void Population::Settle() {
  if (!closed_) return;
  std::size_t may_come = 0;  // trials from the stages below
  for (auto at = stages_.begin(); at != stages_.end();) {
    auto& [number, stage] = *at;
    const std::size_t most =
        rule_.Quantile(stage.valued + stage.coming + may_come);  // trials that a quantile can hold
    while (stage.upper.size() > most)
      stage.lower.insert(stage.upper.extract(std::prev(stage.upper.end())));
    while (stage.upper.size() < most && !stage.lower.empty())
      stage.upper.insert(stage.lower.extract(stage.lower.begin()));
    if (!stage.upper.empty()) {
      while (!stage.lower.empty() && Better(*stage.lower.begin(), *std::prev(stage.upper.end()))) {
        stage.lower.insert(stage.upper.extract(std::prev(stage.upper.end())));
        stage.upper.insert(stage.lower.extract(stage.lower.begin()));
      }
    }
    while (stage.lower.size() > most) {
      const Mark middle = *stage.lower.begin();
      stage.lower.erase(stage.lower.begin());
      Pass(middle);
    }
    if (may_come + stage.coming == 0) {
      Decide(number, stage);
      at = stages_.erase(at);
      continue;
    }
    may_come += stage.coming + stage.upper.size() + stage.lower.size();
    ++at;
  }
}

// Every live trial has a value: `upper` is the top quantile, `lower` the bottom quantile.
void Population::Decide(std::uint32_t number, Stage& stage) {
  std::vector<TrialId> donors;
  for (const Mark& mark : stage.upper) {
    const bool lives = At(mark.trial).phase != Phase::kOver || Planted("dead-donor");
    if (lives && !std::isnan(mark.value)) donors.push_back(mark.trial);
  }
  if (Planted("any-donor")) {
    for (const Place& place : places_) donors.push_back(place.trial);
  }
  const Marks lower = std::move(stage.lower);
  const Marks upper = std::move(stage.upper);
  for (const Mark& mark : lower) {
    Place& place = At(mark.trial);
    if (place.phase == Phase::kOver) {
      place.ahead.clear();  // it is not judged at later stages
      continue;
    }
    if (donors.empty()) {
      Pass(mark);
      continue;
    }
    const TrialId donor = donors[rule_.Draw(donors.size(), mark.trial, rule_.At(number))];
    const Work donor_work = At(donor).work;
    settled_.forks.push_back({.loser = mark.trial,
                              .donor = donor,
                              .target = rule_.At(std::max(number + 1, rule_.Passed(donor_work)))});
    place.phase = Phase::kRunning;
    place.stage = number + 1;
    place.work = 0;
    place.ahead.clear();
    Enter(place);
  }
  for (const Mark& mark : upper) Pass(mark);
}

// A trial that went on, but already has a value at the next stage, waits there and is not ready.
Population::Settled Population::Take(TrialId except) {
  Settled settled;
  settled.forks = std::exchange(settled_.forks, {});
  std::ranges::sort(settled.forks, {}, &Fork::loser);
  std::ranges::sort(settled_.ready);
  const auto twice = std::ranges::unique(settled_.ready);
  settled_.ready.erase(twice.begin(), twice.end());
  for (const TrialId trial : settled_.ready) {
    Place& place = At(trial);
    const bool lost_since = std::ranges::binary_search(settled.forks, trial, {}, &Fork::loser);
    const bool waits = !place.ahead.empty();
    if (trial == except || lost_since || waits || place.phase == Phase::kOver) continue;
    place.phase = Phase::kReady;
    settled.ready.push_back(trial);
  }
  settled_.ready.clear();
  return settled;
}

void Population::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Place> == 5, "Save and Load list each field");
  writer.Put(closed_);
  writer.Put(places_.size());
  for (const Place& place : places_) {
    writer.Put(place.trial);
    writer.Put(place.phase);
    writer.Put(place.stage);
    writer.Put(place.work);
    writer.Put(place.ahead.size());
    for (const double value : place.ahead) writer.Put(value);
  }
}

Status Population::Load(StateReader& reader) {
  reader.Get(closed_);
  for (std::size_t left = reader.Count(); left > 0; --left) {
    Place place;
    std::int64_t phase = 0;
    std::int64_t stage = 0;
    reader.Get(place.trial);
    reader.Get(phase);
    reader.Get(stage);
    reader.Get(place.work);
    place.ahead.resize(reader.Count());
    for (double& value : place.ahead) reader.Get(value);
    const auto ahead = static_cast<std::int64_t>(place.ahead.size());
    if (!reader.ok() || !IsSet(place.trial) || phase < 0 ||
        phase > static_cast<std::int64_t>(Phase::kOver) || stage < 0 ||
        stage + ahead > static_cast<std::int64_t>(rule_.stages()) || place.work < 0) {
      return UnreadableState("a population");
    }
    place.phase = static_cast<Phase>(phase);
    place.stage = static_cast<std::uint32_t>(stage);
    const bool waits = place.phase == Phase::kPaused;
    if (place.phase != Phase::kOver && waits == place.ahead.empty())
      return UnreadableState("a population");
    if (!index_.emplace(place.trial, places_.size()).second) return UnreadableState("a population");
    over_ += place.phase == Phase::kOver ? 1 : 0;
    places_.push_back(std::move(place));
  }
  if (!reader.ok()) return UnreadableState("a population");
  for (Place& place : places_) Enter(place);
  // Only a place with a value at a stage goes on from it before the stage is decided.
  for (auto& [number, stage] : stages_) {
    for (const Place& place : places_) stage.valued += place.stage > number ? 1 : 0;
  }
  const std::size_t over = over_;
  Settle();
  // The saved state leaves nothing to settle.
  if (!settled_.ready.empty() || !settled_.forks.empty() || over_ != over)
    return UnreadableState("a population");
  return {};
}

}  // namespace sluice
