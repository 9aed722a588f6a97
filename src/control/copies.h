#pragma once

#include <variant>
#include <vector>

#include "base/ids.h"
#include "engine/command.h"
#include "wire/message.h"

namespace sluice {

// The copies of checkpoints that are under way, and the commands that wait for them. A command
// waits if it may write to the checkpoint that is copied, or if it reads or writes the copy. Such
// commands are the starts of the parent and of the fork, the removal of either checkpoint, a copy
// of the copy, and another copy for the same fork. A command also waits if an earlier command waits
// and one of the two may write to a checkpoint that the other reads or writes. So commands on one
// checkpoint keep their order. All other commands are carried out meanwhile.
class Copies {
 public:
  using Waiting = std::variant<Start, CopyCheckpoint, Evict>;

  bool empty() const { return under_way_.empty() && waiting_.empty(); }
  // If the command has to wait, keeps it and returns true. Otherwise returns false, and the caller
  // carries the command out now.
  bool Hold(const Waiting& command);
  // The copy is under way from now on. To be called only if Hold has returned false for the copy.
  void Begin(const CopyCheckpoint& copy);
  // The copy for this fork is over. Returns the commands that waited for any copy, in order. The
  // caller tries to carry them all out. Hold keeps those again that still have to wait.
  std::vector<Waiting> End(TrialId fork);

  // Drops the start of this launch if it waits. Returns whether there was such a start.
  bool DropStart(wire::LaunchRef at);
  // Drops all waiting starts, and returns their launches.
  std::vector<wire::LaunchRef> DropStarts();

 private:
  std::vector<CopyCheckpoint> under_way_;
  std::vector<Waiting> waiting_;
};

}  // namespace sluice
