#include "exec/session/hand_over.h"

namespace sluice {
namespace {

// How many controllers a study is given to, if they die.
constexpr int kMostHandOvers = 3;

}  // namespace

bool MayRun(const StudyInfo& study) { return study.open || study.count(TrialState::kRunning) > 0; }

Status HandOver(const StorePaths& paths, Link& link, const std::string& study,
                const EncodedEvent& event) {
  wire::Ask ask{.verb = "open", .study = study, .trial = {}};
  ask.event = event.kind;
  ask.body = event.body;
  auto opened = link.Ask(ask, kNoPatienceNeeded);
  for (int tries = 0;
       !opened && opened.error().code == ErrorCode::kUnavailable && tries < kMostHandOvers;
       ++tries) {
    SLUICE_ASSIGN(link, Link::ConnectOrStart(paths));
    opened = link.Ask(ask, kNoPatienceNeeded);
  }
  if (!opened) return std::unexpected(opened.error());
  return {};
}

Status AwaitEnd(Link& link, const std::string& name) {
  SLUICE_TRY(link.Tell({.verb = "await", .study = name, .trial = {}}));
  SLUICE_ASSIGN(const wire::Answer answer, link.TakeAnswer(kNoPatienceNeeded));
  if (!answer.ok) return Unavailable(answer.message);
  return {};
}

}  // namespace sluice
