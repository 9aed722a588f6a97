#include "ledger/writer.h"

#include <unistd.h>

#include "base/check.h"

namespace sluice {

Writer::Writer(std::unique_ptr<Ledger> ledger, int done_descriptor)
    : ledger_(std::move(ledger)), done_descriptor_(done_descriptor), thread_([this] { Work(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Writer::Submit(Batch batch) {
  SLUICE_CHECK(!busy_, "one batch is under way at a time");
  busy_ = true;
  {
    const std::lock_guard lock(mutex_);
    batch_ = std::move(batch);
  }
  changed_.notify_all();
}

std::optional<Status> Writer::TakeDone() {
  const std::lock_guard lock(mutex_);
  if (!done_) return std::nullopt;
  busy_ = false;
  return std::exchange(done_, std::nullopt);
}

Status Writer::Wait() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_.has_value(); });
  }
  return *TakeDone();
}

void Writer::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return batch_.has_value() || leave_; });
    if (!batch_) return;
    const Batch batch = std::move(*batch_);
    batch_.reset();
    lock.unlock();
    Status result = ledger_->Commit(batch);
    lock.lock();
    done_ = std::move(result);
    changed_.notify_all();
    const std::uint64_t one = 1;
    if (write(done_descriptor_, &one, sizeof one) < 0) {
      continue;  // only a full counter can refuse, and then the loop has been woken already
    }
  }
}

}  // namespace sluice
