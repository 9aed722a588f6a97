#pragma once

#include "ledger/ledger.h"

namespace sluice {

// Makes batches durable, one at a time, while its caller goes on. The caller learns how each went.
class Committer {
 public:
  virtual ~Committer() = default;
  virtual bool busy() const = 0;
  // Must not be called while it is busy.
  virtual void Submit(Batch batch) = 0;
};

}  // namespace sluice
