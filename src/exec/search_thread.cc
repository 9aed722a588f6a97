#include "exec/search_thread.h"

#include <unistd.h>

#include <utility>

namespace sluice {

SearchThread::SearchThread(std::unique_ptr<Sampler> sampler, int ready_descriptor)
    : sampler_(std::move(sampler)),
      ready_descriptor_(ready_descriptor),
      thread_([this] { Work(); }) {}

SearchThread::~SearchThread() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SearchThread::Observe(Observation observation) { Post(std::move(observation)); }
void SearchThread::Ask(std::uint64_t counter) { Post(counter); }

void SearchThread::AskFork(TrialId fork, std::function<Point()> explore) {
  Post(Fork{fork, std::move(explore)});
}

void SearchThread::Post(Request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  changed_.notify_all();
}

std::vector<SearchAnswer> SearchThread::TakeAnswers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

void SearchThread::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return leave_ || !requests_.empty(); });
    if (leave_) return;
    const auto request = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    std::optional<SearchAnswer> answer;
    if (const auto* observation = std::get_if<Observation>(&request)) {
      sampler_->Observe(*observation);
    } else if (const auto* fork = std::get_if<Fork>(&request)) {
      answer = SearchAnswer{.counter = 0, .point = fork->explore(), .fork = fork->trial};
    } else {
      const std::uint64_t counter = std::get<std::uint64_t>(request);
      answer = SearchAnswer{.counter = counter, .point = sampler_->Propose(counter), .fork = {}};
    }
    lock.lock();
    if (!answer) continue;
    answers_.push_back(std::move(*answer));
    const std::uint64_t one = 1;
    if (write(ready_descriptor_, &one, sizeof one) < 0) {
      continue;  // only a full counter can refuse, and then the loop has been woken already
    }
  }
}

}  // namespace sluice
