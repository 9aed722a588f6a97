#include "ledger/openings.h"

#include <algorithm>
#include <limits>

#include "ledger/event_codec.h"

namespace sluice {

Result<Openings> Openings::Read(Database& database, EventSeq until) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare("SELECT seq, time_us, kind, body FROM events WHERE study = 0 AND kind IN "
                       "('study_opened', 'study_closed') AND seq < ? ORDER BY seq"));
  query.Bind(1, IsSet(until) ? static_cast<std::int64_t>(Number(until))
                             : std::numeric_limits<std::int64_t>::max());
  Openings openings;
  while (true) {
    SLUICE_ASSIGN(const bool found, query.Step());
    if (!found) return openings;
    SLUICE_ASSIGN(const Event event,
                  DecodeEvent(FromMicros(query.Integer(1)), {}, query.Text(2), query.Text(3)));
    const auto seq = EventSeq(static_cast<std::uint64_t>(query.Integer(0)));
    if (const auto* opened = std::get_if<StudyOpened>(&event.body)) {
      if (openings.open_.empty()) openings.together_.emplace_back();
      openings.together_.back().insert(opened->study);
      openings.open_.insert(opened->study);
      openings.last_[opened->study] = seq;
    } else if (const auto* closed = std::get_if<StudyClosed>(&event.body)) {
      openings.open_.erase(closed->study);
      openings.last_[closed->study] = seq;
    }
  }
}

EventSeq Openings::Last(StudyId study) const {
  const auto found = last_.find(study);
  return found == last_.end() ? EventSeq{} : found->second;
}

std::set<StudyId> Openings::CompanionsOf(StudyId study) const {
  std::set<StudyId> companions = {study};
  std::vector<bool> joined(together_.size());
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t i = 0; i < together_.size(); ++i) {
      const auto is_companion = [&](StudyId one) { return companions.contains(one); };
      if (joined[i] || std::ranges::none_of(together_[i], is_companion)) continue;
      companions.insert(together_[i].begin(), together_[i].end());
      joined[i] = grew = true;
    }
  }
  return companions;
}

}  // namespace sluice
