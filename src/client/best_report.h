#pragma once

#include <limits>
#include <optional>
#include <string>

#include "base/ids.h"
#include "wire/message.h"

namespace sluice::client {

// The work of a trial's best report so far. The checkpoint at this work is kept (Checkpoints).
class BestReport {
 public:
  // Begins with the best report of earlier launches.
  explicit BestReport(const wire::Assign& assign);

  void Reported(Work work, const wire::Values& values);
  // Nothing if there is no report yet, or if the trial's last report counts, not its best.
  std::optional<Work> work() const { return work_; }

 private:
  std::string objective_;
  double sign_;  // times a value: the smaller, the better; 0: the last report counts
  Work earlier_;
  double loss_ = std::numeric_limits<double>::infinity();
  std::optional<Work> work_;
};

}  // namespace sluice::client
