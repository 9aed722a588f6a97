#include "exec/controller/search_thread.h"

#include <utility>

namespace sluice {

void SearchThread::Observe(Observation observation) {
  worker_.Post([this, seen = std::move(observation)] { sampler_->Observe(seen); });
}

void SearchThread::Ask(std::uint64_t counter) {
  worker_.Post([this, counter] {
    answers_.Add({.counter = counter, .point = sampler_->Propose(counter), .fork = {}});
  });
}

void SearchThread::AskFork(TrialId fork, std::function<Point()> explore) {
  worker_.Post([this, fork, explore = std::move(explore)] {
    answers_.Add({.counter = 0, .point = explore(), .fork = fork});
  });
}

}  // namespace sluice
