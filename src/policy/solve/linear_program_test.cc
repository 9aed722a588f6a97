#include "policy/solve/linear_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace sluice {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using Rows = std::vector<LinearProgram::Row>;

// 5 x + 4 y with 6 x + 4 y <= 24 and x + 2 y <= 6.
LinearProgram Textbook() {
  LinearProgram program(Rows{{.most = 24}, {.most = 6}});
  program.AddColumn(5, kUnbounded, {{0, 6}, {1, 1}});
  program.AddColumn(4, kUnbounded, {{0, 4}, {1, 2}});
  return program;
}

TEST(LinearProgramTest, TheCornerIsFoundWithItsPrices) {
  const LinearSolution solution = SolveLinear(Textbook());
  ASSERT_TRUE(solution.optimal);
  EXPECT_NEAR(solution.value, 21, 1e-9);
  EXPECT_THAT(solution.x, Pointwise(DoubleNear(1e-9), {3.0, 1.5}));
  EXPECT_THAT(solution.prices, Pointwise(DoubleNear(1e-9), {0.75, 0.5}));
}

TEST(LinearProgramTest, WholeNumbersAreNotTheRoundedCorner) {
  const IntegerSolution solution = SolveInteger(Textbook(), {});
  ASSERT_TRUE(solution.found);
  EXPECT_TRUE(solution.proven);
  EXPECT_THAT(solution.x, ElementsAre(4, 0));
}

TEST(LinearProgramTest, WhatHasNoSolutionOrNoEndIsNotOptimal) {
  LinearProgram impossible(Rows{{.least = 2, .most = 3}});
  impossible.AddColumn(1, 1, {{0, 1}});
  EXPECT_FALSE(SolveLinear(impossible).optimal);
  EXPECT_FALSE(SolveInteger(impossible, {}).found);
  LinearProgram endless(Rows{{.least = 0}});
  endless.AddColumn(1, kUnbounded, {{0, 1}});
  EXPECT_FALSE(SolveLinear(endless).optimal);
}

TEST(LinearProgramTest, NoColumnsAreAnAnswerOfZeros) {
  EXPECT_TRUE(SolveLinear(LinearProgram(Rows{{.most = 1}})).optimal);
  EXPECT_TRUE(SolveInteger(LinearProgram(Rows{{.most = 1}}), {}).proven);
  EXPECT_FALSE(SolveLinear(LinearProgram(Rows{{.least = 1}})).optimal);
  EXPECT_FALSE(SolveInteger(LinearProgram(Rows{{.least = 1}}), {}).found);
  EXPECT_TRUE(SolveLinear(LinearProgram(Rows{})).optimal);
}

TEST(LinearProgramTest, InterruptsAreStillTheProgramsOwn) {
  struct sigaction before{};
  struct sigaction after{};
  sigset_t blocked;
  sigaction(SIGINT, nullptr, &before);
  SolveInteger(Textbook(), {});
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGINT));
}

TEST(LinearProgramTest, TheSolversSayNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  SolveLinear(Textbook());
  SolveInteger(Textbook(), {.seconds = 0, .nodes = 0});
  SolveInteger(Textbook(), {.seconds = 1, .gap = 0.01});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace sluice
