#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/worker_thread.h"

namespace sluice {

// Writes to a descriptor, in order, from a thread of its own. So a slow reader does not delay the
// caller. Bytes are dropped if the reader is gone, or if more than 4 MiB wait to be written. Only
// one thread calls an Outlet. The destructor waits until all is written.
class Outlet {
 public:
  explicit Outlet(int descriptor) : descriptor_(descriptor) {}

  // Returns false if the bytes are dropped.
  bool Write(std::string bytes);
  // Whether all is written.
  bool idle() const { return waiting_bytes_ == 0; }
  // Waits until all is written.
  void Flush() { worker_.WaitUntilIdle(); }

 private:
  bool WriteAll(std::string_view bytes) const;

  const int descriptor_;
  std::atomic<std::size_t> waiting_bytes_ = 0;  // including what is being written
  std::atomic<bool> broken_ = false;
  WorkerThread worker_{WorkerThread::AtEnd::kFinish};  // last: its tasks use the members above
};

}  // namespace sluice
