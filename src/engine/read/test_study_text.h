#pragma once

// For tests of readers: what is wrong with the text of a study.

#include <string>
#include <string_view>

#include "engine/study.h"

namespace sluice {

inline constexpr std::string_view kSpace = "space: {lr: {float: [1e-4, 1e-1], log: true}}\n";

// The mistakes in the text of a study; empty if there are none.
inline std::string StudyProblems(std::string_view text) {
  const auto study = ReadStudy(text, "study.yaml", "study");
  return study ? "" : study.error().message;
}

// The mistakes in a study made of these lines. Keys that they do not set are added with good
// values.
inline std::string With(std::string_view lines) {
  std::string text(lines);
  const auto add = [&](std::string_view key, std::string_view line) {
    if (lines.find(std::string(key) + ":") == std::string_view::npos) text += line;
  };
  text += '\n';
  add("program", "program: python train.py {args}\n");
  add("space", kSpace);
  add("objective", "objective: {maximize: accuracy}\n");
  add("trials", "trials: 24\n");
  return StudyProblems(text);
}

}  // namespace sluice
