#include "model/read/strided_reader.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <ranges>
#include <span>
#include <utility>

namespace sluice::model {
namespace {

constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20;  // of one read
constexpr std::int64_t kGapBytes = std::int64_t{64} << 10;    // the largest gap within a read
constexpr std::size_t kMaxRuns = 32'768;                      // of one read
// The number of parts that are read of a tensor that is too large.
constexpr std::int64_t kParts = 64;

struct Axis {
  std::int64_t size = 1;
  std::int64_t stride = 0;  // in the source
  std::int64_t step = 0;    // in the result
};

// Elements that are evenly spaced in the source and in the result.
struct Run {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count = 0;
};

// Takes runs in any order and fills the result. Runs that lie near each other share a read. The
// caller adds all runs, and then calls Finish().
class RunReader {
 public:
  RunReader(const ByteSource& source, std::size_t element_bytes, const Axis& along,
            std::string& result)
      : source_(source), bytes_(element_bytes), along_(along), result_(result) {
    const auto width = static_cast<std::int64_t>(bytes_);
    gap_ = kGapBytes / width;
    window_ = kWindowBytes / width;
    // Elements that are too far from each other for one read are read one by one.
    longest_ = along.stride > gap_ ? 1 : along.stride == 0 ? window_ : window_ / along.stride;
  }

  Status Add(Run run) {
    while (run.count > 0) {
      const std::int64_t count = std::min(run.count, longest_);
      const std::int64_t end = run.from + (count - 1) * along_.stride + 1;
      const bool is_near = run.from >= begin_ && run.from <= end_ + gap_ && end <= begin_ + window_;
      if (!is_near || runs_.size() >= kMaxRuns) {
        SLUICE_TRY(Finish());
        begin_ = end_ = run.from;
      }
      end_ = std::max(end_, end);
      runs_.push_back({.from = run.from, .to = run.to, .count = count});
      run.from += count * along_.stride;
      run.to += count * along_.step;
      run.count -= count;
    }
    return {};
  }

  // Reads and copies the runs that were not read yet.
  Status Finish() {
    if (runs_.empty()) return {};
    window_bytes_.resize(static_cast<std::size_t>(end_ - begin_) * bytes_);
    SLUICE_TRY(source_.Read(static_cast<std::uint64_t>(begin_) * bytes_, window_bytes_));
    for (const Run& run : runs_) Copy(run);
    runs_.clear();
    return {};
  }

 private:
  void Copy(const Run& run) {
    const char* from = window_bytes_.data() + static_cast<std::size_t>(run.from - begin_) * bytes_;
    char* to = result_.data() + static_cast<std::size_t>(run.to) * bytes_;
    if (along_.stride == 1 && along_.step == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(run.count) * bytes_);
      return;
    }
    const std::size_t from_step = static_cast<std::size_t>(along_.stride) * bytes_;
    const std::size_t to_step = static_cast<std::size_t>(along_.step) * bytes_;
    for (std::int64_t i = 0; i < run.count; ++i, from += from_step, to += to_step)
      std::memcpy(to, from, bytes_);
  }

  const ByteSource& source_;
  std::size_t bytes_;
  Axis along_;
  std::string& result_;
  std::int64_t gap_ = 0;
  std::int64_t window_ = 0;
  std::int64_t longest_ = 0;
  std::int64_t begin_ = 0;  // of the next read
  std::int64_t end_ = 0;
  std::vector<Run> runs_;
  std::string window_bytes_;
};

std::int64_t ElementsOf(std::span<const Axis> axes) {
  std::int64_t elements = 1;
  for (const Axis& axis : axes) elements *= axis.size;
  return elements;
}

// Sets the steps of a result without gaps in which the last axis changes fastest.
void StepInOrder(std::span<Axis> axes) {
  std::int64_t step = 1;
  for (Axis& axis : std::views::reverse(axes)) {
    axis.step = step;
    step *= axis.size;
  }
}

// Sorts the axes by stride, the largest first, so that a walk meets the elements in the order in
// which they lie in the source.
void SortAsTheyLie(std::vector<Axis>& axes) {
  std::ranges::stable_sort(axes, std::ranges::greater(), &Axis::stride);
}

// Merges axes that can be walked as one. At least one axis is left.
std::vector<Axis> Merged(std::span<const Axis> axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.stride * axis.size &&
        merged.back().step == axis.step * axis.size) {
      merged.back() = {
          .size = merged.back().size * axis.size, .stride = axis.stride, .step = axis.step};
    } else {
      merged.push_back(axis);
    }
  }
  if (merged.empty()) merged.push_back({.size = 1, .stride = 1, .step = 1});
  return merged;
}

