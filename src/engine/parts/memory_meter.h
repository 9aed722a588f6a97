#pragma once

#include <cstdint>
#include <map>

#include "engine/engine_state.h"

namespace sluice {

// The demand with the device memory that processes were measured to take: `bytes` by the number of
// trials that a process trained at once. Measurements of two numbers or more tell what a process
// takes once and what each of its trials adds. From one number alone, the memory that the study's
// file states is scaled. If the file states none, a process takes nothing beside its trials.
Demand CorrectedByMemory(const Demand& stated, const std::map<int, std::int64_t>& bytes);

// Corrects the memory that a study's trials are said to need by what their processes measured.
class MemoryMeter {
 public:
  explicit MemoryMeter(EngineState& state) : state_(state) {}

  // A process of the study measured this.
  void Learn(Study& study, const Measurement& measured);
  // A process of an earlier study measured this. It counts until a process of this study has
  // measured memory.
  void Inherit(Study& study, const Measurement& measured);
  // The study is resumed, perhaps with another program or on another machine. What was measured
  // before is forgotten. If trials of it still run, it counts until one of them has measured again.
  void MeasureAnew(Study& study);

 private:
  void Add(Study& study, const Measurement& measured);
  void Correct(Study& study);

  EngineState& state_;
};

}  // namespace sluice
