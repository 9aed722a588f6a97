#pragma once

#include <string>
#include <vector>

namespace sluice::model {

// How the evaluation graph compares with the outputs of module.eval(), which sluice.export stored
// beside the archive.
struct Comparison {
  enum class Verdict { kEqual, kDiffers, kUnchecked };
  Verdict verdict = Verdict::kUnchecked;
  std::string about = {};  // what differs, or why nothing was checked
};

// "equal", "differs: ...", "unchecked: ...".
std::string ComparisonText(const Comparison& comparison);

// What a network is evaluated by.
struct EvaluationPlan {
  enum class By {
    kEvaluationGraph,
    kTrainingGraph,  // the study says so: `evaluate: as_trained`
    kNothing,        // the loss of training is the only metric
  };
  By by = By::kEvaluationGraph;
  std::string why = {};  // a sentence for the user; empty if there is nothing to say
};

// A network whose evaluation differs is not evaluated, unless the study asks to evaluate it as in
// training. One that could not be compared is evaluated, and the user is told. `notes` are those of
// the evaluation (MakeEvaluation).
EvaluationPlan PlanEvaluation(const Comparison& comparison, const std::vector<std::string>& notes,
                              bool as_trained);

}  // namespace sluice::model
