#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "ledger/database.h"

namespace sluice {

// When studies were in the engine that studies share: between a study_opened and a study_closed. At
// all other times a study was alone. Studies that were in the engine together can only be replayed
// together, because each had its part of the devices.
class Openings {
 public:
  // The openings and closings before event `until`; 0: all.
  static Result<Openings> Read(Database& database, EventSeq until = {});

  bool IsOpen(StudyId study) const { return open_.contains(study); }
  bool WasOpened(StudyId study) const { return last_.contains(study); }
  // The last opening or closing of the study; 0: there was none.
  EventSeq Last(StudyId study) const;
  const std::set<StudyId>& open() const { return open_; }
  // The study, the studies that it shared the engine with, their companions and so on.
  std::set<StudyId> CompanionsOf(StudyId study) const;

 private:
  std::set<StudyId> open_;
  std::map<StudyId, EventSeq> last_;
  // The studies that were in the engine from when one came into the empty engine until none was
  // left.
  std::vector<std::set<StudyId>> together_;
};

}  // namespace sluice
