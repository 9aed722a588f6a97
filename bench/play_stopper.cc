// Runs stoppers on given learning curves, one trial at a time, without the engine and without
// processes. Trial n follows the n-th curve. Paused trials that may go on come before new trials.
// Prints a line for each stopper: how much work was done until some report was at most GOAL.
//
//   play_stopper CURVES TRIALS EPOCHS GOAL STOPPER...
//
// CURVES holds TRIALS * EPOCHS doubles, curve after curve. A STOPPER is NAME or NAME:PERCENTILE. A
// line is "NAME WORK TRIALS REACHED", with REACHED 0 if the curves ended before the goal was
// reached.

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "search/stopper.h"

namespace {

using namespace sluice;

struct Curves {
  std::size_t trials;
  Work epochs;
  std::vector<double> values;
  double At(std::size_t trial, Work epoch) const {
    return values[trial * static_cast<std::size_t>(epochs) + static_cast<std::size_t>(epoch) - 1];
  }
};

Curves ReadCurves(const std::string& path, std::size_t trials, Work epochs) {
  Curves curves{trials, epochs, {}};
  curves.values.resize(trials * static_cast<std::size_t>(epochs));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(curves.values.data()),
            static_cast<std::streamsize>(curves.values.size() * sizeof(double)));
  SLUICE_CHECK(file.good(), "the curves are there, all of them");
  return curves;
}

class Player {
 public:
  Player(const StopperSpec& spec, const Curves& curves, double goal)
      : curves_(curves), goal_(goal), work_(curves.trials) {
    auto stopper = MakeStopper(spec);
    SLUICE_CHECK(stopper.has_value(), stopper ? "" : stopper.error().message.c_str());
    stopper_ = std::move(*stopper);
  }

  // Runs trials until the goal is reached or no trial is left.
  void Play() {
    while (!reached_) {
      if (queue_.empty() && !Refill()) return;
      const Advance next = queue_.front();
      queue_.pop_front();
      Run(next.trial, next.target);
    }
  }

  Work work() const { return total_; }
  bool reached() const { return reached_; }
  std::size_t admitted() const { return admitted_; }

 private:
  bool Refill() {
    if (const auto group = stopper_->Next()) {
      queue_.assign(group->members.begin(), group->members.end());
      return true;
    }
    if (admitted_ == curves_.trials) {
      if (std::exchange(closed_, true)) return false;
      (void)stopper_->Closed();  // may stop paused trials, which needs no action here
      return Refill();
    }
    const auto trial = static_cast<TrialId>(++admitted_);
    queue_.push_back({trial, stopper_->Admit(trial)});
    return true;
  }

  void Run(TrialId trial, Work target) {
    Work& work = work_[Number(trial) - 1];
    while (work < target && !reached_) {
      ++work;
      ++total_;
      const double value = curves_.At(Number(trial) - 1, work);
      reached_ = value <= goal_;
      for (const Ruling& ruling : stopper_->Report(trial, work, value)) {
        if (ruling.trial != trial) continue;
        if (ruling.verdict != Verdict::kGoOn) return;
        target = ruling.target;
      }
    }
    if (work == curves_.epochs) (void)stopper_->End(trial, /*failed=*/false);
  }

  const Curves& curves_;
  double goal_;
  std::unique_ptr<Stopper> stopper_;
  std::vector<Work> work_;
  std::deque<Advance> queue_;
  std::size_t admitted_ = 0;
  Work total_ = 0;
  bool reached_ = false;
  bool closed_ = false;
};

}  // namespace

int main(int count, char** words) {
  if (count < 6) {
    fmt::print(stderr, "usage: play_stopper CURVES TRIALS EPOCHS GOAL STOPPER...\n");
    return 2;
  }
  const Curves curves =
      ReadCurves(words[1], std::strtoul(words[2], nullptr, 10), std::strtol(words[3], nullptr, 10));
  for (int i = 5; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t colon = word.find(':');
    StopperSpec spec = {.name = word.substr(0, colon), .max_budget = curves.epochs};
    if (colon != std::string::npos) spec.percentile = std::stod(word.substr(colon + 1));
    Player player(spec, curves, std::strtod(words[4], nullptr));
    player.Play();
    fmt::print("{} {} {} {:d}\n", word, player.work(), player.admitted(), player.reached());
  }
  return 0;
}
