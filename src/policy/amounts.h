#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cluster/demand.h"

namespace sluice {

// Amounts of the resources of a device: what a trial takes of it, what is free on it, or all that
// it has.
struct Amounts {
  Milli share = 0;  // of its compute
  Milli bandwidth = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t clients = 0;
  Milli cpus = 0;  // of the device's node
  friend bool operator==(const Amounts&, const Amounts&) = default;

  Amounts& operator+=(const Amounts& more) {
    share += more.share;
    bandwidth += more.bandwidth;
    memory_bytes += more.memory_bytes;
    clients += more.clients;
    cpus += more.cpus;
    return *this;
  }
  Amounts& operator-=(const Amounts& less) {
    share -= less.share;
    bandwidth -= less.bandwidth;
    memory_bytes -= less.memory_bytes;
    clients -= less.clients;
    cpus -= less.cpus;
    return *this;
  }
  friend Amounts operator*(std::int64_t count, const Amounts& each) {
    return {.share = count * each.share,
            .bandwidth = count * each.bandwidth,
            .memory_bytes = count * each.memory_bytes,
            .clients = count * each.clients,
            .cpus = count * each.cpus};
  }
};

// One of the amounts: `amounts.*resource`.
using Resource = std::int64_t Amounts::*;

// All resources, for loops. The rows of linear programs and the terms of sums are in this order.
// Another order can round sums of doubles differently, and so lead to another plan.
inline constexpr std::array<Resource, 5> kResources = {
    &Amounts::share, &Amounts::bandwidth, &Amounts::memory_bytes, &Amounts::clients, &Amounts::cpus,
};

// Whether `takes` fits into `room`. Only resources that are taken count: a trial that takes no
// memory fits even if free memory is below 0 (because the node has shrunk).
inline bool Fits(const Amounts& takes, const Amounts& room) {
  const auto fits = [](std::int64_t takes_of_it, std::int64_t room_of_it) {
    return takes_of_it <= 0 || takes_of_it <= room_of_it;
  };
  return fits(takes.share, room.share) && fits(takes.bandwidth, room.bandwidth) &&
         fits(takes.memory_bytes, room.memory_bytes) && fits(takes.clients, room.clients) &&
         fits(takes.cpus, room.cpus);
}

// How often `takes` fits into `room`, at most `most` times. The result may be below 0 if a free
// amount is.
inline std::int64_t HowOftenFits(const Amounts& takes, const Amounts& room, std::int64_t most) {
  for (const Resource resource : kResources)
    if (takes.*resource > 0) most = std::min(most, room.*resource / takes.*resource);
  return most;
}

// The largest fraction of a resource that is taken, over all resources. If `all` has nothing of a
// resource, 1 stands for the whole.
inline double LargestFraction(const Amounts& takes, const Amounts& all) {
  double largest = 0;
  for (const Resource resource : kResources) {
    if (takes.*resource <= 0) continue;
    const auto whole = static_cast<double>(std::max<std::int64_t>(all.*resource, 1));
    largest = std::max(largest, static_cast<double>(takes.*resource) / whole);
  }
  return largest;
}

// These amounts, with 0 in place of each amount below 0.
inline Amounts AtLeastNothing(Amounts amounts) {
  for (const Resource resource : kResources)
    amounts.*resource = std::max<std::int64_t>(amounts.*resource, 0);
  return amounts;
}

}  // namespace sluice
