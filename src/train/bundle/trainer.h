#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/client.h"
#include "data/sets/data_set.h"
#include "recipe/recipe.h"
#include "train/bundle/group.h"
#include "train/bundle/save_budget.h"
#include "train/bundle/speed.h"
#include "train/bundle/workers.h"

namespace sluice::train {

// Trains the trials that a controller gives to this process, as a study's recipe says, until the
// controller has no more trials for it. Trials of one shape are trained together; the groups of
// different shapes train in turns, a step each.
class Trainer {
 public:
  struct Options {
    // Where remarks for the user go: the process's standard error.
    std::function<void(const std::string&)> say;
  };
  // All of them outlive the trainer.
  Trainer(const recipe::Recipe& recipe, const data::DataSet& data, client::Client& client,
          Options options);

  // Returns when all trials have left and the process is to end.
  Status Run();

 private:
  // A trial that is trained here.
  struct Running {
    wire::Assign assign;
    recipe::TrialRecipe recipe;
    std::string shape;
    MemberId member{};
    std::optional<Work> target;  // nothing: without limit
    Work reported = 0;
    std::optional<double> best;  // report of the objective, where the best report counts
    // Of the training batches since the last multiple of reports_every_: not since the last report,
    // since a trial that was interrupted may report at other work.
    double loss_sum = 0;
    std::int64_t losses = 0;
    bool waits_for_verdict = false;
    double saved_s = 0;  // when the trial was saved last
    Work saved_work = -1;
    bool noted = false;  // what is special about a metric was said
  };

  double Now() const;  // seconds on a steady clock
  Group& GroupOf(const Running& running) { return *groups_.at(running.shape); }

  void HandleNews(client::News news);
  // Returns whether there was room for the trial beside those that are trained here.
  bool Begin(wire::Assign assign);
  Result<std::unique_ptr<Group>> OpenGroup(const recipe::TrialRecipe& shape);
  Result<Running> Start(const wire::Assign& assign);
  // The state of a checkpoint, for a trial that may be a fork of the one that wrote it. With
  // batches of another size it goes on after as many epochs.
  Result<TrialState> StateFor(const recipe::TrialRecipe& recipe, const Group& group,
                              LoadedTrial loaded) const;
  void Leave(const client::MustLeave& must_leave);
  // Forgets a trial that is trained here.
  void Drop(client::LaunchRef at);
  void End(client::LaunchRef at, client::Client::As as);
  void Fail(client::LaunchRef at, const std::string& reason);
  // A trial cannot go on here. It has diverged if an operator refused numbers that are not finite.
  // It is handed back if there is not enough memory for it beside others. Otherwise it fails.
  void Refused(client::LaunchRef at, const Error& why);
  void NoteTarget(const client::NewTarget& target);

  void TrainGroup(const std::string& shape, Group& group);
  void HandBack(client::LaunchRef at, const std::string& why);
  // From now on this process takes no more trials at once than it has.
  void TakeNoMore();
  // Which of the trials that have just trained are to be reported now.
  bool IsDue(const Running& running, std::int64_t steps) const;
  // Forgets the losses so far if those of the next report begin after this step.
  void EndWindow(Running& running, std::int64_t steps) const;
  // Tells the controller how fast the trial's group trains, if that is due.
  void TellSpeed(Group& group, client::LaunchRef at);
  void ReportDue(Group& group, const std::vector<client::LaunchRef>& due);
  void ReportWhole(Group& group, const std::vector<client::LaunchRef>& whole);
  // The report ends a trial whose loss is no number any more: it cannot get better.
  void ReportDiverged(client::LaunchRef at);
  void ReportOne(client::LaunchRef at, const Measured& measured);
  // Whether the report is the trial's best so far.
  bool NoteBest(Running& running, const wire::Values& values);
  // Saves the trial. Says so if that fails, and returns whether the trial is saved.
  bool Save(Running& running);
  bool AnyTrains() const;

  const recipe::Recipe& recipe_;
  const data::DataSet& data_;
  client::Client& client_;
  Options options_;
  Work reports_every_ = 1;
  Workers workers_;
  std::map<std::string, std::unique_ptr<Group>> groups_;  // by shape
  std::map<client::LaunchRef, Running> running_;
  std::map<std::pair<std::string, MemberId>, client::LaunchRef> launch_of_;
  std::map<std::string, Speed> speeds_;  // by shape
  SaveBudget save_budget_;
};

}  // namespace sluice::train
