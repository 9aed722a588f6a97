#include "engine/read/objective_reader.h"

#include <gtest/gtest.h>

#include "engine/read/test_study_text.h"

namespace sluice {
namespace {

TEST(ObjectiveReaderTest, ChecksObjectives) {
  EXPECT_EQ(With("objective: accuracy"),
            "study.yaml:1: objective: expected {maximize: METRIC} or {minimize: METRIC}, found "
            "accuracy; write '{maximize: accuracy}' or '{minimize: accuracy}'");
  EXPECT_EQ(With("objective: {maximise: accuracy}"),
            "study.yaml:1: objective.maximise: unknown key; write 'maximize: accuracy'");
  EXPECT_EQ(With("objective: {maximize: a, minimize: b}"),
            "study.yaml:1: objective: expected either maximize or minimize, found {maximize: a, "
            "minimize: b}; a study has one objective: report a number that weighs what counts, and "
            "name that");
  EXPECT_EQ(
      With("objective: {maximize: epoch}"),
      "study.yaml:1: objective.maximize: expected a metric, found epoch, which is the unit of "
      "the budget; name what the program reports");
  EXPECT_EQ(With("objective: {maximize: ''}"),
            "study.yaml:1: objective.maximize: expected a metric's name of at most 100 characters, "
            "found ''");
}

TEST(ObjectiveReaderTest, ChecksStopAt) {
  EXPECT_EQ(With("stop_at: {loss: 0.1}"),
            "study.yaml:1: stop_at.loss: expected {below: 0.1} or {above: 0.1}, since loss is not "
            "the objective, found 0.1");
  EXPECT_EQ(With("stop_at: {loss: {blow: 0.1}}"),
            "study.yaml:1: stop_at.loss.blow: unknown key (did you mean 'below'?)");
  EXPECT_EQ(With("stop_at: {loss: {below: 1, above: 2}}"),
            "study.yaml:1: stop_at.loss: expected either {below: NUMBER} or {above: NUMBER}, found "
            "{below: 1, above: 2}");
  EXPECT_EQ(With("stop_at: {accuracy: .nan}"),
            "study.yaml:1: stop_at.accuracy: expected a finite number, found .nan");
  EXPECT_EQ(
      With("stop_at: {}"),
      "study.yaml:1: stop_at: expected a metric and its value, as in {accuracy: 0.9}, found {}");
}

}  // namespace
}  // namespace sluice
