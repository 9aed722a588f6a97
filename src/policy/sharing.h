#pragma once

#include <vector>

#include "cluster/cluster.h"

namespace sluice {

// What trials hold: cores and devices.
struct Held {
  Milli cpus = 0;
  Milli gpus = 0;
  friend bool operator==(const Held&, const Held&) = default;
  Held& operator+=(const Held& more) {
    cpus += more.cpus;
    gpus += more.gpus;
    return *this;
  }
  Held& operator-=(const Held& less) {
    cpus -= less.cpus;
    gpus -= less.gpus;
    return *this;
  }
};
Held HeldWith(const Grant& grant);

// How much there is of a cluster. Nodes that are down do not count.
struct ClusterSize {
  Milli cpus = 0;
  std::int64_t devices = 0;

  explicit ClusterSize(const Cluster& cluster);
  // How much of the cluster this is, from 0 to 1: of its devices, or of its cores if that is more.
  double PartOf(const Held& held) const;
};

// A study among those that share a cluster.
struct Sharer {
  StudyId study{};
  double weight = 1;
  // Parts of the cluster times seconds: what the study has had, and what the trials that it runs
  // are still expected to take.
  double had = 0;
  double seconds = 1;  // for how long its next trial is expected to hold what it is given
  const Demand* demand = nullptr;  // of that trial, or of the program that trains several
  int wants = 0;                   // how many of these it could start if it had room
  const std::vector<std::string>* hidden = nullptr;  // uuids of devices that it may not use
};

// Room that is kept free for a study.
struct Reservation {
  StudyId study{};
  Grant grant;
  bool enough = true;  // for a trial; if not, the rest is still to become free
};

// Divides what is free among studies: the study that is furthest below its part, which is the one
// that has had least for its weight, gets the next device. So over time studies have devices in
// proportion to their weights, as long as they have work. Nothing that runs is touched. If what is
// free is too little for the trial of a study, it is kept for that study until there is enough: so
// wide trials do not starve beside narrow ones. Lent devices are not divided.
//
// Pure: the same studies, in any order, give the same division.
std::vector<Reservation> Divide(Cluster cluster, std::vector<Sharer> sharers);
// Whether there is anything to divide.
bool IsAnythingFree(const Cluster& cluster);

}  // namespace sluice
