// What it costs that several studies share an engine: the time that each event takes and the memory
// of the engine, beside the same studies one after the other.
//
//   build/release/bin/shared_studies [STUDIES] [TRIALS] [CORES]

#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/test_shared_engine.h"

namespace sluice {
namespace {

std::string Lines(const std::string& policy, int trials, int number) {
  return fmt::format("policy: {}\nsampler: random\ntrials: {}\nweight: {}\nbudget: {{max: 1}}\n",
                     policy, trials, 1 + number % 3);
}

double Bytes() { return static_cast<double>(mallinfo2().uordblks); }

struct Cost {
  double seconds = 0;
  std::uint64_t events = 0;
  double bytes = 0;  // of the engine once all is done
};

// Runs studies in one engine to their end.
Cost Run(const std::string& policy, int first, int studies, int trials, int cores) {
  const double before = Bytes();
  const auto begin = std::chrono::steady_clock::now();
  SharedEngine engine(NodeOf(cores * kWhole));
  for (int i = first; i < first + studies; ++i)
    engine.Add(Lines(policy, trials, i), 0.5 + 0.01 * i);
  engine.RunToEnd();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (const auto& study : engine.engine().studies())
    SLUICE_CHECK(study->finished, "every study comes to its end");
  return {took.count(), engine.events(), Bytes() - before};
}

void Compare(const std::string& policy, int studies, int trials, int cores) {
  const Cost together = Run(policy, 0, studies, trials, cores);
  Cost apart;
  for (int i = 0; i < studies; ++i) {
    const Cost one = Run(policy, i, 1, trials, cores);
    apart.seconds += one.seconds;
    apart.events += one.events;
    apart.bytes += one.bytes;
  }
  const auto micros = [](const Cost& cost) {
    return cost.seconds / static_cast<double>(cost.events) * 1e6;
  };
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", policy,
             together.events, micros(together), micros(apart), micros(together) / micros(apart),
             together.bytes / 1e6, apart.bytes / 1e6, together.bytes / apart.bytes);
}

}  // namespace
}  // namespace sluice

int main(int count, char** words) {
  const auto word = [&](int i, int otherwise) {
    return count > i ? std::atoi(words[i]) : otherwise;
  };
  const int studies = word(1, 50);
  const int trials = word(2, 200);
  const int cores = word(3, 64);
  fmt::print("{} studies of {} trials on {} cores\n\n", studies, trials, cores);
  fmt::print(
      "| policy | events | us an event, together | one after the other | ratio | MB "
      "together | sum of the others | ratio |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string policy : {"fifo", "lpt", "fluid-dynamic", "confluence"})
    sluice::Compare(policy, studies, trials, cores);
}
