#pragma once

#include <cstdint>
#include <map>

#include "engine/engine_state.h"

namespace sluice {

// Returns the stated demand with its device memory corrected by measurements. `bytes` has the
// memory that a process was measured to take, for each number of trials that it trained at once.
// Measurements at two or more numbers of trials tell apart what a process takes once and what each
// of its trials adds. A measurement at one number only scales the stated memory. If no memory is
// stated, that measurement is attributed to the trials alone.
Demand CorrectedByMemory(const Demand& stated, const std::map<int, std::int64_t>& bytes);

// Replaces the stated memory of a study's trials by what the study's processes measured.
class MemoryMeter {
 public:
  explicit MemoryMeter(EngineState& state) : state_(state) {}

  // A process of the study measured this.
  void Learn(Study& study, const Measurement& measured);
  // A process of an earlier study measured this. The measurement counts until a process of this
  // study has measured memory.
  void Inherit(Study& study, const Measurement& measured);
  // The study is resumed, perhaps with another program or on another machine. So earlier
  // measurements are forgotten: immediately if no trial runs, or else once a running trial has
  // measured again.
  void MeasureAnew(Study& study);

 private:
  void Add(Study& study, const Measurement& measured);
  void Correct(Study& study);

  EngineState& state_;
};

}  // namespace sluice
