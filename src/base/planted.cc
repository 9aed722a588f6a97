#include "base/planted.h"

#ifdef SLUICE_PLANTED_BUGS

#include <algorithm>

#include "base/check.h"

namespace sluice {
namespace {

std::string& Current() {
  static std::string name;
  return name;
}

}  // namespace

const std::vector<PlantedBug>& PlantedBugs() {
  static const std::vector<PlantedBug> bugs = {
      {"old-launch", "reports of a launch that was given up are taken"},
      {"seen-again", "a message that is sent again is recorded again"},
      {"retrained-again", "work that an earlier launch has reported is recorded again"},
      {"free-share", "a device's shares are not counted when they are taken"},
      {"lost-grant", "the devices and cores of a lost launch are never given back"},
      {"endless-retries", "failures are not counted"},
      {"starved", "a trial that has run before waits behind new trials"},
      {"late-start", "trials start after the deadline"},
      {"parallelism", "more trials run at the same time than the study allows"},
      {"early-end", "a study ends while trials wait"},
      {"silent-budget", "a new budget never reaches the worker"},
      {"lost-proposal", "a proposal that was asked for is forgotten at a restart"},
      {"forgotten-rungs", "the stopper's state is not part of a snapshot"},
      {"clock-back", "time goes back with the machine's clock"},
      {"early-ack", "a message is acknowledged before it is on disk"},
      {"early-act", "a command is carried out before its event is on disk"},
      {"disowned", "a launch that still runs is taken for lost at a restart"},
      {"lost-spool", "the messages that a worker could not deliver are not read"},
      {"endless-lease", "a worker that is silent is never given up"},
      {"no-sync", "commits are not synced"},
      {"stale-row", "the rows of trials that ended are not written"},
      {"snapshot-seq", "a snapshot claims to include one event more than it does"},
      {"lost-report", "some reports are not written"},
      {"replay-order", "a replay takes reports before other events"},
      {"ghost-node", "trials are placed on nodes that are down"},
      {"nan-best", "NaN ranks before everything"},
      {"missing-best", "a report without the metric counts as zero"},
      {"float-brackets", "the number of hyperband's brackets is computed with logarithms"},
      {"one-rung", "a report that passes several rungs is recorded at the last of them only"},
      {"ties-in", "a trial that ties with the last of a rung's top is promoted too"},
      {"extra-place", "a bracket promotes one trial more than it has places"},
      {"turned-round", "a stopper minimises a metric that is to be maximised"},
      {"rung-value", "a trial is judged by its value at the rung, not by its best value so far"},
      {"never-worse", "a trial's result stays its best report where its last report should count"},
      {"lowest-first", "paused trials are promoted from the lowest rung first"},
      {"never-closed", "a bracket or population waits for trials that will not come"},
      {"any-donor", "a fork may come from any trial, not only from the best"},
      {"dead-donor", "trials that have ended still take part in comparisons and are forked from"},
      {"same-again", "a fork has its parent's parameters"},
      {"paused-unheard", "what a trial reports while it leaves to pause is not judged"},
      {"late-eviction", "a checkpoint that was evicted is found by the trial's next launch"},
      {"start-charged", "a start that the machine could not make counts as the trial's failure"},
      {"own-silence", "time in which the controller did not run counts as its workers' silence"},
      {"late-chain", "sometimes the checksum of the events is written with a later commit"},
      {"ahead-complete", "a trial whose checkpoint is ahead of its reports is taken for complete"},
      {"early-word", "a worker that connects is told of events that are not on disk yet"},
      {"end-again", "a program that ended by itself before its trial's target is run again"},
      {"never-begun", "a trial counts as done if its worker ended before it received the trial"},
      {"asked-complete", "a program that ends well because it is asked to end counts as done"},
      {"any-speaker", "a process that says that it is a worker may report for it"},
      {"copy-raced", "a trial is started while its checkpoint is being copied"},
      {"early-judgement", "asynchronous PBT judges at every report, not only at its stages"},
      {"lost-member", "when a process of several trials ends, only one of its trials ends"},
      {"blamed-together", "when a process of several trials dies, all its trials have failed"},
      {"never-alone", "a trial joins a third process of several trials after two such have died"},
      {"past-capacity", "a process is given more trials than it takes"},
      {"killed-neighbours",
       "a process is ended because of one of its trials, and its other trials cannot save first"},
      {"joined-by-number", "a launch joins a process by a number that is used again for others"},
      {"short-goodbye", "the rows of the trials of a study that leaves are not written", true},
      {"own-pen", "a controller numbers its events as if nobody else had written", true},
      {"hidden-used", "a study is given devices that are hidden from it", true},
      {"others-paused", "pausing a study pauses the others too", true},
  };
  return bugs;
}

void PlantBug(std::string_view name) {
  SLUICE_CHECK(name.empty() ||
                   std::ranges::find(PlantedBugs(), name, &PlantedBug::name) != PlantedBugs().end(),
               "a planted bug is on the list");
  Current() = name;
}

bool Planted(std::string_view name) { return Current() == name; }

}  // namespace sluice

#endif
