// rooms: exec

// Any bytes at all are the world of a study or are refused with a message. What is taken is written
// and read again as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "exec/study_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto world = DecodeWorld(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!world) {
    const Error& error = world.error();
    if (error.code != ErrorCode::kCorruption || !error.message.starts_with("expected "))
      std::abort();
    return 0;
  }
  for (const rlimit& limit : world->limits.resources) {
    if (limit.rlim_cur > limit.rlim_max) std::abort();
  }
  for (const std::string& variable : world->environment) {
    if (!world->Find(variable.substr(0, variable.find('=')))) std::abort();
  }
  const auto again = DecodeWorld(EncodeWorld(*world));
  if (!again || EncodeWorld(*again) != EncodeWorld(*world)) std::abort();
  return 0;
}
