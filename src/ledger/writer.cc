#include "ledger/writer.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace sluice {

void Writer::Submit(Batch batch) {
  SLUICE_CHECK(!busy_, "one batch is under way at a time");
  busy_ = true;
  worker_.Post([this, batch = std::move(batch)] { done_.Add(ledger_->Commit(batch)); });
}

std::optional<Status> Writer::TakeDone() {
  std::vector<Status> done = done_.Take();
  if (done.empty()) return std::nullopt;
  busy_ = false;
  return std::move(done.front());
}

Status Writer::Wait() {
  SLUICE_CHECK(busy_, "a batch is under way");
  worker_.WaitUntilIdle();
  return *TakeDone();
}

}  // namespace sluice
