#pragma once

#include "ledger/ledger.h"

namespace sluice {

// Commits batches to disk, one at a time, while the caller continues. Each implementation has its
// own way to report the result of a batch.
class Committer {
 public:
  virtual ~Committer() = default;
  virtual bool busy() const = 0;
  // Must not be called while it is busy.
  virtual void Submit(Batch batch) = 0;
};

}  // namespace sluice
