#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/view/best_news.h"
#include "cli/view/outlet.h"
#include "cli/view/view.h"

namespace sluice {

// Prints a few lines about one of several studies: when it comes, when it has a new best value, and
// when it has ended or is paused.
class BriefView : public View {
 public:
  // The outlet is shared by the views of all studies.
  explicit BriefView(std::shared_ptr<Outlet> outlet);
  ~BriefView() override;

  void Say(std::string_view line) override;
  void Finish() override;

 private:
  void Take(Progress progress, std::vector<TrialSummary> latest) override;
  void Print(std::string_view what);

  const bool utf8_;
  const std::shared_ptr<Outlet> outlet_;
  std::optional<Progress> latest_;
  BestNews best_;
  bool finished_ = false;
};

}  // namespace sluice
