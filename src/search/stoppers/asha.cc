#include "search/stoppers/asha.h"

namespace sluice {

std::vector<Ruling> Asha::Report(TrialId trial, Work work, double value) {
  if (book_.phase(trial) == RungBook::Phase::kEnded) return {};
  const auto [first, end] = book_.Record(trial, work, value);
  if (first == end || work >= book_.rungs().max_budget()) return {};
  for (std::size_t rung = first; rung < end; ++rung) {
    if (book_.InTop(rung, {value, trial})) continue;
    book_.SetPhase(trial, RungBook::Phase::kEnded);
    return {{.trial = trial, .verdict = Verdict::kStop}};
  }
  return {{.trial = trial, .verdict = Verdict::kGoOn, .target = book_.Target(trial)}};
}

std::vector<Ruling> Asha::End(TrialId trial, bool) {
  book_.SetPhase(trial, RungBook::Phase::kEnded);
  return {};
}

void Asha::AddTo(Digest& digest) const {
  digest.Add("asha");
  book_.AddTo(digest);
}

}  // namespace sluice