// The elements to take: parts of the same length, at even distances.
struct Walk {
  std::vector<Axis> axes;
  std::int64_t parts = 1;
  std::int64_t length = 0;   // of a part, in elements
  std::int64_t spacing = 0;  // from the beginning of a part to that of the next
};

Walk WalkAll(std::vector<Axis> axes) {
  const std::int64_t elements = ElementsOf(axes);
  SortAsTheyLie(axes);
  return {.axes = Merged(axes), .length = elements};
}

Walk WalkParts(std::vector<Axis> axes, std::int64_t most) {
  // An element that is repeated along an axis is taken once.
  std::erase_if(axes, [](const Axis& axis) { return axis.stride == 0; });
  const std::int64_t elements = ElementsOf(axes);
  SortAsTheyLie(axes);
  StepInOrder(axes);
  const std::int64_t parts = elements <= most ? 1 : std::min(most, kParts);
  return {.axes = Merged(axes),
          .parts = parts,
          .length = std::min(elements, most / parts),
          .spacing = elements / parts};
}

// Adds the elements from `begin` to `end`, counted in the order in which they lie. `to` is added to
// all their places in the result.
Status AddRange(const StridedLayout& layout, std::span<const Axis> axes, std::int64_t begin,
                std::int64_t end, std::int64_t to, RunReader& reader) {
  const Axis& along = axes.back();
  for (std::int64_t at = begin; at < end;) {
    std::int64_t rest = at / along.size;
    const std::int64_t within = at % along.size;
    Run run{.from = layout.offset + within * along.stride, .to = to + within * along.step};
    for (std::size_t i = axes.size() - 1; i-- > 0; rest /= axes[i].size) {
      run.from += rest % axes[i].size * axes[i].stride;
      run.to += rest % axes[i].size * axes[i].step;
    }
    run.count = std::min(along.size - within, end - at);
    SLUICE_TRY(reader.Add(run));
    at += run.count;
  }
  return {};
}

}  // namespace

Result<std::string> ReadStrided(const ByteSource& source, const StridedLayout& layout,
                                std::size_t most_elements) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i)
    axes.push_back({.size = layout.sizes[i], .stride = layout.strides[i]});
  StepInOrder(axes);
  const std::int64_t elements = ElementsOf(axes);
  const auto most = static_cast<std::int64_t>(std::min<std::size_t>(most_elements, INT64_MAX));
  if (elements == 0 || most == 0) return "";

  const Walk walk = elements <= most ? WalkAll(std::move(axes)) : WalkParts(std::move(axes), most);
  std::string result(static_cast<std::size_t>(walk.parts * walk.length) * layout.element_bytes,
                     '\0');
  RunReader reader(source, layout.element_bytes, walk.axes.back(), result);
  for (std::int64_t i = 0; i < walk.parts; ++i) {
    const std::int64_t begin = walk.spacing * i;
    SLUICE_TRY(
        AddRange(layout, walk.axes, begin, begin + walk.length, walk.length * i - begin, reader));
  }
  SLUICE_TRY(reader.Finish());
  return result;
}

}  // namespace sluice::model
