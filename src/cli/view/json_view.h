#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cli/view/outlet.h"
#include "cli/view/view.h"

namespace sluice {

// Prints progress as one JSON object per line: at most one per second, and one at the end.
class JsonView : public View {
 public:
  explicit JsonView(int output);
  ~JsonView() override;

  void Say(std::string_view line) override;
  void Finish() override;

 private:
  void Take(Progress progress, std::vector<TrialSummary> latest) override;

  std::optional<Progress> latest_;
  Time printed_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

}  // namespace sluice
