#include "cli/study_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "exec/controller/run_controller.h"

namespace sluice {

StudyStanding StandingOf(const StudyInfo& study, const LockHolder& holder) {
  const bool ends = study.ending != "running";
  StudyStanding standing;
  if (ends) standing.why = study.ending;
  if (study.open && IsController(holder)) standing.pid = holder.pid;
  if (study.finished) {
    standing.state = StudyState::kFinished;
  } else if (standing.pid == 0) {
    const bool was_cut_off = study.open || study.count(TrialState::kRunning) > 0;
    standing.state = was_cut_off ? StudyState::kInterrupted : StudyState::kPaused;
    if (standing.why.empty()) standing.why = study.pause;
  } else {
    standing.state = ends ? StudyState::kEnding : StudyState::kRunning;
  }
  return standing;
}

std::string_view Name(StudyState state) {
  switch (state) {
    case StudyState::kRunning: return "running";
    case StudyState::kEnding: return "ending";
    case StudyState::kPaused: return "paused";
    case StudyState::kInterrupted: return "interrupted";
    case StudyState::kFinished: return "finished";
  }
  return "";
}

Ink InkOf(StudyState state) {
  switch (state) {
    case StudyState::kRunning:
    case StudyState::kEnding: return Ink::kBlue;
    case StudyState::kPaused:
    case StudyState::kInterrupted: return Ink::kYellow;
    case StudyState::kFinished: return Ink::kGreen;
  }
  return Ink::kPlain;
}

std::string Describe(const StudyStanding& standing) {
  std::string text(Name(standing.state));
  if (standing.state == StudyState::kRunning) return fmt::format("{} (pid {})", text, standing.pid);
  if (standing.state == StudyState::kEnding)
    return fmt::format("{}: {} (pid {})", text, standing.why, standing.pid);
  return standing.why.empty() ? text : fmt::format("{}: {}", text, standing.why);
}

int TrialsDone(const std::array<int, kTrialStates>& counts) {
  int done = 0;
  for (const TrialState state :
       {TrialState::kComplete, TrialState::kStopped, TrialState::kFailed, TrialState::kPaused})
    done += counts[static_cast<std::size_t>(state)];
  return done;
}

Duration ElapsedOf(const StudyInfo& study, const StudyStanding& standing, Time now) {
  const bool lives =
      standing.state == StudyState::kRunning || standing.state == StudyState::kEnding;
  return std::max(Duration(0), (lives ? now : study.updated) - study.created);
}

Duration BusyOf(const TrialInfo& trial, Time now) {
  if (trial.state != TrialState::kRunning) return trial.busy;
  return trial.busy + std::max(Duration(0), now - trial.started);
}

std::string WaitsFor(Reader& reader, const StudyInfo& study, const std::string& leader) {
  if (leader.empty() || study.finished || study.count(TrialState::kRunning) > 0) return "";
  const auto its = reader.FindStudy(leader);
  if (!its) return leader + ", which is not in the store";
  if (its->finished) return "";
  if (!its->open) return leader + ", which is paused";
  return fmt::format("{} ({}/{} trials)", leader, TrialsDone(its->counts), its->trials);
}

Result<StudyInfo> ChooseStudy(Reader& reader, const std::optional<std::string>& name) {
  return name ? reader.FindStudy(*name) : reader.LatestStudy();
}

Result<StudyInfo> ChooseStudy(const StorePaths& paths, const std::optional<std::string>& name) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(paths.database));
  return ChooseStudy(*reader, name);
}

}  // namespace sluice
