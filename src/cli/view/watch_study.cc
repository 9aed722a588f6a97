#include "cli/view/watch_study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "cli/view/look_on.h"
#include "cli/view/stored_view.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

Status ShowOnce(Reader& reader, const std::string& study, View& view) {
  SLUICE_ASSIGN(const StudyInfo last, StoredView(reader, study, view).Show());
  view.Finish();
  if (!last.finished) view.Say(fmt::format("not running: sluice resume {}", study));
  return {};
}

}  // namespace

Status WatchStudy(const StorePaths& paths, const std::string& study, ViewMode mode) {
  SLUICE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo found,
                study.empty() ? reader->LatestStudy() : reader->FindStudy(study));
  const std::unique_ptr<View> view = MakeView(mode, STDOUT_FILENO);
  if (!found.open) return ShowOnce(*reader, found.name, *view);
  auto link = Link::Connect(paths);
  if (!link) return ShowOnce(*reader, found.name, *view);
  SLUICE_TRY(Watch(paths, found.name, std::move(*link), *view));
  view->Finish();
  SLUICE_ASSIGN(const StudyInfo last, reader->FindStudy(found.name));
  if (!last.finished && !last.open)
    view->Say(fmt::format("not running: sluice resume {}", last.name));
  return {};
}

}  // namespace sluice
