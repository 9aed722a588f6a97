#include "cli/view/json_view.h"

#include <chrono>
#include <utility>

#include "exec/wall_clock.h"

namespace sluice {

JsonView::~JsonView() { JsonView::Finish(); }

void JsonView::Say(std::string_view line) { outlet_->Write(MessageJson(line, WallNow()) + "\n"); }

void JsonView::Finish() {
  if (finished_) return;
  finished_ = true;
  if (latest_) outlet_->Write(ProgressJson(*latest_) + "\n");
}

void JsonView::Take(Progress progress, std::vector<TrialSummary>) {
  latest_ = std::move(progress);
  // The progress of a finished study is printed by Finish.
  if (latest_->finished || latest_->now - printed_at_ < std::chrono::seconds(1)) return;
  printed_at_ = latest_->now;
  outlet_->Write(ProgressJson(*latest_) + "\n");
}

}  // namespace sluice
