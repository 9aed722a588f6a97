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
      {"lost-grant", "what a lost launch held is never given back"},
      {"endless-retries", "failures are not counted"},
      {"starved", "a trial that has run before waits behind new ones"},
      {"late-start", "trials start after the deadline"},
      {"parallelism", "more trials run at once than the study allows"},
      {"early-end", "a study ends while trials wait"},
      {"silent-budget", "a new budget never reaches the worker"},
      {"lost-proposal", "a proposal that was asked for is forgotten at a restart"},
      {"forgotten-rungs", "the stopper's state is not part of a snapshot"},
      {"clock-back", "time goes back with the machine's clock"},
      {"early-ack", "a message is acknowledged before it is on disk"},
      {"early-act", "a command is carried out before its event is on disk"},
      {"disowned", "a launch that still runs is taken for lost at a restart"},
      {"lost-spool", "what a worker left behind is not read"},
      {"endless-lease", "a worker that is silent is never given up"},
      {"no-sync", "commits are not synced"},
      {"stale-row", "the rows of trials that ended are not written"},
      {"snapshot-seq", "a snapshot says it is one event newer than it is"},
      {"lost-report", "some reports are not written"},
      {"replay-order", "a replay takes reports before other events"},
      {"ghost-node", "trials are placed on nodes that are down"},
      {"nan-best", "NaN ranks before everything"},
      {"missing-best", "a report without the metric counts as zero"},
      {"float-brackets", "how many brackets hyperband has is computed with logarithms"},
      {"one-rung", "a report that passes several rungs is recorded at the last of them only"},
      {"ties-in", "a trial that ties with the last of a rung's top is in it too"},
      {"extra-place", "a bracket lets one more go on than it has places"},
      {"turned-round", "a stopper takes a metric to maximise for one to minimise"},
      {"rung-value", "a trial is judged by its value at the rung, where its best is its result"},
      {"never-worse", "a trial's result does not get worse with its last report"},
      {"lowest-first", "paused trials are promoted from the lowest rung first"},
      {"never-closed", "a bracket or population waits for trials that will not come"},
      {"any-donor", "a fork may come from anyone, not only from the best"},
      {"dead-donor", "trials that have ended are still compared with, and forked from"},
      {"same-again", "a fork has its parent's parameters"},
      {"paused-unheard", "what a trial reports while it leaves to pause is not judged"},
      {"late-eviction", "a checkpoint that was given up is found by the trial's next launch"},
      {"start-charged", "a trial is charged for what the machine failed to start"},
      {"own-silence", "time that the controller lost counts as its workers' silence"},
      {"late-chain", "now and then the checksum of what happened is written with a later commit"},
      {"ahead-complete", "a trial whose checkpoint is ahead of its reports is taken for complete"},
      {"early-word", "what a worker that connects is told rests on what is not on disk yet"},
      {"end-again", "a program that came to its own end before its trial's target is run again"},
      {"never-begun", "an idle worker that leaves as it is given a trial is taken to have done it"},
      {"any-speaker", "a process that says that it is a worker may report for it"},
      {"copy-raced", "a trial is started while its checkpoint is being copied"},
      {"early-judgement", "asynchronous PBT judges at every report, not only at its stages"},
      {"lost-member", "when a process of several trials ends, only one of them is told of"},
      {"blamed-together", "when a process of several trials dies, all of them have failed"},
      {"never-alone", "a trial whose processes of several died twice joins another such process"},
      {"past-capacity", "a process is given more trials than it takes"},
      {"before-dropping", "a process is given a trial before it is told which ones to drop"},
      {"killed-neighbours",
       "a process is ended for one of its trials, and the others are not asked"},
      {"joined-by-number", "a launch joins a process by a number that may be another's by now"},
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
