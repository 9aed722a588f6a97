#include "space/space_reader.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

const std::vector<std::string> kReserved = {"trial", "seed"};

// What is wrong with a space, or nothing.
std::string Problems(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "s.yaml");
  if (!file) return file.error().message;
  const auto space = ReadSpace(file->root(), kReserved);
  const Status status = file->Check();
  EXPECT_TRUE(space || !status) << "what is refused is reported";
  return status ? "" : status.error().message;
}

TEST(SpaceReaderTest, ReadsEveryKind) {
  const auto file = ConfigFile::Parse(
      "lr: {float: [1e-4, 1e-1], log: true}\n"
      "width: {int: [16, 256], step: 16}\n"
      "act: {choice: [relu, true, 3, 0.5, '4']}\n"
      "opt: {categorical: [sgd]}\n"
      "size:\n  ordinal:\n    - small\n    - large\n",
      "s.yaml");
  const auto space = ReadSpace(file->root(), kReserved);
  ASSERT_TRUE(space) << file->Check().error().message;
  const auto& parameters = space->parameters();
  ASSERT_EQ(parameters.size(), 5U);
  EXPECT_EQ(parameters[0].name, "lr");
  EXPECT_EQ(parameters[0].kind, ParameterKind::kFloat);
  EXPECT_EQ(parameters[0].law, Law::kLog);
  EXPECT_EQ(parameters[0].low, 1e-4);
  EXPECT_EQ(parameters[1].kind, ParameterKind::kInt);
  EXPECT_EQ(parameters[1].step, 16);
  EXPECT_EQ(parameters[2].choices, (std::vector<Choice>{std::string("relu"), true, std::int64_t{3},
                                                        0.5, std::string("4")}));
  EXPECT_EQ(parameters[3].kind, ParameterKind::kCategorical);
  EXPECT_EQ(parameters[4].kind, ParameterKind::kOrdinal);
}

TEST(SpaceReaderTest, ChoicesThatReadTheSameOnACommandLineAreOne) {
  EXPECT_EQ(Problems("a: {choice: [true, 'true']}"),
            "s.yaml:1: a: expected each choice once, found 'true' again; remove one");
}

TEST(SpaceReaderTest, RefusesBadRanges) {
  EXPECT_EQ(Problems("lr: {float: [1.0, 0.1]}"),
            "s.yaml:1: lr: expected low < high, found [1.0, 0.1]");
  EXPECT_EQ(Problems("n: {int: [3, 3]}"), "s.yaml:1: n: expected low < high, found [3, 3]");
  EXPECT_EQ(
      Problems("lr: {float: [0, 1], log: true}"),
      "s.yaml:1: lr: expected low > 0, since log is true, found [0, 1]; raise low or remove log");
  EXPECT_EQ(Problems("lr: {float: 1}"), "s.yaml:1: lr: expected a range [low, high], found 1");
  EXPECT_EQ(Problems("lr: {float: [1, 2, 3]}"),
            "s.yaml:1: lr: expected a range [low, high], found [1, 2, 3]");
  EXPECT_EQ(Problems("lr: {float: [a, 2]}"), "s.yaml:1: lr: expected a number, found a");
  EXPECT_EQ(Problems("lr: {float: [0, .inf]}"),
            "s.yaml:1: lr: expected a finite number, found .inf");
  EXPECT_EQ(
      Problems("lr: {float: [-1e308, 1e308]}"),
      "s.yaml:1: lr: expected a range narrower than the largest number, found [-1e308, 1e308]");
  EXPECT_EQ(Problems("n: {int: [1.5, 2]}"),
            "s.yaml:1: n: expected a whole number from -9007199254740991 to 9007199254740991, "
            "found 1.5");
  EXPECT_EQ(Problems("lr: {float: [1, 2], log: yes}"),
            "s.yaml:1: lr.log: expected true or false, found yes");
}

