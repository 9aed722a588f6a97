#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {

// Runs tasks on a thread of its own, in the order in which they were posted. All signals are
// blocked on that thread.
class WorkerThread {
 public:
  // What the destructor does with tasks that have not begun: drops them, or runs them. In both
  // cases it waits for the task that is running.
  enum class AtEnd { kDrop, kFinish };

  // Throws std::system_error if the machine has no room for another thread.
  explicit WorkerThread(AtEnd at_end);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void Post(std::move_only_function<void()> task);
  // Waits until every task that was posted has run.
  void WaitUntilIdle();

 private:
  void Work();

  const AtEnd at_end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::move_only_function<void()>> tasks_;  // the first task is the one that is running
  bool leave_ = false;
  std::thread thread_;
};

// Makes an event descriptor (eventfd) readable.
void Signal(int event_descriptor);
// Makes an event descriptor unreadable again. It must be a non-blocking descriptor.
void ClearSignal(int event_descriptor);

// Passes the results of tasks on a worker thread to another thread. `ready_descriptor` (an eventfd,
// not owned) becomes readable when there are answers.
template <typename Answer>
class Answers {
 public:
  explicit Answers(int ready_descriptor) : ready_descriptor_(ready_descriptor) {}

  void Add(Answer answer) {
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back(std::move(answer));
    }
    Signal(ready_descriptor_);
  }

  std::vector<Answer> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
  }

 private:
  const int ready_descriptor_;
  std::mutex mutex_;
  std::vector<Answer> answers_;
};

}  // namespace sluice
