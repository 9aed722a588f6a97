#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/view/stored_view.h"
#include "cli/view/studies/studies_view.h"
#include "ledger/reader.h"

namespace sluice {

// Shows all studies of a store that a controller has taken in, those that come later, and how they
// end, at the pace of RefreshPace.
class RunningStudies {
 public:
  RunningStudies(Reader& reader, StudiesView& view) : reader_(reader), view_(view) {}

  // Shows the studies if it is time to.
  Status Refresh();
  // Shows the studies as they are now.
  Status Show();
  // One of those that ran when they were shown last; "": none ran.
  std::string AnyRunning() const;

 private:
  // Takes over what the store says of a study. Leaves alone what has not run while this looked on.
  Status Take(const StudyInfo& study, Time now);
  void ForgetDeleted(const std::vector<StudyInfo>& studies);
  void SayPause(const StudyInfo& study);

  Reader& reader_;
  StudiesView& view_;
  RefreshPace pace_;
  std::vector<SeenStudy> seen_;
  std::set<StudyId> said_pause_;
};

}  // namespace sluice
