#include "cli/view/views.h"

#include <string>
#include <string_view>

#include "cli/places.h"
#include "cli/view/json_view.h"
#include "cli/view/live_view.h"
#include "cli/view/plain_view.h"

namespace sluice {
namespace {

class QuietView : public View {
 public:
  void Say(std::string_view) override {}
  void Finish() override {}

 private:
  void Take(Progress, std::vector<TrialSummary>) override {}
};

}  // namespace

ViewMode ChooseViewMode(bool quiet, bool plain, bool json) {
  if (json) return ViewMode::kJson;
  if (quiet) return ViewMode::kQuiet;
  const std::string term = EnvironmentVariable("TERM");
  const bool able = isatty(STDOUT_FILENO) == 1 && !term.empty() && term != "dumb";
  return plain || !able ? ViewMode::kPlain : ViewMode::kLive;
}

std::unique_ptr<View> MakeView(ViewMode mode, int output) {
  switch (mode) {
    case ViewMode::kLive: return std::make_unique<LiveView>(output);
    case ViewMode::kPlain: return std::make_unique<PlainView>(output);
    case ViewMode::kQuiet: return std::make_unique<QuietView>();
    case ViewMode::kJson: return std::make_unique<JsonView>(std::make_shared<Outlet>(output));
  }
  return std::make_unique<QuietView>();
}

}  // namespace sluice
