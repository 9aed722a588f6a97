#pragma once

#include <cstdint>
#include <string_view>

#include "engine/engine_state.h"

namespace sluice {

// Which checkpoints the engine believes to be there: those that launches saved, less those removed
// to keep a study's checkpoint_cap, and the copies that forks begin from.
class Checkpoints {
 public:
  explicit Checkpoints(EngineState& state) : state_(state) {}

  // The trial has a checkpoint of this size now; 0: none.
  void SetBytes(Study& study, Trial& trial, std::int64_t bytes);
  void Remove(Study& study, Trial& trial);
  // Removes checkpoints until the study keeps its cap.
  void Bound(Study& study);

  // Asks for a copy of the parent's checkpoint for this fork. The parent must not be running. If it
  // has no checkpoint, or one at the full budget, the fork trains from scratch.
  void AskCopy(Study& study, Trial& fork);
  // Asks for the copies of forks that waited for this parent to leave.
  void AskCopiesOf(Study& study, TrialId parent);
  void OnCopied(const CheckpointCopied& event);

 private:
  void GoOnFrom(const Study& study, Trial& fork, Work work);
  void TrainFromScratch(Study& study, Trial& fork, std::string_view why);

  EngineState& state_;
};

// The command that asks for the copy of a fork.
CopyCheckpoint CopyOf(const Study& study, const Trial& fork);

}  // namespace sluice
