#pragma once

#include <chrono>
#include <optional>

#include "cli/view/progress.h"

namespace sluice {

// Says when a study has a new best value to be told, at most once a second.
class BestNews {
 public:
  bool Take(const Progress& progress) {
    if (!progress.best || told_ == progress.best->value) return false;
    if (progress.now - at_ < std::chrono::seconds(1)) return false;
    told_ = progress.best->value;
    at_ = progress.now;
    return true;
  }

 private:
  std::optional<double> told_;
  Time at_{};
};

}  // namespace sluice
