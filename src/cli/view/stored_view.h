#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/view/view.h"
#include "ledger/reader.h"

namespace sluice {

// Shows a study of a store in a view, again whenever the store has changed and once a second. What
// it reads of a large study takes a while: it never takes more than a twentieth of the time.
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
  std::int64_t version_ = -1;
  Time shown_{};  // 0: never
  Duration took_{};
};

}  // namespace sluice
