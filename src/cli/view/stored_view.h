#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "cli/view/view.h"
#include "ledger/reader.h"

namespace sluice {

// Says when what a store holds is to be shown again: whenever the store has changed, and once a
// second. What is read of a large study takes a while: that never takes more than a twentieth of
// the time.
class RefreshPace {
 public:
  Result<bool> IsDue(Reader& reader);
  // Called before and after the store is read. Begin returns the time.
  Result<Time> Begin(Reader& reader);
  void End();

 private:
  std::int64_t version_ = -1;
  Time shown_{};  // 0: never
  std::chrono::steady_clock::time_point began_;
  Duration took_{};
};

// Shows a study of a store in a view, at the pace of RefreshPace.
class StoredView {
 public:
  StoredView(Reader& reader, std::string study, View& view)
      : reader_(reader), study_(std::move(study)), view_(view) {}

  // Shows the study if it is time to. The study as it was seen last.
  Result<StudyInfo> Refresh();
  // Shows the study as it is now.
  Result<StudyInfo> Show();

 private:
  Reader& reader_;
  const std::string study_;
  View& view_;
  StudyInfo seen_;
  RefreshPace pace_;
};

}  // namespace sluice
