#include "search/stoppers/asha_promotion.h"

#include <algorithm>
#include <cmath>

#include "base/planted.h"

namespace sluice {
namespace {

bool Worse(const Mark& a, const Mark& b) { return Better(b, a); }

}  // namespace

AshaPromotion::AshaPromotion(const StopperSpec& spec)
    : book_(spec, /*least_top=*/0), waiting_(book_.rungs().size()) {}

bool AshaPromotion::WaitsAt(std::size_t rung, TrialId trial) const {
  return book_.phase(trial) == RungBook::Phase::kPaused && book_.NextRung(trial) == rung + 1;
}

std::vector<Ruling> AshaPromotion::Report(TrialId trial, Work work, double value) {
  const RungBook::Phase before = book_.phase(trial);
  if (before == RungBook::Phase::kEnded) return {};
  const auto [first, end] = book_.Record(trial, work, value);
  if (work >= book_.rungs().max_budget()) {
    book_.SetPhase(trial, RungBook::Phase::kRunning);  // complete, so no longer paused
    return {};
  }
  if (first == end) {
    if (before != RungBook::Phase::kPaused) return {};
    return {{.trial = trial, .verdict = Verdict::kPause}};
  }
  if (std::isnan(value)) {
    book_.SetPhase(trial, RungBook::Phase::kEnded);
    return {{.trial = trial, .verdict = Verdict::kStop}};
  }
  const std::size_t rung = end - 1;
  const Mark mark = {value, trial};
  if (book_.InTop(rung, mark)) {
    book_.SetPhase(trial, RungBook::Phase::kRunning);
    return {{.trial = trial, .verdict = Verdict::kGoOn, .target = book_.Target(trial)}};
  }
  book_.SetPhase(trial, RungBook::Phase::kPaused);
  waiting_[rung].push_back(mark);
  std::push_heap(waiting_[rung].begin(), waiting_[rung].end(), Worse);
  return {{.trial = trial, .verdict = Verdict::kPause}};
}

std::vector<Ruling> AshaPromotion::End(TrialId trial, bool) {
  book_.SetPhase(trial, RungBook::Phase::kEnded);
  return {};
}

std::optional<TrialGroup> AshaPromotion::Next() {
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    const std::size_t rung = Planted("lowest-first") ? waiting_.size() - left : left - 1;
    std::vector<Mark>& heap = waiting_[rung];
    while (!heap.empty()) {
      const Mark best = heap.front();
      const bool waits = WaitsAt(rung, best.trial);
      if (waits && !book_.InTop(rung, best)) break;
      std::pop_heap(heap.begin(), heap.end(), Worse);
      heap.pop_back();
      if (!waits) continue;
      book_.SetPhase(best.trial, RungBook::Phase::kRunning);
      return TrialGroup{{{.trial = best.trial, .target = book_.Target(best.trial)}}};
    }
  }
  return std::nullopt;
}

Status AshaPromotion::Load(StateReader& reader) {
  SLUICE_TRY(book_.Load(reader));
  for (std::size_t rung = 0; rung < waiting_.size(); ++rung) {
    waiting_[rung] = book_.ranking(rung).Sorted();  // sorted marks are a heap
    std::erase_if(waiting_[rung], [&](const Mark& mark) { return !WaitsAt(rung, mark.trial); });
  }
  return {};
}

void AshaPromotion::AddTo(Digest& digest) const {
  digest.Add("asha-promotion");
  book_.AddTo(digest);
}

}  // namespace sluice
