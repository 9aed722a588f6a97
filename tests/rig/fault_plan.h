#pragma once

#include "base/random.h"
#include "base/time.h"

namespace sluice {

// What a world is made for. Most worlds have no theme. A theme makes situations frequent that are
// rare in other worlds.
enum class Theme {
  kNone,
  kCrowds,     // one process trains many trials at once
  kCopies,     // many trials are forks, their checkpoints are copied slowly, and few are kept
  kDeadlines,  // the study ends at a deadline again and again, while its programs end by themselves
  kDisks,      // the controller's disk fails again and again
};
Theme DrawTheme(Random random);

// Which faults a world has, and how often they occur. Each seed draws a plan of its own, because
// with all faults in every world the frequent faults would hide the rare ones.
struct FaultPlan {
  // Probabilities of faults of a worker, at each step of its training.
  double crash = 0;
  double hang = 0;
  double slow = 0;  // permanently ten times slower
  double exec = 0;  // replaces itself by a new process of the same program
  double lie = 0;   // sends a message that the protocol forbids, or that is not true
  // Probabilities for a process that carries several launches.
  double deaf = 0;    // one of its launches ignores the request to leave
  double shrink = 0;  // lowers its capacity, and hands some launches back
  double refuse = 0;  // hands a launch back at the moment when it is asked to leave it
  // Probabilities for a process that is to be started.
  double spawn_fails = 0;
  double stillborn = 0;    // ends before it has sent anything
  double not_started = 0;  // its launcher starts, but cannot start the program
  double misnames = 0;     // reports other numbers than the study's objective
  double unlike = 0;  // trains trials of several shapes at once, other than the study's processes
  // For a connection: the probability of a break at each line, and the latency of a line.
  double cut = 0;
  Duration latency{1000};  // at most

  Duration copy{1000};  // the longest time that a copy of a checkpoint takes

  // Mean times between two faults of a kind; 0: never.
  Duration node_loss{0};
  Duration controller_crash{0};
  Duration power_cut{0};  // of the controller's machine: what was not synced is gone
  Duration disk_full{0};
  Duration disk_error{0};
  // Not a mean time: above 0, the clock jumps at some starts of a controller.
  Duration clock_jump{0};
  Duration user{0};      // a user stops, retries, enqueues or interrupts
  Duration stranger{0};  // a process connects and pretends to be a worker
  Duration suspend{0};   // the machine is suspended for a while, so its clock jumps
  Duration breakage{0};  // for a while no program can be started, or each ends at once
  // Probabilities at a start of a controller.
  double edit = 0;     // the study's file was edited
  double offline = 0;  // a user stopped or retried a trial while no controller ran
};

// Draws the faults of a world.
FaultPlan DrawFaults(Random random, Theme theme);

}  // namespace sluice
