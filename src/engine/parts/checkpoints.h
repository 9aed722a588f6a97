#pragma once

#include <cstdint>
#include <string_view>

#include "engine/engine_state.h"

namespace sluice {

// Keeps track of the checkpoints that the engine believes to exist: those that launches saved, and
// the copies that forks begin from. Removes checkpoints to keep a study's checkpoint_cap.
class Checkpoints {
 public:
  explicit Checkpoints(EngineState& state) : state_(state) {}

  // The trial has a checkpoint of this size now; 0: none.
  void SetBytes(Study& study, Trial& trial, std::int64_t bytes);
  void Remove(Study& study, Trial& trial);
  // Removes checkpoints until the study keeps its cap. The checkpoints of running trials and of the
  // best trial are never removed.
  void Bound(Study& study);

  // Asks for a copy of the parent's checkpoint for this fork. The parent must not be running. If
  // the parent has no checkpoint, or one at the full budget, the fork trains from scratch.
  void AskCopy(Study& study, Trial& fork);
  // Asks for the copies of forks that waited for this parent to leave.
  void AskCopiesOf(Study& study, TrialId parent);
  void OnCopied(const CheckpointCopied& event);

 private:
  void GoOnFrom(const Study& study, Trial& fork, Work work);
  void TrainFromScratch(Study& study, Trial& fork, std::string_view why);

  EngineState& state_;
};

// The command that asks for a copy of the parent's checkpoint for this fork.
CopyCheckpoint CopyOf(const Study& study, const Trial& fork);

}  // namespace sluice
