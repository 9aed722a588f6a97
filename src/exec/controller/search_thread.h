#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/worker_thread.h"
#include "control/controller.h"
#include "search/sampler.h"

namespace sluice {

// Runs a sampler on a thread of its own, so that a slow sampler never delays the controller.
// Requests are answered in order. `ready_descriptor` (an eventfd, not owned) becomes readable when
// there are answers.
class SearchThread final : public Searcher {
 public:
  SearchThread(std::unique_ptr<Sampler> sampler, int ready_descriptor)
      : sampler_(std::move(sampler)), answers_(ready_descriptor) {}

  void Observe(Observation observation) override;
  void Ask(std::uint64_t counter) override;
  void AskFork(TrialId fork, std::function<Point()> explore) override;
  std::vector<SearchAnswer> TakeAnswers() { return answers_.Take(); }

 private:
  std::unique_ptr<Sampler> sampler_;
  Answers<SearchAnswer> answers_;
  WorkerThread worker_{WorkerThread::AtEnd::kDrop};  // last: its tasks use the members above
};

}  // namespace sluice
