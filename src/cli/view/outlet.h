#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace sluice {

// Writes to a descriptor from a thread of its own, in order. Bytes that cannot be written (the
// reader is gone) are dropped, and so are those that come while megabytes wait. Called by one
// thread. The destructor waits until all is written.
class Outlet {
 public:
  explicit Outlet(int descriptor);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // False: dropped.
  bool Write(std::string bytes);
  // Whether all is written.
  bool idle();
  // Waits until all is written.
  void Flush();

 private:
  void Work();
  bool WriteAll(std::string_view bytes) const;

  const int descriptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;  // with what is being written
  bool leave_ = false;
  bool broken_ = false;
  std::thread thread_;
};

}  // namespace sluice
