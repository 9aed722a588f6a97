// rooms: recipe

// Any bytes at all are a trial.json of a checkpoint or are refused with a message. What is taken is
// written and read again as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "recipe/trial_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto trial =
      recipe::ReadTrialJson(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!trial) {
    const Error& error = trial.error();
    if (error.message.size() < 10) std::abort();
    if (error.code != ErrorCode::kCorruption && error.code != ErrorCode::kFailedPrecondition)
      std::abort();
    return 0;
  }
  // Sums of a few of them are no overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (trial->step < 0 || trial->step > kMost || trial->notes.losses < 0 ||
      trial->notes.losses > kMost)
    std::abort();
  const auto again = recipe::ReadTrialJson(recipe::ToJson(*trial));
  if (!again || recipe::ToJson(*again) != recipe::ToJson(*trial)) std::abort();
  return 0;
}
