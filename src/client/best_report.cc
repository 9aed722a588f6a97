#include "client/best_report.h"

#include <algorithm>
#include <cmath>

namespace sluice::client {

BestReport::BestReport(const wire::Assign& assign)
    : objective_(assign.objective),
      sign_(assign.last_counts ? 0
            : assign.maximize  ? -1
                               : 1),
      earlier_(assign.work) {
  if (!assign.best) return;
  loss_ = sign_ * *assign.best;
  work_ = assign.best_work;
}

void BestReport::Reported(Work work, const wire::Values& values) {
  // Work that an earlier launch has reported is done again, and the earlier report counts.
  if (sign_ == 0 || work <= earlier_) return;
  // Of a name that is there twice, the last value counts.
  const auto found = std::find_if(values.rbegin(), values.rend(),
                                  [&](const auto& each) { return each.first == objective_; });
  if (found == values.rend()) return;
  const double loss = sign_ * found->second;
  if (!(loss < loss_) && (work_ || std::isnan(loss))) return;
  loss_ = loss;
  work_ = work;
}

}  // namespace sluice::client
