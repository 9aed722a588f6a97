#pragma once

// For tests: spaces that are known to be good, and the messages about bad ones.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "space/space.h"

namespace sluice {

// A number from 0 to 1.
inline Parameter UnitFloat(std::string name, std::string when = "") {
  return {.name = std::move(name), .low = 0, .high = 1, .when = std::move(when)};
}

inline Space SpaceOf(std::vector<Parameter> parameters, std::vector<std::string> constraints = {}) {
  auto space = Space::Make(std::move(parameters), std::move(constraints));
  EXPECT_TRUE(space) << (space ? "" : space.error().message);
  return *std::move(space);
}

inline std::string MessageOf(std::vector<Parameter> parameters,
                             std::vector<std::string> constraints = {}) {
  const auto space = Space::Make(std::move(parameters), std::move(constraints));
  if (space) return "no error";
  EXPECT_EQ(space.error().code, ErrorCode::kInvalidArgument);
  return space.error().message;
}

}  // namespace sluice
