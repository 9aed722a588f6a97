#include "train/bundle/workers.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>

#include <algorithm>
#include <atomic>
#include <exception>

namespace sluice::train {

Workers::Workers() : Workers(static_cast<std::size_t>(at::get_num_threads())) { Start(cores_); }

std::size_t Workers::Start(std::size_t wanted) {
  try {
    while (threads_.size() < wanted)
      threads_.push_back(std::make_unique<WorkerThread>(WorkerThread::AtEnd::kFinish));
  } catch (const std::exception&) {
  }
  return std::min(wanted, threads_.size());
}

void Workers::Run(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (count == 0) return;
  const std::size_t active = Start(std::min(count, cores_));
  const int own_threads = at::get_num_threads();
  const int share = static_cast<int>(cores_ / std::max<std::size_t>(active, 1));
  const at::ThreadLocalState settings;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> changed = false;
  std::vector<std::exception_ptr> thrown(count);
  const auto work = [&] {
    const at::ThreadLocalStateGuard guard(settings);
    if (at::get_num_threads() != share) {
      at::set_num_threads(share);
      changed = true;
    }
    for (std::size_t at = next++; at < count; at = next++) {
      try {
        task(at);
      } catch (...) {
        thrown[at] = std::current_exception();
      }
    }
  };
  if (active == 0) work();
  for (std::size_t i = 0; i < active; ++i) threads_[i]->Post(work);
  for (std::size_t i = 0; i < active; ++i) threads_[i]->WaitUntilIdle();
  // Threads that use PyTorch for the first time begin with the number that was set last.
  if (changed) at::set_num_threads(own_threads);
  for (const std::exception_ptr& each : thrown)
    if (each) std::rethrow_exception(each);
}

}  // namespace sluice::train
