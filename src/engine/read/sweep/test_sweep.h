#pragma once

// For tests of readers: sweeps of W&B, good and bad.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "engine/study.h"

namespace sluice {

// A good sweep with these lines. Keys that the lines do not set are added with good values.
inline std::string Sweep(std::string_view lines) {
  std::string text(lines);
  const auto add = [&](std::string_view key, std::string_view line) {
    const std::string at_line_start = "\n" + std::string(key) + ":";
    if (("\n" + text).find(at_line_start) == std::string::npos) text += line;
  };
  if (!text.empty()) text += '\n';
  add("program", "program: train.py\n");
  add("method", "method: random\n");
  add("metric", "metric: {name: loss, goal: minimize}\n");
  add("parameters", "parameters: {lr: {min: 0.0001, max: 0.1}}\n");
  add("run_cap", "run_cap: 5\n");
  return text;
}

inline StudySpec Good(std::string_view lines) {
  auto study = ReadStudy(Sweep(lines), "sweep.yaml", "sweep");
  EXPECT_TRUE(study) << study.error().message;
  return study ? std::move(*study) : StudySpec{};
}

inline std::string SweepProblems(std::string_view lines) {
  const auto study = ReadStudy(Sweep(lines), "sweep.yaml", "sweep");
  return study ? "" : study.error().message;
}

// The parameter x that this text describes.
inline Parameter X(const std::string& text) {
  const StudySpec study = Good("parameters: {x: " + text + "}");
  return study.space.size() == 1 ? study.space.parameters().front() : Parameter{};
}

inline std::string ProblemOfX(const std::string& text) {
  return SweepProblems("parameters: {x: " + text + "}");
}

}  // namespace sluice
