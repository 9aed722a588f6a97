#include "base/worker_thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>

namespace sluice {

WorkerThread::WorkerThread(AtEnd at_end) : at_end_(at_end) {
  // The new thread inherits this mask, so that signals go to the threads that wait for them. With
  // SIGPIPE blocked, a write to a closed pipe or socket fails instead of ending the process.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WorkerThread::Post(std::move_only_function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void WorkerThread::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty(); });
}

void WorkerThread::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return leave_ || !tasks_.empty(); });
    if (tasks_.empty() || (leave_ && at_end_ == AtEnd::kDrop)) return;
    auto& task = tasks_.front();  // stays valid when other tasks are posted
    lock.unlock();
    task();
    lock.lock();
    tasks_.pop_front();
    if (tasks_.empty()) changed_.notify_all();
  }
}

void Signal(int event_descriptor) {
  const std::uint64_t one = 1;
  // The write fails only if the counter is full, and then the descriptor is readable already.
  [[maybe_unused]] const ssize_t written = write(event_descriptor, &one, sizeof one);
}

void ClearSignal(int event_descriptor) {
  std::uint64_t count = 0;
  while (read(event_descriptor, &count, sizeof count) > 0) {
  }
}

}  // namespace sluice
