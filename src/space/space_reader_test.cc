#include "space/space_reader.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

const std::vector<std::string> kReserved = {"trial", "seed"};

// The problems with a space. Empty if there are none.
std::string Problems(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "s.yaml");
  if (!file) return file.error().message;
  const auto space = ReadSpace(file->root(), {.reserved = kReserved});
  const Status status = file->Check();
  EXPECT_TRUE(space || !status) << "a refusal must be reported";
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
  const auto space = ReadSpace(file->root(), {.reserved = kReserved});
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
            "s.yaml:1: lr: expected low < high, found [1.0, 0.1]; write [0.1, 1.0]");
  EXPECT_EQ(Problems("n: {int: [3, 3]}"), "s.yaml:1: n: expected low < high, found [3, 3]");
  EXPECT_EQ(
      Problems("lr: {float: [0, 1], log: true}"),
      "s.yaml:1: lr: expected low > 0, since log is true, found [0, 1]; raise low or remove log");
  EXPECT_EQ(Problems("lr: {float: 1}"), "s.yaml:1: lr: expected a range [low, high], found 1");
  EXPECT_EQ(Problems("lr: {float: [1, 2, 3]}"),
            "s.yaml:1: lr: expected a range [low, high], found [1, 2, 3]; write 'float: [1, 2], "
            "step: 3' if the last is a step");
  EXPECT_EQ(Problems("lr: {float: [a, 2]}"), "s.yaml:1: lr: expected a number, found a");
  EXPECT_EQ(Problems("lr: {float: [0, .inf]}"),
            "s.yaml:1: lr: expected a finite number, found .inf");
  EXPECT_EQ(
      Problems("lr: {float: [-1e308, 1e308]}"),
      "s.yaml:1: lr: expected a range narrower than the largest number, found [-1e308, 1e308]");
  EXPECT_EQ(Problems("n: {int: [1.5, 2]}"),
            "s.yaml:1: n: expected a whole number, found 1.5; write 'float' for one that need not "
            "be whole");
  EXPECT_EQ(Problems("lr: {float: [1, 2], log: yes}"),
            "s.yaml:1: lr.log: expected true or false, found yes; write 'true'");
}

TEST(SpaceReaderTest, RefusesBadSteps) {
  EXPECT_EQ(Problems("n: {int: [1, 4], step: 0}"),
            "s.yaml:1: n.step: expected a step above 0 and of at most 3, the width of the range, "
            "found 0");
  EXPECT_EQ(Problems("n: {int: [1, 4], step: 9}"),
            "s.yaml:1: n.step: expected a step above 0 and of at most 3, the width of the range, "
            "found 9");
  EXPECT_EQ(Problems("x: {float: [1, 4], log: true, step: 1}"), "");
  EXPECT_EQ(Problems("x: {float: [0, 1], step: 1e-300}"),
            "s.yaml:1: x: expected at most 2^53 values, found 1e-300 as the step");
}

TEST(SpaceReaderTest, RefusesBadChoices) {
  EXPECT_EQ(Problems("a: {choice: []}"),
            "s.yaml:1: a: expected a list of choices with at least one, found []");
  EXPECT_EQ(
      Problems("a: {choice: x}"),
      "s.yaml:1: a: expected a list of choices with at least one, found x; write 'choice: [x]'");
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
            "{choice: [a, b]}, found [1, 2]; write 'a: {int: [1, 2]}' for a range, or 'a: {choice: "
            "[1, 2]}' for these two alone");
  EXPECT_EQ(Problems("a: {int: [1, 9], stp: 2}"),
            "s.yaml:1: a.stp: unknown key (did you mean 'step'?)");
  EXPECT_EQ(Problems("a: {choice: [x], log: true}"),
            "s.yaml:1: a.log: unknown key; expected one of choice, weights, when");
}

// The problems with a space and its constraints. Empty if there are none.
std::string ProblemsOf(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "s.yaml");
  if (!file) return file.error().message;
  const ConfigMap map = *file->root().Map();
  const auto space = ReadSpace(*map.Find("space"),
                               {.reserved = kReserved, .constraints = map.Find("constraints")});
  const Status status = file->Check();
  EXPECT_TRUE(space || !status) << "a refusal must be reported";
  return status ? "" : status.error().message;
}

Space Good(std::string_view text) {
  const auto file = ConfigFile::Parse(text, "s.yaml");
  const auto space = ReadSpace(file->root(), {.reserved = kReserved});
  EXPECT_TRUE(space) << file->Check().error().message;
  return *space;
}

