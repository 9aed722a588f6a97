#include "cli/view/studies/watch_studies.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/view/look_on.h"
#include "cli/view/studies/running_studies.h"
#include "exec/session/interrupts.h"
#include "exec/session/kept_link.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

// Looks on until no study runs, or until Ctrl-C.
Status LookOnAtAll(KeptLink& link, RunningStudies& studies, StudiesView& view) {
  const Interrupts interrupts;
  SLUICE_TRY(studies.Show());
  bool awaits = false;
  while (!studies.AnyRunning().empty()) {
    // The controller is asked about one study after the other, so that its death is noticed.
    if (!std::exchange(awaits, true)) link.Await(studies.AnyRunning());
    const Arrived arrived = AwaitNews(link, interrupts);
    if (arrived.interrupt) return {};
    if (arrived.answer) {
      SLUICE_ASSIGN(const bool has_let_go,
                    link.TakeAnswer([&view](std::string_view line) { view.Say(line); }));
      awaits = !has_let_go;
    }
    SLUICE_TRY(awaits ? studies.Refresh() : studies.Show());
  }
  return {};
}

}  // namespace

Status WatchStudies(const StorePaths& paths, ViewMode mode) {
  SLUICE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const std::vector<StudyInfo> studies, reader->Studies());
  const std::unique_ptr<StudiesView> view = MakeStudiesView(mode);
  auto controller = Link::Connect(paths);
  const auto runs = [](const StudyInfo& study) { return study.open && !study.finished; };
  if (!controller || std::ranges::none_of(studies, runs)) {
    view->Say("no study runs: 'sluice studies' lists all");
    return {};
  }
  KeptLink link(paths, std::move(*controller));
  RunningStudies running(*reader, *view);
  SLUICE_TRY(LookOnAtAll(link, running, *view));
  view->Finish();
  return {};
}

}  // namespace sluice
