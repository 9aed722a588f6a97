#include "cli/view/studies/studies_view.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cli/view/json_view.h"
#include "cli/view/live_region.h"
#include "cli/view/studies/brief_view.h"
#include "cli/view/studies/studies_lines.h"

namespace sluice {
namespace {

class LiveStudiesView : public StudiesView {
 public:
  explicit LiveStudiesView(int output)
      : region_(output, [this](const LiveRegion::Size& size) {
          return RenderStudies(latest_, {size.columns, size.colour, size.utf8}, size.rows);
        }) {}
  ~LiveStudiesView() override { LiveStudiesView::Finish(); }

  void Show(std::span<const SeenStudy> studies, Time now) override {
    latest_.assign(studies.begin(), studies.end());
    region_.Show(now);
  }
  void Say(std::string_view line) override { region_.Say(line); }
  void Finish() override { region_.Finish(); }

 private:
  std::vector<SeenStudy> latest_;
  LiveRegion region_;
};

// Shows each study in a view of its own, which ends when the study is over.
class SeparateViews : public StudiesView {
 public:
  using Make = std::function<std::unique_ptr<View>()>;
  explicit SeparateViews(Make make) : make_(std::move(make)), messages_(make_()) {}

  void Show(std::span<const SeenStudy> studies, Time) override {
    for (const SeenStudy& study : studies) {
      const StudyState state = study.progress.state();
      const auto shown = shown_.find(study.id);
      if (study.is_over && shown != shown_.end() && shown->second == state) continue;
      auto& view = views_[study.id];
      if (!view) view = make_();
      view->Show(study.progress, {});
      if (study.is_over) {
        views_.erase(study.id);
        shown_[study.id] = state;
      } else {
        shown_.erase(study.id);
      }
    }
  }
  void Say(std::string_view line) override { messages_->Say(line); }
  void Finish() override { views_.clear(); }

 private:
  const Make make_;
  const std::unique_ptr<View> messages_;
  std::map<StudyId, std::unique_ptr<View>> views_;  // of the studies that run
  std::map<StudyId, StudyState> shown_;             // how the others were shown last
};

// The views of all studies share an outlet, so that their lines do not mix.
template <typename EachView>
std::unique_ptr<StudiesView> MakeSeparateViews(int output) {
  return std::make_unique<SeparateViews>(
      [outlet = std::make_shared<Outlet>(output)] { return std::make_unique<EachView>(outlet); });
}

}  // namespace

std::unique_ptr<StudiesView> MakeStudiesView(ViewMode mode, int output) {
  switch (mode) {
    case ViewMode::kLive: return std::make_unique<LiveStudiesView>(output);
    case ViewMode::kPlain: return MakeSeparateViews<BriefView>(output);
    case ViewMode::kJson: return MakeSeparateViews<JsonView>(output);
    case ViewMode::kQuiet: break;
  }
  return std::make_unique<SeparateViews>([output] { return MakeView(ViewMode::kQuiet, output); });
}

}  // namespace sluice