TEST(SpaceReaderTest, RefusesBadSteps) {
  EXPECT_EQ(Problems("n: {int: [1, 4], step: 0}"),
            "s.yaml:1: n.step: expected a step above 0 and of at most 3, the width of the range, "
            "found 0");
  EXPECT_EQ(Problems("n: {int: [1, 4], step: 9}"),
            "s.yaml:1: n.step: expected a step above 0 and of at most 3, the width of the range, "
            "found 9");
  EXPECT_EQ(Problems("x: {float: [1, 4], log: true, step: 1}"),
            "s.yaml:1: x.step: expected either log or step, found both; remove one");
  EXPECT_EQ(Problems("x: {float: [0, 1], step: 1e-300}"),
            "s.yaml:1: x: expected at most 2^53 values, found 1e-300 as the step");
}

TEST(SpaceReaderTest, RefusesBadChoices) {
  EXPECT_EQ(Problems("a: {choice: []}"),
            "s.yaml:1: a: expected a list of choices with at least one, found []");
  EXPECT_EQ(Problems("a: {choice: x}"),
            "s.yaml:1: a: expected a list of choices with at least one, found x");
  EXPECT_EQ(Problems("a: {ordinal: [x, y, x]}"),
            "s.yaml:1: a: expected each choice once, found x again; remove one");
  EXPECT_EQ(Problems("a: {choice: [x, null]}"),
            "s.yaml:1: a: expected a text, a number, true or false, found nothing; quote it if a "
            "text is meant");
  EXPECT_EQ(Problems("a: {choice: [.inf]}"),
            "s.yaml:1: a: expected a finite number, found .inf; quote it if a text is meant");
}

TEST(SpaceReaderTest, RefusesUnknownKindsAndKeys) {
  EXPECT_EQ(Problems("a: {flaot: [1, 2]}"),
            "s.yaml:1: a: expected a kind: float, int, choice, categorical, ordinal, found flaot "
            "(did you mean 'float'?)");
  EXPECT_EQ(Problems("a: {}"),
            "s.yaml:1: a: expected a kind: float, int, choice, categorical, ordinal, found none");
  EXPECT_EQ(Problems("a: {int: [1, 2], float: [1, 2]}"),
            "s.yaml:1: a: expected one kind, found int and float; remove one");
  EXPECT_EQ(Problems("a: [1, 2]"),
            "s.yaml:1: a: expected a parameter such as {float: [0.1, 1]}, {int: [1, 4]} or "
            "{choice: [a, b]}, found [1, 2]");
  EXPECT_EQ(Problems("a: {int: [1, 9], stp: 2}"),
            "s.yaml:1: a.stp: unknown key (did you mean 'step'?)");
  EXPECT_EQ(Problems("a: {choice: [x], log: true}"),
            "s.yaml:1: a.log: unknown key; expected one of choice");
}

TEST(SpaceReaderTest, RefusesBadNames) {
  EXPECT_EQ(Problems("9a: {int: [1, 2]}"),
            "s.yaml:1: 9a: expected a name of at most 100 letters, digits, '_', '.' and '-' that "
            "begins with a letter or '_', found '9a'");
  EXPECT_EQ(Problems("seed: {int: [1, 2]}"),
            "s.yaml:1: seed: expected a name other than trial, seed, which mean something in "
            "templates; rename the parameter");
  EXPECT_EQ(Problems("a: {int: [1, 2]}\na: {int: [1, 2]}"),
            "s.yaml:2: a: expected each key once, found it again (first on line 1); remove one");
}

TEST(SpaceReaderTest, RefusesAnEmptySpace) {
  EXPECT_EQ(Problems("{}"),
            "s.yaml:1: expected at least one parameter, found {}; write 'lr: {float: [0.1, 1]}' "
            "below it");
}

TEST(SpaceReaderTest, SaysEverythingAtOnceInOrderOfLines) {
  EXPECT_EQ(Problems("b:\n  float: [2, 1]\na: {int: [1, x]}\nc: {choice: []}\n"),
            "s.yaml:2: b: expected low < high, found [2, 1]\n"
            "s.yaml:3: a: expected a whole number from -9007199254740991 to 9007199254740991, "
            "found x\n"
            "s.yaml:4: c: expected a list of choices with at least one, found []");
}

}  // namespace
}  // namespace sluice
