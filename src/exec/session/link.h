#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "ledger/ledger.h"
#include "ledger/lock.h"
#include "ledger/store.h"
#include "wire/message.h"

namespace sluice {

constexpr Duration kNoPatienceNeeded = std::chrono::hours(24 * 365);

// A connection of the command line to the controller of a store.
class Link {
 public:
  // Fails with unavailable if no controller answers.
  static Result<Link> Connect(const StorePaths& paths);
  // Starts a controller if there is none. Waits for a process that holds the store for a moment.
  static Result<Link> ConnectOrStart(const StorePaths& paths);
  // The same, and borrows its pen.
  static Result<Link> Borrowed(const StorePaths& paths);

  Link(Link&& other) noexcept;
  Link& operator=(Link&& other) noexcept;
  ~Link();

  // The process of the controller.
  int pid() const;
  // Asks, and waits for the answer. Fails with unavailable if the controller has gone, or does not
  // answer in time; with failed_precondition and the controller's words if it refuses.
  Result<wire::Answer> Ask(const wire::Ask& ask, Duration patience = std::chrono::seconds(30));
  // Asks without waiting. The descriptor becomes readable when the answer arrives, or when the
  // controller has gone. TakeAnswer then reads it.
  Status Tell(const wire::Ask& ask);
  int descriptor() const { return descriptor_; }
  Result<wire::Answer> TakeAnswer(Duration patience = std::chrono::seconds(30));

  // Borrows the pen: until the next question, or until this link goes, this process may write to
  // the store. Fails with unavailable if the controller has just gone.
  Status Borrow();
  // Opens the store for writing while the pen is borrowed. Nothing is committed once it was lost.
  // The link must outlive the ledger.
  Result<std::unique_ptr<Ledger>> OpenLedger(const StorePaths& paths);

 private:
  explicit Link(int descriptor) : descriptor_(descriptor) {}
  Status CheckPen() const;

  int descriptor_;
};

// The right to write a store: its lock, or the pen of the controller that has the lock.
class Pen {
 public:
  // Fails with failed_precondition if another process holds the store and does not lend it.
  static Result<Pen> Take(const StorePaths& paths, const std::string& purpose);
  Result<std::unique_ptr<Ledger>> OpenLedger(const StorePaths& paths);
  // Whether a controller runs.
  bool is_borrowed() const { return link_.has_value(); }

 private:
  Pen() = default;
  std::optional<Link> link_;
  std::unique_ptr<StoreLock> lock_;
};

}  // namespace sluice
