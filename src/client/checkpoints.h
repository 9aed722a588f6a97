#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "client/client.h"
#include "client/owner_lock.h"
#include "wire/message.h"

namespace sluice::client {

// The checkpoint folder of a trial, for one of its launches. A checkpoint in it is always complete,
// at whatever instant the process is killed. The Python package keeps the folder in the same way
// (python/sluice/_checkpoint.py has the steps), so that one can go on with what the other has
// saved.
//
//   latest            the latest checkpoint
//   best              the checkpoint at the work of the trial's best report, unless that is latest
//   .previous         the latest checkpoint while a new one is put in its place
//   .writing/LAUNCH   a checkpoint that is being written
//
// Each checkpoint has a file `.sluice-work` with its work, which the controller reads. One with a
// file `.sluice-past` is past that work, and never the checkpoint of a report. Only the launch that
// owns the folder changes it (OwnerLock). Calls for one folder come from one thread at a time.
class Checkpoints {
 public:
  // Called before and after each step that changes the folder or waits for the disk. For tests that
  // kill the process there.
  using AtStep = std::function<void()>;

  // The client must outlive this object.
  Checkpoints(Client& client, const wire::Assign& assign, AtStep at_step = {});

  // The folder of the latest checkpoint, and of the one at the work of the best report. Nothing if
  // there is none.
  Result<std::optional<std::string>> Latest();
  Result<std::optional<std::string>> Best();

  // What `write` writes to the folder that it gets becomes the latest checkpoint, at this work. The
  // messages of the launch so far are secured first (Client::Secure), and the controller is told.
  // If `write` fails, or the disk does, the latest checkpoint stays the previous one.
  //
  // Returns false if the checkpoint was dropped, because the launch was refused or a newer launch
  // of the trial owns the folder. `write` is then perhaps not called. The launch must leave: the
  // client's news says so (MustLeave::Why::kRefused). Fails with not_found if it has left already.
  //
  // `is_past`: the state is past this work, and not yet at the next.
  using Write = std::function<Status(const std::string& folder)>;
  Result<bool> Save(Work work, const Write& write, bool is_past = false);

 private:
  using Change = Status (Checkpoints::*)();

  // Calls `change` with the folder locked, and returns true. If another launch owns the folder,
  // drops the checkpoint, gives up the launch and returns false.
  Result<bool> DoAsOwner(Change change);
  Result<bool> SaveAsOwner(Work work, const Write& write);
  Status Begin();
  Status NoteWork();
  Status PutInPlace();
  Status PutAway();
  void PutBack();
  void Discard();
  bool IsBest(const std::string& checkpoint) const;

  Status Rename(const std::string& from, const std::string& to);
  Status Sync(const std::string& path);
  Status SyncTree(const std::string& root);
  void Remove(const std::string& path);
  void Step() const {
    if (at_step_) at_step_();
  }
  std::string Sub(std::string_view name) const;

  Client& client_;
  const wire::LaunchRef at_;
  const std::string folder_;
  const AtStep at_step_;
  std::string writing_;            // of the checkpoint that is being written; "": none is
  Work work_ = 0;                  // of that checkpoint
  bool is_past_ = false;           // that checkpoint is past its work
  std::optional<Work> best_work_;  // of the best report when it began
};

}  // namespace sluice::client
