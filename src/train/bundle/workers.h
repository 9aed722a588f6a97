#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/worker_thread.h"

namespace sluice::train {

// Threads on which stacks are trained side by side. Each has a share of the cores: how many threads
// an operator uses is a setting of the thread that calls it (OpenMP's), and gradients of tensors on
// the CPU are computed by the thread that asks for them.
class Workers {
 public:
  // Threads start when they are first needed, at most one for each core. Where there is no memory
  // for so many, the tasks run on fewer; without any, on the calling thread.
  explicit Workers(std::size_t cores) : cores_(cores) {}
  // With the cores that PyTorch uses for an operator of the calling thread (OMP_NUM_THREADS). The
  // threads start here: later the memory may be too small for them.
  Workers();

  std::size_t cores() const { return cores_; }

  // Calls the task with 0, 1, ... below `count`, as many at a time as there are cores, and returns
  // when all calls have ended. PyTorch's settings of the calling thread hold in each call (whether
  // gradients are kept, autocast), but for the number of threads. If calls throw, the exception of
  // the lowest number is thrown again. The default type of PyTorch is one for the process: no call
  // changes it.
  void Run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  // Starts threads, up to `wanted` in all, and returns how many there are.
  std::size_t Start(std::size_t wanted);

  std::size_t cores_;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
};

}  // namespace sluice::train