TEST(SpaceReaderTest, ReadsConditionsInWordsAndAsMaps) {
  const Space space = Good(
      "optimizer: {choice: [sgd, adam, \"it's\"]}\n"
      "weight-decay: {int: [1, 4]}\n"
      "momentum: {float: [0, 1], when: optimizer == 'sgd'}\n"
      "a: {float: [0, 1], when: {optimizer: sgd}}\n"
      "b: {float: [0, 1], when: {optimizer: [sgd, \"it's\"], weight-decay: 3}}\n"
      "c: {choice: [x], when: true}\n");
  EXPECT_EQ(space.parameters()[3].when, "optimizer == 'sgd'");
  EXPECT_EQ(space.parameters()[4].when, "optimizer in ['sgd', 'it\\'s'] and `weight-decay` == 3");
  ASSERT_EQ(space.groups().size(), 3U);
  EXPECT_EQ(space.groups()[1], (std::vector<std::size_t>{2, 3}));
}

TEST(SpaceReaderTest, ReadsLawsAndWeights) {
  const Space space = Good(
      "a: {float: [0, 1], law: normal, mean: 0.5, sigma: 0.1}\n"
      "b: {int: [1, 100], law: lognormal, mean: 2, sigma: 1}\n"
      "c: {float: [-1, 1], law: beta, alpha: 2, beta: 3, step: 0.5}\n"
      "d: {float: [0.1, 1], law: inverse_log}\n"
      "e: {float: [0.1, 1], law: log}\n"
      "f: {choice: [x, y, z], weights: [2, 1, 1]}\n");
  EXPECT_EQ(space.parameters()[0].law, Law::kNormal);
  EXPECT_EQ(space.parameters()[0].first, 0.5);
  EXPECT_EQ(space.parameters()[0].second, 0.1);
  EXPECT_EQ(space.parameters()[1].law, Law::kLogNormal);
  EXPECT_EQ(space.parameters()[2].law, Law::kBeta);
  EXPECT_EQ(space.parameters()[3].law, Law::kInverseLog);
  EXPECT_EQ(space.parameters()[4].law, Law::kLog);
  EXPECT_EQ(space.parameters()[5].weights, (std::vector<double>{0.5, 0.25, 0.25}));
}

TEST(SpaceReaderTest, RefusesBadLawsAndWeights) {
  EXPECT_EQ(Problems("a: {float: [0, 1], law: nromal}"),
            "s.yaml:1: a.law: expected one of uniform, log, inverse_log, normal, lognormal, beta, "
            "found nromal (did you mean 'normal'?)");
  EXPECT_EQ(Problems("a: {float: [0, 1], law: normal, mean: 1}"),
            "s.yaml:1: a.sigma: expected a number, since law is normal, found nothing; add "
            "'sigma: 1'");
  EXPECT_EQ(Problems("a: {float: [0, 1], law: normal, mean: 1, sigma: 0}"),
            "s.yaml:1: a: expected sigma > 0, found 0");
  EXPECT_EQ(Problems("a: {float: [0, 1], law: beta, alpha: -1, beta: 1}"),
            "s.yaml:1: a: expected alpha above 0 and at most 1000000, found -1");
  EXPECT_EQ(Problems("a: {float: [0.1, 1], law: log, log: true}"),
            "s.yaml:1: a.log: expected either log or law, found both; remove one");
  EXPECT_EQ(Problems("a: {float: [0, 1], mean: 1}"),
            "s.yaml:1: a.mean: unknown key; expected one of float, log, step, law, when");
  EXPECT_EQ(Problems("a: {choice: [x, y], weights: [1]}"),
            "s.yaml:1: a.weights: expected a list of 2 weights, one for each choice, found [1]");
  EXPECT_EQ(Problems("a: {choice: [x, y], weights: [0, 0]}"),
            "s.yaml:1: a.weights: expected a weight above 0, found [0, 0]");
  EXPECT_EQ(Problems("a: {choice: [x, y], weights: [1, -1]}"),
            "s.yaml:1: a.weights: expected a number from 0 to 1000000, found -1");
}

TEST(SpaceReaderTest, RefusesBadConditionsWhereTheyStand) {
  EXPECT_EQ(Problems("opt: {choice: [sgd]}\n"
                     "m:\n  float: [0, 1]\n  when: opt == sgd\n"
                     "n: {float: [0, 1], when: optt == 'sgd'}\n"),
            "s.yaml:4: m.when: 'opt == sgd': column 8: expected a parameter, found sgd; write "
            "'sgd' for the choice of opt\n"
            "s.yaml:5: n.when: 'optt == 'sgd'': column 1: expected a parameter, found optt (did "
            "you mean 'opt'?)");
  EXPECT_EQ(Problems("a: {int: [1, 2], when: b == 1}\nb: {int: [1, 2], when: {a: 1}}"),
            "s.yaml:1: a: when 'b == 1': expected conditions that do not go round in a circle, "
            "found a -> b -> a, each depending on the next; remove one of them");
  EXPECT_EQ(Problems("a: {int: [1, 2], when: a == 1}"),
            "s.yaml:1: a: when 'a == 1': expected a condition on other parameters, found one on "
            "itself");
  EXPECT_EQ(Problems("a: {int: [1, 2], when: [b]}"),
            "s.yaml:1: a.when: expected an expression such as optimizer == 'sgd', or a map such as "
            "{optimizer: sgd}, found [b]");
  EXPECT_EQ(Problems("b: {int: [1, 2]}\na: {int: [1, 2], when: {b: []}}"),
            "s.yaml:2: a.when.b: expected a value or a list of some, found []");
  EXPECT_EQ(Problems("a: {int: [1, 2], when: ''}"),
            "s.yaml:1: a.when: expected an expression such as optimizer == 'sgd', found ''");
}

