#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// A study's chain is a checksum of its events and reports in order. It reveals rows that were
// changed, left out or added by other means than this program. It is stored with the study, from
// schema 2 on.

struct ChainedEvent {
  std::int64_t seq = 0;
  std::int64_t time_us = 0;
  std::string_view kind;
  std::string_view body;
};
struct ChainedReport {
  std::int64_t seq = 0;
  std::int64_t time_us = 0;
  std::uint64_t trial = 0;
  std::uint64_t launch = 0;
  std::uint64_t message = 0;
  std::uint64_t offset = 0;
  std::int64_t work = 0;
  std::string_view metrics;
};

// Returns the chain `before`, extended by one event or report. An empty chain is 0.
std::uint64_t Chain(std::uint64_t before, const ChainedEvent& event);
std::uint64_t Chain(std::uint64_t before, const ChainedReport& report);

}  // namespace sluice
