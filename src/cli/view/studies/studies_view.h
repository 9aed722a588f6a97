#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "cli/view/progress.h"
#include "cli/view/views.h"

namespace sluice {

// One of several studies that are shown together.
struct SeenStudy {
  StudyId id{};
  Progress progress;
  bool is_over = false;  // it ran, and no longer does
};

// A view of all studies of a store that run, and of those that did so since the view was made.
class StudiesView {
 public:
  virtual ~StudiesView() = default;

  // Shows the studies as they are now: those that run, then those that are over.
  virtual void Show(std::span<const SeenStudy> studies, Time now) = 0;
  // Shows something that the user should know immediately.
  virtual void Say(std::string_view line) = 0;
  // Shows the last state, which then stays on the terminal. Only Say may be called after it.
  virtual void Finish() = 0;
};

// Makes a view that writes to `output`, with the promises of MakeView:
// - live: a line for each study, in a region that is redrawn in place;
// - plain: a line when a study comes, has a new best value, ends or pauses;
// - quiet: nothing;
// - JSON: the lines that a view of each study alone has.
std::unique_ptr<StudiesView> MakeStudiesView(ViewMode mode, int output = STDOUT_FILENO);

}  // namespace sluice
