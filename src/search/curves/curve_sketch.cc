#include "search/curves/curve_sketch.h"

#include <algorithm>
#include <cmath>

#include "base/fields.h"

namespace sluice {
namespace {

constexpr double kInfinite = 1e150;    // so that squares of losses are finite
constexpr int kMostCount = 1'000'000;  // of one bin: later reports then weigh more
constexpr double kMostWork = 0x1p63;   // kNoLimit, rounded

// The number of the half octave that the work lies in. The mean work of a bin lies in the bin's
// half octave, so bins need not store the number.
int HalfOctave(double work) {
  if (work < 1) return -1;
  int exponent = 0;
  return std::frexp(work, &exponent) < 0.75 ? 2 * exponent : 2 * exponent + 1;
}

CurveSketch::Bin Merged(const CurveSketch::Bin& a, const CurveSketch::Bin& b) {
  const double part = static_cast<double>(b.count) / (static_cast<double>(a.count) + b.count);
  return {.work = a.work + part * (b.work - a.work),
          .loss = a.loss + part * (b.loss - a.loss),
          .count = std::min(a.count + b.count, kMostCount)};
}

bool IsGood(const CurveSketch::Bin& bin) {
  return bin.work >= 0 && bin.work <= kMostWork && std::abs(bin.loss) < kInfinite &&
         bin.count >= 1 && bin.count <= kMostCount;
}

}  // namespace

void CurveSketch::Add(Work work, double loss) {
  if (!(std::abs(loss) < kInfinite)) {
    diverged_ = true;
    return;
  }
  work = std::max<Work>(work, 0);
  done_ = std::max(done_, work);
  const Bin report{.work = static_cast<double>(work), .loss = loss, .count = 1};
  const int place = HalfOctave(report.work);
  const auto at = std::ranges::lower_bound(bins_, place, {},
                                           [](const Bin& bin) { return HalfOctave(bin.work); });
  if (at != bins_.end() && HalfOctave(at->work) == place) {
    *at = Merged(*at, report);
    return;
  }
  bins_.insert(at, report);
  if (bins_.size() <= kMostBins) return;
  bins_[1] = Merged(bins_[0], bins_[1]);
  bins_.erase(bins_.begin());
}

void CurveSketch::Save(StateWriter& writer) const {
  static_assert(kFieldsOf<Bin> == 3, "Save and Load list each field");
  writer.Put(diverged_);
  writer.Put(done_);
  writer.Put(bins_.size());
  for (const Bin& bin : bins_) {
    writer.Put(bin.work);
    writer.Put(bin.loss);
    writer.Put(bin.count);
  }
}

Status CurveSketch::Load(StateReader& reader) {
  const auto corrupt = [] { return Corruption("a snapshot's learning curve does not read back"); };
  bins_.clear();
  std::int64_t diverged = 0;
  reader.Get(diverged);
  reader.Get(done_);
  const std::size_t count = reader.Count();
  if (!reader.ok() || (diverged != 0 && diverged != 1) || count > kMostBins) return corrupt();
  diverged_ = diverged == 1;
  int last = -2;
  for (std::size_t i = 0; i < count; ++i) {
    Bin bin;
    reader.Get(bin.work);
    reader.Get(bin.loss);
    std::int64_t reports = 0;
    reader.Get(reports);
    bin.count = static_cast<int>(std::clamp<std::int64_t>(reports, 0, kMostCount + 1));
    if (!reader.ok() || !IsGood(bin) || HalfOctave(bin.work) <= last) return corrupt();
    last = HalfOctave(bin.work);
    bins_.push_back(bin);
  }
  // The most work reported belongs to the last bin.
  const auto done = static_cast<double>(done_);
  const bool agrees = bins_.empty()
                          ? done_ == 0
                          : done_ >= 0 && done >= bins_.back().work && HalfOctave(done) == last;
  if (!agrees) return corrupt();
  return {};
}

void CurveSketch::AddTo(Digest& digest) const {
  StateWriter writer;
  Save(writer);
  digest.Add(std::string_view(writer.bytes()));
}

}  // namespace sluice
