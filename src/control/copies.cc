#include "control/copies.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace sluice {
namespace {

// The trials whose checkpoints a command reads and writes. A start counts as writing, because the
// launch may save its trial's checkpoint.
struct Touched {
  TrialId reads{};
  TrialId writes{};
};

Touched TouchedBy(const CopyCheckpoint& copy) { return {.reads = copy.from, .writes = copy.to}; }
Touched TouchedBy(const Start& start) { return {.reads = {}, .writes = start.trial.trial}; }
Touched TouchedBy(const Evict& evict) { return {.reads = {}, .writes = evict.trial.trial}; }
Touched TouchedBy(const Copies::Waiting& command) {
  return std::visit([](const auto& each) { return TouchedBy(each); }, command);
}

bool Collide(const Touched& a, const Touched& b) {
  return a.writes == b.writes || a.writes == b.reads || a.reads == b.writes;
}

}  // namespace

bool Copies::Hold(const Waiting& command) {
  const Touched touched = TouchedBy(command);
  const auto collides = [&](const auto& other) { return Collide(TouchedBy(other), touched); };
  if (std::ranges::none_of(under_way_, collides) && std::ranges::none_of(waiting_, collides))
    return false;
  if (std::holds_alternative<Start>(command) && Planted("copy-raced")) return false;
  waiting_.push_back(command);
  return true;
}

void Copies::Begin(const CopyCheckpoint& copy) {
  SLUICE_CHECK(std::ranges::find(under_way_, copy.to, &CopyCheckpoint::to) == under_way_.end(),
               "no copy for this fork is under way yet");
  under_way_.push_back(copy);
}

std::vector<Copies::Waiting> Copies::End(TrialId fork) {
  std::erase_if(under_way_, [&](const CopyCheckpoint& copy) { return copy.to == fork; });
  return std::exchange(waiting_, {});
}

bool Copies::DropStart(wire::LaunchRef at) {
  return std::erase_if(waiting_, [&](const Waiting& command) {
           const auto* start = std::get_if<Start>(&command);
           return start != nullptr && wire::LaunchRef{start->trial.trial, start->launch} == at;
         }) > 0;
}

std::vector<wire::LaunchRef> Copies::DropStarts() {
  std::vector<wire::LaunchRef> dropped;
  for (const Waiting& command : waiting_) {
    if (const auto* start = std::get_if<Start>(&command))
      dropped.push_back({start->trial.trial, start->launch});
  }
  std::erase_if(waiting_, [](const Waiting& each) { return std::holds_alternative<Start>(each); });
  return dropped;
}

}  // namespace sluice
