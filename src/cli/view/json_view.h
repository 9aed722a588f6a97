#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/view/outlet.h"
#include "cli/view/view.h"

namespace sluice {

// Prints progress as one JSON object per line: at most one per second, and one at the end.
class JsonView : public View {
 public:
  // The outlet is shared, because the views of several studies may write to one.
  explicit JsonView(std::shared_ptr<Outlet> outlet) : outlet_(std::move(outlet)) {}
  ~JsonView() override;

  void Say(std::string_view line) override;
  void Finish() override;

 private:
  void Take(Progress progress, std::vector<TrialSummary> latest) override;

  std::optional<Progress> latest_;
  Time printed_at_{};
  bool finished_ = false;
  const std::shared_ptr<Outlet> outlet_;
};

}  // namespace sluice
