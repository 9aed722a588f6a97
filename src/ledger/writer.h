#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"
#include "ledger/committer.h"
#include "ledger/ledger.h"

namespace sluice {

// Commits on a thread of its own, so that the next batch gathers while this one reaches the disk:
// group commit. At most one batch is under way. `done_descriptor` (an eventfd, not owned) becomes
// readable when it is done.
class Writer final : public Committer {
 public:
  Writer(std::unique_ptr<Ledger> ledger, int done_descriptor);
  ~Writer() override;  // waits for the batch under way

  bool busy() const override { return busy_; }
  void Submit(Batch batch) override;
  // The result of the batch under way, once it is done.
  std::optional<Status> TakeDone();
  // Waits for the batch under way and returns its result.
  Status Wait();

 private:
  void Work();

  std::unique_ptr<Ledger> ledger_;
  int done_descriptor_;
  bool busy_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Batch> batch_;
  std::optional<Status> done_;
  bool leave_ = false;
  std::thread thread_;
};

}  // namespace sluice
