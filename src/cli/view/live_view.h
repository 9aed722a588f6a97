#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cli/view/live_region.h"
#include "cli/view/newly_ended.h"
#include "cli/view/view.h"

namespace sluice {

// Shows progress in a live region. Messages about failed trials scroll above it.
class LiveView : public View {
 public:
  explicit LiveView(int output);
  ~LiveView() override;

  void Say(std::string_view line) override { region_.Say(line); }
  void Finish() override { region_.Finish(); }
  bool WantsTrials(const Progress& progress) const override;

 private:
  void Take(Progress progress, std::vector<TrialSummary> latest) override;
  void TellFailed(std::vector<TrialSummary> latest);

  std::optional<Progress> latest_;
  NewlyEnded ended_;
  int failed_ = 0;
  LiveRegion region_;
};

}  // namespace sluice
