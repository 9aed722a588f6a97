#include "ledger/chain.h"

#include "base/digest.h"

namespace sluice {

std::uint64_t Chain(std::uint64_t before, const ChainedEvent& event) {
  return Digest()
      .Add(before)
      .Add(event.seq)
      .Add(event.time_us)
      .Add(event.kind)
      .Add(event.body)
      .Value();
}

std::uint64_t Chain(std::uint64_t before, const ChainedReport& report) {
  return Digest()
      .Add(before)
      .Add(report.seq)
      .Add(report.time_us)
      .Add(report.trial)
      .Add(report.launch)
      .Add(report.message)
      .Add(report.offset)
      .Add(report.work)
      .Add(report.metrics)
      .Value();
}

}  // namespace sluice
