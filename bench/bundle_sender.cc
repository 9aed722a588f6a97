// A trial program that carries many trials in one process and reports as fast as the client allows.
// It waits until all trials have joined. Then it reports in steps, with one report of each trial in
// a step, and ends once every report is acknowledged. Prints when its first report was made and
// when the last acknowledgement came.
//
//   bundle_sender TRIALS REPORTS
//
// REPORTS: how many reports each trial makes

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "client/client.h"

namespace {

using namespace sluice;
using client::Client;
using client::Clock;

std::int64_t NowNs() { return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

std::vector<wire::Assign> AwaitTrials(Client& client, std::size_t trials) {
  std::vector<wire::Assign> all;
  while (all.size() < trials) {
    client::News news = client.Wait(Clock::now() + std::chrono::minutes(1));
    SLUICE_CHECK(!news.finished && !news.joined.empty(), "all trials join one process");
    for (wire::Assign& joined : news.joined) all.push_back(std::move(joined));
  }
  return all;
}

void ReportAll(Client& client, const std::vector<wire::Assign>& trials, Work reports) {
  std::vector<client::LaunchReport> step;
  for (Work work = 1; work <= reports; ++work) {
    step.clear();
    for (const wire::Assign& trial : trials) {
      step.push_back({.at = trial.at,
                      .work = work,
                      .values = {{trial.objective, 1.0 / static_cast<double>(work)}}});
    }
    SLUICE_CHECK(client.Report(step).has_value(), "the reports are taken");
  }
}

}  // namespace

int main(int count, char** words) {
  SLUICE_CHECK(count == 3, "usage: bundle_sender TRIALS REPORTS");
  const int capacity = std::atoi(words[1]);
  const Work reports = std::strtoll(words[2], nullptr, 10);
  auto settings = client::SettingsFromEnvironment(capacity, /*several_shapes=*/false);
  SLUICE_CHECK(settings.has_value(), "sluice started this program");
  auto client = Client::Open(*std::move(settings));
  SLUICE_CHECK(client.has_value(), "the client opens");

  const auto trials = AwaitTrials(**client, static_cast<std::size_t>(capacity));
  const std::int64_t first_ns = NowNs();
  ReportAll(**client, trials, reports);
  for (const wire::Assign& trial : trials)
    SLUICE_CHECK((*client)->Leave(trial.at, Client::As::kDone).has_value(), "the trial leaves");
  (*client)->Close();  // waits for the acknowledgements
  fmt::print("{{\"reports\": {}, \"first_ns\": {}, \"last_ns\": {}}}\n", capacity * reports,
             first_ns, NowNs());
  return 0;
}
