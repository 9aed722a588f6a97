#include "base/result.h"

#include "base/check.h"

namespace sluice {

std::string_view Name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kFailedPrecondition: return "failed_precondition";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kOutOfMemory: return "out_of_memory";
    case ErrorCode::kCorruption: return "corruption";
  }
  SLUICE_CHECK(false, "an error code has a name");
}

}  // namespace sluice
