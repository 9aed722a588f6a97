#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace sluice::train {

// Measures how fast the trials of a group train, and decides when the controller is told: it plans
// how many trials to train together by that. Each telling is an event on the controller's disk, so
// a speed is told once for each number of trials, and again only after it has changed.
class Speed {
 public:
  // Shorter measurements say too little.
  static constexpr double kLeastSeconds = 2;
  static constexpr std::int64_t kLeastSteps = 20;
  // More than what rounds on a machine with other work differ by.
  static constexpr double kChanged = 0.25;

  // So many trials have trained a step, in these seconds, reports and all.
  void Trained(std::size_t trials, double seconds) {
    if (trials != trials_) *this = Speed(trials, std::move(told_));
    ++steps_;
    seconds_ += seconds;
  }

  // The steps a second of each trial, if it is time to tell them. To be called after a report, so
  // that the cost of evaluation counts.
  std::optional<double> Due() {
    if (seconds_ < kLeastSeconds || steps_ < kLeastSteps) return std::nullopt;
    const double speed = static_cast<double>(steps_) / seconds_;
    steps_ = 0;
    seconds_ = 0;
    const auto [told, is_new] = told_.try_emplace(trials_, speed);
    if (!is_new && std::abs(speed - told->second) <= kChanged * told->second) return std::nullopt;
    told->second = speed;
    return speed;
  }

  // How many trials trained in the last step.
  std::size_t trials() const { return trials_; }

  Speed() = default;

 private:
  Speed(std::size_t trials, std::map<std::size_t, double> told)
      : trials_(trials), told_(std::move(told)) {}

  std::size_t trials_ = 0;
  std::int64_t steps_ = 0;
  double seconds_ = 0;
  std::map<std::size_t, double> told_;  // by number of trials
};

}  // namespace sluice::train
