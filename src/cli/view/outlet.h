#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/worker_thread.h"

namespace sluice {

// Writes to a descriptor from a thread of its own, in order. Bytes that cannot be written (the
// reader is gone) are dropped, and so are those that come while megabytes wait. Called by one
// thread. The destructor waits until all is written.
class Outlet {
 public:
  explicit Outlet(int descriptor) : descriptor_(descriptor) {}

  // False: dropped.
  bool Write(std::string bytes);
  // Whether all is written.
  bool idle() const { return waiting_bytes_ == 0; }
  // Waits until all is written.
  void Flush() { worker_.WaitUntilIdle(); }

 private:
  bool WriteAll(std::string_view bytes) const;

  const int descriptor_;
  std::atomic<std::size_t> waiting_bytes_ = 0;  // with what is being written
  std::atomic<bool> broken_ = false;
  WorkerThread worker_{WorkerThread::AtEnd::kFinish};  // the last: its tasks use what is above
};

}  // namespace sluice
