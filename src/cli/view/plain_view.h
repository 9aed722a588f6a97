#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/view/best_news.h"
#include "cli/view/newly_ended.h"
#include "cli/view/outlet.h"
#include "cli/view/view.h"

namespace sluice {

// Prints a line for each trial that ended, for each new best value, and every 30 seconds, without
// escape sequences.
class PlainView : public View {
 public:
  explicit PlainView(int output);
  ~PlainView() override;

  void Say(std::string_view line) override;
  void Finish() override;
  bool WantsTrials(const Progress&) const override { return true; }

 private:
  void Take(Progress progress, std::vector<TrialSummary> latest) override;
  void TellEnded(std::vector<TrialSummary> latest);
  std::string EndedText(const TrialSummary& trial) const;
  void Print(const std::string& line);

  const bool utf8_;
  NewlyEnded ended_;
  std::optional<Progress> latest_;
  BestNews best_;
  Time line_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

}  // namespace sluice
