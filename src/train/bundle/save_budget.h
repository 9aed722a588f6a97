#pragma once

namespace sluice::train {

// Decides when a trial is saved while it trains. A trial that is lost goes on from its last
// checkpoint, so it should be saved often; but saving may take longer than training an epoch of a
// small network. So savings take at most a twentieth of all time, and a trial is saved at most once
// in some seconds.
class SaveBudget {
 public:
  // A twentieth: a study is at most 5 % slower for being saved.
  static constexpr double kMostOfTime = 0.05;
  // What a trial may lose at most where savings cost little, in seconds.
  static constexpr double kEvery = 10;

  // Whether a trial that was saved `since_s` ago, or began then, is to be saved now.
  bool IsDue(double since_s) const { return since_s >= kEvery && MaySave(); }
  // Whether there is time for one more saving. A saving of the best report so far needs no more.
  bool MaySave() const { return saving_s_ + last_s_ <= kMostOfTime * (training_s_ + saving_s_); }

  void Trained(double seconds) { training_s_ += seconds; }
  void Saved(double seconds) {
    saving_s_ += seconds;
    last_s_ = seconds;
  }

 private:
  double training_s_ = 0;
  double saving_s_ = 0;
  double last_s_ = 0;  // what the last saving took, which the next is expected to take
};

}  // namespace sluice::train
