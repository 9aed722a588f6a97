#pragma once

#include <string>
#include <string_view>

namespace sluice {

enum class Health { kOk, kWarning, kProblem };

constexpr std::string_view Name(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kWarning: return "warning";
    case Health::kProblem: return "problem";
  }
  return "";
}

// One thing that the doctor looked at.
struct Checkup {
  std::string what;
  Health health = Health::kOk;
  std::string found;
};

}  // namespace sluice
