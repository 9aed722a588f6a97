#pragma once

#include "base/random.h"
#include "base/time.h"

namespace sluice {

// Which things go wrong in a world, and how often. Each seed draws a plan of its own: with all
// faults at once the rare ones would hide behind the frequent.
struct FaultPlan {
  // Of workers, at each step of their training.
  double crash = 0;
  double hang = 0;
  double slow = 0;  // for good: ten times slower
  double exec = 0;  // replaces itself by a new process of the same program
  double lie = 0;   // says something that the protocol forbids, or that is not true
  // Of processes that are to be started.
  double spawn_fails = 0;
  double stillborn = 0;  // ends before it has said anything
  // Of connections, at each line.
  double cut = 0;
  Duration latency{1000};  // at most

  // Mean time between two of them; 0: never.
  Duration node_loss{0};
  Duration controller_crash{0};
  Duration power_cut{0};  // of the controller's machine: what was not synced is gone
  Duration disk_full{0};
  Duration disk_error{0};
  // Not a mean time: above 0, the clock jumps at some starts of a controller.
  Duration clock_jump{0};
  Duration user{0};      // a user stops, retries, enqueues or interrupts
  Duration stranger{0};  // a process connects that is not the worker it says it is
  Duration suspend{0};   // of the machine, for a while: its clock leaps
};

// Draws the faults of a world.
FaultPlan DrawFaults(Random random);

}  // namespace sluice
