#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "train/bundle/arrangement_choice.h"
#include "train/bundle/stack.h"
#include "train/bundle/workers.h"

namespace sluice::train {

// A number for a trial of a group that is not used again.
enum class MemberId : std::uint64_t {};

// All trials of one shape in this process. They are trained in stacks of as many trials as is
// fastest, one after another or side by side. A trial may join, leave, wait or go on between any
// two steps.
class Group {
 public:
  struct Options {
    bool unit_is_epoch = true;  // otherwise a unit of work is a step
    // How long the caller's clock has run, in seconds. Empty: nothing is measured, and stacks are
    // as wide as they may be.
    std::function<double()> seconds = {};
    // Trains stacks side by side, and outlives the group. Null: one after another.
    Workers* workers = nullptr;
  };
  Group(std::shared_ptr<const PreparedNetwork> network, std::unique_ptr<Batches> batches,
        Options options);

  const PreparedNetwork& network() const { return *network_; }
  std::size_t size() const { return members_.size(); }
  // How many steps make a unit of work.
  std::int64_t steps_per_unit() const { return steps_per_unit_; }

  // A trial begins, from its initial weights or from a state that was saved. Fails if the state is
  // none of this network. The trial's recipe has the shape of the group.
  Result<MemberId> Join(const recipe::TrialRecipe& recipe, std::uint64_t seed,
                        std::optional<TrialState> state);
  void Leave(MemberId member);
  // A trial that waits keeps its state and is not trained.
  void SetWaiting(MemberId member, bool waiting);
  bool AnyTrains() const;

  // A copy of a trial's state.
  TrialState StateOf(MemberId member) const;
  // The same without a copy, until the group changes.
  TrialState ViewOf(MemberId member) const;
  std::int64_t StepOf(MemberId member) const;

  struct Trained {
    MemberId member{};
    std::int64_t steps = 0;  // done by now
    double loss = 0;         // before the step; of the training batch
    // Why the trial could not be trained; it is as before the step. What PyTorch says where it
    // refuses the trial's numbers; out_of_memory if there is too little for the trial alone.
    std::optional<Error> refused = {};
  };
  // Trains every trial that does not wait by one step. If the memory does not suffice for a stack,
  // stacks get half as many trials from now on, or no longer train side by side if they have one
  // each; and trials that have not trained are missing in the result. If stacks cannot need less,
  // one of those trials is refused.
  std::vector<Trained> Step();

  // Whether there are examples to evaluate on that are not trained on, and it is known how.
  bool has_evaluation() const {
    return batches_->evaluation_examples() > 0 &&
           network_->evaluates_by() != model::EvaluationPlan::By::kNothing;
  }
  // Evaluates these trials, in this order. Fails with out_of_memory.
  Result<std::vector<Measured>> Evaluate(const std::vector<MemberId>& members) const;

  // Whether arrangements are still being tried.
  bool IsMeasuring() const;
  // How trials are stacked now.
  const Arrangement& arrangement() const { return arrangement_; }
  // No stack gets more trials than this from now on.
  void LimitWidth(std::size_t most);
  std::size_t most_width() const { return choice_.most_width(); }
  // Whether stacks may train side by side.
  bool allows_side_by_side() const { return choice_.allows_side_by_side(); }

 private:
  struct Place {
    std::size_t stack = 0;
    std::size_t at = 0;
  };
  struct Joined {
    Member member;
    bool waiting = false;
    std::optional<TrialState> parked;  // while it is in no stack
  };

  // Puts all trials that train into stacks of this width, the earliest first. Fails with
  // out_of_memory; some trials are then in no stack.
  Status Arrange(std::size_t width);
  // Keeps the states of trials that are in no stack.
  void Park(const std::vector<MemberId>& members, std::vector<TrialState> states);
  // Takes the trials of a stack out of it.
  void TakeApart(std::size_t stack);
  std::optional<Place> PlaceOf(MemberId member) const;
  // Evaluates a trial that is in no stack.
  Result<Measured> EvaluateParked(MemberId member) const;
  std::size_t TrialsThatTrain() const;
  Arrangement ArrangementFor(std::size_t trials) const;
  // Calls the task with 0, 1, ... below `count`, each time for another stack: side by side if they
  // are arranged so.
  void ForStacks(std::size_t count, const std::function<void(std::size_t)>& task) const;
  // Trains the trials of a stack one by one, and tells how each of them fared. If there is not
  // enough memory to stack them again, they are in no stack then.
  std::vector<Trained> StepOneByOne(std::size_t stack, Batches& batches);
  // Makes the next step need less memory than this one. If it cannot, refuses one of the trials
  // that have not trained.
  void NeedLess(std::size_t widest_failed, Error error, std::vector<Trained>& trained);

  std::shared_ptr<const PreparedNetwork> network_;
  Options options_;
  std::unique_ptr<Batches> batches_;
  std::int64_t steps_per_unit_ = 1;
  std::map<MemberId, Joined> members_;
  std::vector<Stack> stacks_;
  std::vector<std::vector<MemberId>> in_stacks_;
  ArrangementChoice choice_;
  Arrangement arrangement_;
  std::uint64_t next_member_ = 0;
};

// Trains by a step, and fails if a trial is refused.
Status StepAll(Group& group);

}  // namespace sluice::train
