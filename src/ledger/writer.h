#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/worker_thread.h"
#include "ledger/committer.h"
#include "ledger/ledger.h"

namespace sluice {

// Commits on a thread of its own, so that the next batch gathers while this one reaches the disk:
// group commit. At most one batch is under way. `done_descriptor` (an eventfd, not owned) becomes
// readable when that batch is done.
class Writer final : public Committer {
 public:
  Writer(std::unique_ptr<Ledger> ledger, int done_descriptor)
      : ledger_(std::move(ledger)), done_(done_descriptor) {}

  bool busy() const override { return busy_; }
  void Submit(Batch batch) override;
  // The result of the batch under way; nullopt until the batch is done.
  std::optional<Status> TakeDone();
  // Waits for the batch under way and returns its result.
  Status Wait();
  // The ledger, while no batch is under way.
  Ledger& ledger() { return *ledger_; }

 private:
  std::unique_ptr<Ledger> ledger_;
  Answers<Status> done_;
  bool busy_ = false;
  // Declared last, since its tasks use the members above. Its destructor waits for the batch under
  // way.
  WorkerThread worker_{WorkerThread::AtEnd::kFinish};
};

}  // namespace sluice
