// What every sampler promises (search/sampler.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/sampler.h"

namespace sluice {
namespace {

constexpr std::uint64_t kProposals = 60;

Space Discrete() {
  return Space::Make(
             {{.name = "width", .kind = ParameterKind::kInt, .low = 16, .high = 64, .step = 16},
              {.name = "dropout", .low = 0, .high = 0.3, .step = 0.1},
              {.name = "size",
               .kind = ParameterKind::kOrdinal,
               .choices = {std::string("small"), std::string("large")}},
              {.name = "bias", .kind = ParameterKind::kCategorical, .choices = {true, false}}})
      .value();
}

Space Mixed() {
  std::vector<Parameter> parameters = Discrete().parameters();
  parameters.push_back({.name = "lr", .low = 1e-5, .high = 1, .law = Law::kLog});
  parameters.push_back({.name = "momentum", .low = 0, .high = 1});
  parameters.push_back(
      {.name = "batch", .kind = ParameterKind::kInt, .low = 1, .high = 4096, .law = Law::kLog});
  return Space::Make(parameters).value();
}

// Some parameters are active only where others have a certain value.
Space Conditional(bool continuous) {
  std::vector<Parameter> parameters = Discrete().parameters();
  parameters.push_back({.name = "optimizer",
                        .kind = ParameterKind::kCategorical,
                        .choices = {std::string("sgd"), std::string("adam")}});
  parameters.push_back({.name = "momentum",
                        .low = 0,
                        .high = 1,
                        .step = continuous ? 0 : 0.5,
                        .when = "optimizer == 'sgd'"});
  parameters.push_back({.name = "nesterov",
                        .kind = ParameterKind::kCategorical,
                        .choices = {true, false},
                        .when = "momentum >= 0.5"});
  return Space::Make(parameters).value();
}

Space Constrained(bool continuous) {
  std::vector<Parameter> parameters = Conditional(continuous).parameters();
  return Space::Make(parameters, {"width * (1 - dropout) > 20", "momentum < 0.75"}).value();
}

// Also where both are NaN.
bool Same(const std::optional<Point>& one, const std::optional<Point>& two) {
  if (!one || !two) return one.has_value() == two.has_value();
  return std::ranges::equal(
      *one, *two, [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

// What becomes of a trial in a bad world: a function of its number alone.
Observation Outcome(std::uint64_t counter, const Point& point) {
  const double values[] = {0.5,
                           std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           0.5,
                           1e308,
                           -1e308,
                           static_cast<double>(counter)};
  const enum Outcome outcomes[] = {Outcome::kComplete, Outcome::kFailed, Outcome::kStopped,
                                   Outcome::kComplete, Outcome::kRunning};
  return {.trial = TrialId(static_cast<std::uint32_t>(counter + 1)),
          .point = point,
          .outcome = outcomes[counter % 5],
          .work = static_cast<Work>(counter % 4),
          .value = values[counter % 8]};
}

class SamplerContract : public ::testing::TestWithParam<std::string> {
 protected:
  // Nothing where sampler and space do not go together.
  std::unique_ptr<Sampler> Make(const Space& space, std::uint64_t seed) {
    auto sampler = MakeSampler({.name = GetParam()}, space, seed);
    return sampler ? std::move(*sampler) : nullptr;
  }

  // The spaces this sampler takes; every one takes the discrete.
  std::vector<Space> Spaces() {
    EXPECT_TRUE(Make(Discrete(), 0));
    std::vector<Space> spaces = {Discrete(), Conditional(false), Constrained(false)};
    if (!Make(Mixed(), 0)) return spaces;
    for (const Space& space : {Mixed(), Conditional(true), Constrained(true)})
      spaces.push_back(space);
    return spaces;
  }
};

TEST_P(SamplerContract, ProposalsStayInTheSpaceWhateverIsObserved) {
  for (const Space& space : Spaces()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto sampler = Make(space, seed);
      for (std::uint64_t counter = 0; counter < kProposals; ++counter) {
        const std::optional<Point> point = sampler->Propose(counter);
        ASSERT_TRUE(point) << counter;
        ASSERT_TRUE(space.Contains(*point)) << counter;
        sampler->Observe(Outcome(counter, *point));
        if (counter % 3 == 0) sampler->Observe(Outcome(counter + 3, *point));  // another word on it
      }
    }
  }
}

TEST_P(SamplerContract, OneSeedIsOneSequence) {
  for (const Space& space : Spaces()) {
    const auto one = Make(space, 7);
    const auto two = Make(space, 7);
    for (std::uint64_t counter = 0; counter < kProposals; ++counter) {
      const std::optional<Point> point = one->Propose(counter);
      ASSERT_TRUE(Same(point, two->Propose(counter)));
      one->Observe(Outcome(counter, *point));
      two->Observe(Outcome(counter, *point));
    }
  }
}

TEST_P(SamplerContract, AnotherSeedIsAnotherSequence) {
  const auto one = Make(Mixed(), 1);
  if (!one) return;  // takes discrete spaces only, where it may go through all of them in one order
  EXPECT_NE(one->Propose(0), Make(Mixed(), 2)->Propose(0));
}

TEST_P(SamplerContract, ARestartContinuesTheSequence) {
  for (const Space& space : Spaces()) {
    for (const std::uint64_t restart_at : {0u, 1u, 13u, 59u}) {
      const auto steady = Make(space, 3);
      std::vector<Observation> observations;
      for (std::uint64_t counter = 0; counter < restart_at; ++counter) {
        observations.push_back(Outcome(counter, steady->Propose(counter).value()));
        steady->Observe(observations.back());
      }
      const auto restarted = Make(space, 3);
      for (const Observation& observation : observations) restarted->Observe(observation);
      for (std::uint64_t counter = restart_at; counter < kProposals; ++counter) {
        const std::optional<Point> point = steady->Propose(counter);
        ASSERT_TRUE(Same(point, restarted->Propose(counter))) << restart_at << " " << counter;
        steady->Observe(Outcome(counter, *point));
        restarted->Observe(Outcome(counter, *point));
      }
    }
  }
}

// Proposals are asked for ahead of results: many may be out before the first comes back.
TEST_P(SamplerContract, ManyProposalsMayBeOutAtOnce) {
  for (const Space& space : Spaces()) {
    const auto sampler = Make(space, 5);
    std::vector<Point> points;
    for (std::uint64_t counter = 0; counter < kProposals; ++counter) {
      points.push_back(sampler->Propose(counter).value());
    }
    for (std::uint64_t counter = kProposals; counter-- > 0;) {
      sampler->Observe(Outcome(counter, points[counter]));
    }
    EXPECT_TRUE(space.Contains(sampler->Propose(kProposals).value()));
  }
}

TEST_P(SamplerContract, AnExhaustedSpaceStaysExhausted) {
  const Space space = Discrete();
  const auto sampler = Make(space, 1);
  bool exhausted = false;
  for (std::uint64_t counter = 0; counter < 2 * *space.Cardinality(); ++counter) {
    const bool nothing = !sampler->Propose(counter).has_value();
    EXPECT_TRUE(nothing || !exhausted) << counter;
    if (nothing) {
      EXPECT_FALSE(sampler->Propose(counter));
    }
    exhausted = nothing;
  }
}

TEST_P(SamplerContract, ASpaceItCannotTakeIsRefusedInWords) {
  const auto sampler = MakeSampler({.name = GetParam()}, Mixed(), 1);
  if (sampler) return;
  EXPECT_EQ(sampler.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(sampler.error().message, ::testing::HasSubstr("lr"));
}

INSTANTIATE_TEST_SUITE_P(All, SamplerContract, ::testing::ValuesIn(SamplerNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace sluice