TEST(SpaceReaderTest, RefusesBadConstraintsWhereTheyStand) {
  const std::string space = "space: {a: {int: [1, 9]}, b: {float: [0, 1]}}\n";
  EXPECT_EQ(ProblemsOf(space + "constraints: a < 5\n"), "");
  EXPECT_EQ(ProblemsOf(space + "constraints:\n  - a < 5\n  - a < 8\n"), "");
  EXPECT_EQ(ProblemsOf(space + "constraints:\n  - a < 5\n  - a + \n"),
            "s.yaml:4: constraints: 'a +': column 4: expected a parameter or a value, found the "
            "end");
  EXPECT_EQ(ProblemsOf(space + "constraints: [{a: 1}]\n"),
            "s.yaml:2: constraints: expected an expression such as lr * momentum < 0.5, found "
            "{a: 1}");
}

TEST(SpaceReaderTest, ShowsWhatWasMeant) {
  EXPECT_EQ(Problems("a: {choice: x, y, z}"),
            "s.yaml:1: a: expected a list of choices with at least one, found x; write 'choice: "
            "[x, y, z]'");
  EXPECT_EQ(Problems("a: {int: 1, 4}"),
            "s.yaml:1: a: expected a range [low, high], found 1; write 'int: [1, 4]'");
  EXPECT_EQ(Problems("a: {float: 0.1 to 2}"),
            "s.yaml:1: a: expected a range [low, high], found 0.1 to 2; write 'float: [0.1, 2]'");
  EXPECT_EQ(Problems("a: {float: 0..1}"),
            "s.yaml:1: a: expected a range [low, high], found 0..1; write 'float: [0, 1]'");
  EXPECT_EQ(Problems("a: {float: {min: 0, max: 1}}"),
            "s.yaml:1: a: expected a range [low, high], found {min: 0, max: 1}; write 'float: [0, "
            "1]'");
  EXPECT_EQ(Problems("a: {float: [10^-4, 1/8]}"),
            "s.yaml:1: a: expected a number, found 10^-4; write '1e-4'\n"
            "s.yaml:1: a: expected a number, found 1/8; write '0.125'");
  EXPECT_EQ(Problems("a: {choice: {x: 1, y: 2}}"),
            "s.yaml:1: a: expected a list of choices with at least one, found {x: 1, y: 2}; write "
            "'choice: [x, y], weights: [1, 2]'");
  EXPECT_EQ(Problems("a: {type: bool}"),
            "s.yaml:1: a: expected a kind: float, int, choice, categorical, ordinal, found type; "
            "write 'a: {choice: [true, false]}'");
  EXPECT_EQ(Problems("a: 1-4"),
            "s.yaml:1: a: expected a parameter such as {float: [0.1, 1]}, {int: [1, 4]} or "
            "{choice: [a, b]}, found 1-4; write 'a: {int: [1, 4]}'");
  EXPECT_EQ(Problems("a: {int: [1, 4], q: 2}"), "s.yaml:1: a.q: unknown key; write 'step'");
  EXPECT_EQ(Problems("g:\n  a: {int: [1, 4]}\n  b: {int: [1, 4]}"),
            "s.yaml:1: g: expected a parameter such as {float: [0.1, 1]}, found a group of them, "
            "and a space has no groups; write 'g.a: {int: [1, 4]}' in place of 'a' below 'g', and "
            "so on");
}

TEST(SpaceReaderTest, RefusesBadNames) {
  EXPECT_EQ(Problems("9a: {int: [1, 2]}"),
            "s.yaml:1: 9a: expected a name of at most 100 letters, digits, '_', '.' and '-' that "
            "begins with a letter or '_', found '9a'; write 'p9a'");
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
  EXPECT_EQ(
      Problems("b:\n  float: [2, 1]\na: {int: [1, x]}\nc: {choice: []}\n"),
      "s.yaml:2: b: expected low < high, found [2, 1]; write [1, 2]\ns.yaml:3: a: expected a whole "
      "number, found x\ns.yaml:4: c: expected a list of choices with at least one, found []");
}

}  // namespace
}  // namespace sluice
