#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "control/controller.h"
#include "search/sampler.h"

namespace sluice {

// Runs a sampler on a thread of its own, so that a slow one never holds up the controller. Requests
// are answered in order; `ready_descriptor` (an eventfd, not owned) becomes readable when there are
// answers.
class SearchThread final : public Searcher {
 public:
  struct Answer {
    std::uint64_t counter = 0;
    std::optional<Point> point;
  };

  SearchThread(std::unique_ptr<Sampler> sampler, int ready_descriptor);
  ~SearchThread() override;

  void Observe(Observation observation) override;
  void Ask(std::uint64_t counter) override;
  std::vector<Answer> TakeAnswers();

 private:
  void Work();
  void Post(std::variant<Observation, std::uint64_t> request);

  std::unique_ptr<Sampler> sampler_;
  int ready_descriptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::variant<Observation, std::uint64_t>> requests_;
  std::vector<Answer> answers_;
  bool leave_ = false;
  std::thread thread_;
};

}  // namespace sluice
