#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace sluice::train {

// While it lives, this process gets so much more memory, and no more.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t more) {
    std::ifstream status("/proc/self/status");
    std::int64_t kib = 0;
    for (std::string name; status >> name;)
      if (name == "VmData:") status >> kib;
    EXPECT_EQ(getrlimit(RLIMIT_DATA, &before_), 0);
    const rlimit limit{.rlim_cur = static_cast<rlim_t>(kib * 1024 + more),
                       .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  }
  ~MemoryLimit() { (void)setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace sluice::train
