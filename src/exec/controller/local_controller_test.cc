// Tests of what a sampler knows when it is asked for a proposal.

#include "exec/controller/local_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "exec/launch_folder.h"
#include "exec/session/link.h"
#include "exec/version.h"
#include "ledger/event_codec.h"
#include "ledger/recovery.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

// Remembers what it observes. It has nothing to propose, so its study ends immediately.
class ListeningSampler : public Sampler {
 public:
  explicit ListeningSampler(std::vector<Observation>& heard) : heard_(heard) {}
  std::optional<Point> Propose(std::uint64_t) override { return std::nullopt; }
  void Observe(const Observation& observation) override { heard_.push_back(observation); }

 private:
  std::vector<Observation>& heard_;
};

// At each proposal, remembers the outcome that it knows of the trial before. Always proposes the
// same point.
class Proposer : public Sampler {
 public:
  explicit Proposer(std::vector<Outcome>& knew) : knew_(knew) {}
  std::optional<Point> Propose(std::uint64_t counter) override {
    if (counter > 0) knew_.push_back(outcomes_[TrialId(static_cast<std::uint32_t>(counter))]);
    return Point{0.5};
  }
  void Observe(const Observation& observation) override {
    outcomes_[observation.trial] = observation.outcome;
  }

 private:
  std::map<TrialId, Outcome> outcomes_;
  std::vector<Outcome>& knew_;
};

class LocalControllerTest : public ::testing::Test {
 protected:
  // The study maximizes, so values change their sign on their way to the sampler.
  void SetUp() override {
    const std::string source =
        SourceOf("trials: 4\nparallelism: 1\nretries: 0\nobjective: {maximize: accuracy}\n");
    created_ = {
        .study = kStudy, .source = source, .folder = "/", .seed = 1, .spec = SpecOf(source)};
    auto ledger = OpenLedger(folder_ / "s.db");
    auto engine = NewEngine();
    Recorder recorder(*ledger, kStudy, 10);
    ASSERT_TRUE(recorder.Record(*engine, {At(1), created_}));
    const KnowledgeGiven given{
        .study = kStudy,
        .source = "2 of 2 trials of study 'a'",
        .trials = {{.point = {0.25}, .outcome = Outcome::kComplete, .work = 9, .value = 0.75},
                   {.point = {0.5}, .outcome = Outcome::kStopped, .work = 3, .value = 0.5}}};
    ASSERT_TRUE(recorder.Record(*engine, {At(1), given}));
    ASSERT_TRUE(recorder.Flush(*engine, /*snapshot=*/true));
  }

  // A controller takes over the study and runs it to its end.
  std::vector<Observation> Run(std::optional<int> trials) {
    std::vector<Observation> heard;
    Run(std::make_unique<ListeningSampler>(heard), trials);
    return heard;
  }
  void Run(std::unique_ptr<Sampler> sampler, std::optional<int> trials,
           const StudyWorld& world = CaptureWorld()) {
    const StorePaths paths = StorePaths::For(folder_ / "s.db");
    LocalController controller(PartsFor(paths, sampler, world));
    // What the command line says while the controller runs.
    std::thread command([&] {
      auto link = Link::Connect(paths);
      for (int tries = 0; !link && tries < 1'000; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        link = Link::Connect(paths);
      }
      ASSERT_TRUE(link) << link.error().message;
      const EncodedEvent event = Encode({{}, StudyResumed{kStudy, trials, {}}});
      const auto opened = link->Ask({.verb = "open",
                                     .study = created_.spec.name,
                                     .trial = {},
                                     .event = std::string(event.kind),
                                     .body = event.body});
      EXPECT_TRUE(opened) << opened.error().message;
      const auto ended = link->Ask({.verb = "await", .study = created_.spec.name, .trial = {}});
      EXPECT_TRUE(ended) << ended.error().message;
    });
    const Status run = controller.Run();
    EXPECT_TRUE(run) << run.error().message;
    command.join();
  }

  LocalController::Parts PartsFor(const StorePaths& paths, std::unique_ptr<Sampler>& sampler,
                                  const StudyWorld& world) {
    LocalController::Parts parts;
    parts.paths = paths;
    parts.launcher = FailingLauncher();
    parts.version = kVersion;
    parts.node = NodeOf(kWhole);
    auto lock = StoreLock::Acquire(paths, "a test");
    EXPECT_TRUE(lock) << lock.error().message;
    parts.lock = std::make_unique<StoreLock>(std::move(*lock));
    parts.loop = std::move(*EventLoop::Open());
    parts.ledger = OpenLedger(paths.database);
    parts.engine = std::move(*RecoverShared(parts.ledger->database()));
    parts.find_lodging = [&sampler, world](Database& database,
                                           const Study& study) -> Result<Lodging> {
      Lodging lodging;
      lodging.sampler = std::move(sampler);
      SLUICE_ASSIGN(lodging.knowledge, ReadKnowledge(database, study));
      lodging.world = world;
      return lodging;
    };
    return parts;
  }

  // The path of a launcher whose programs all fail. It writes down its environment.
  std::string FailingLauncher() {
    const std::string path = folder_ / "launcher";
    WriteAll(path,
             "#!/bin/sh\necho \"1 1 - $1\" > $1/claim\nenv > $1/environment\n"
             "echo '1 0 0 ' > $1/exit\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  TestFolder folder_;
  StudyCreated created_;
};

void ExpectKnowledge(const std::vector<Observation>& heard) {
  ASSERT_GE(heard.size(), 2U);
  EXPECT_EQ(heard[0].trial, kFirstKnownTrial);
  EXPECT_EQ(heard[0].point, Point{0.25});
  EXPECT_EQ(heard[0].outcome, Outcome::kComplete);
  EXPECT_EQ(heard[0].work, 9);
  EXPECT_EQ(heard[0].value, -0.75);  // smaller is better, for samplers
  EXPECT_EQ(Number(heard[1].trial), Number(kFirstKnownTrial) + 1);
  EXPECT_EQ(heard[1].outcome, Outcome::kStopped);
  EXPECT_EQ(heard[1].value, -0.5);
}

TEST_F(LocalControllerTest, TheSamplerKnowsEarlierTrialsBeforeItsFirstProposal) {
  const std::vector<Observation> heard = Run({});
  EXPECT_EQ(heard.size(), 2U);
  ExpectKnowledge(heard);
}

TEST_F(LocalControllerTest, TheSamplerKnowsEarlierTrialsAfterARestart) {
  std::vector<Outcome> knew;
  Run(std::make_unique<Proposer>(knew), {});
  const std::vector<Observation> heard = Run(5);
  EXPECT_EQ(heard.size(), 2U + 4U);  // the earlier trials, and those of the study itself
  ExpectKnowledge(heard);
}

// Each trial fails when it is started. Its end makes room for the next trial.
TEST_F(LocalControllerTest, TheSamplerKnowsHowATrialEndedWhenItIsAskedForTheNext) {
  std::vector<Outcome> knew;
  Run(std::make_unique<Proposer>(knew), {});
  EXPECT_THAT(knew, ::testing::ElementsAre(Outcome::kFailed, Outcome::kFailed, Outcome::kFailed));
}

// Whichever process runs the controller: its own environment does not reach the programs.
TEST_F(LocalControllerTest, LaunchesGetTheWorldThatWasKept) {
  const StorePaths paths = StorePaths::For(folder_ / "s.db");
  StudyWorld kept;
  kept.environment = {"PATH=/usr/bin:/bin", "COLOUR=kept", "SLUICE_LAUNCHERS=of.another.place",
                      "PYTHONPATH=/kept"};
  kept.limits.umask = 027;
  ASSERT_TRUE(KeepWorld(paths.StudyFolder("s"), kept));
  setenv("COLOUR", "of the controller", 1);
  setenv("SLUICE_TEST_CONTROLLER", "1", 1);
  std::vector<Outcome> knew;
  const auto world = ReadWorld(paths.StudyFolder("s"));
  ASSERT_TRUE(world) << world.error().message;
  Run(std::make_unique<Proposer>(knew), {}, *world);
  unsetenv("COLOUR");
  unsetenv("SLUICE_TEST_CONTROLLER");
  const std::string environment = ReadAll(
      TrialFolders(paths, created_.spec.name).Launch({TrialId(1), LaunchId(1)}) + "/environment");
  EXPECT_THAT(environment, ::testing::HasSubstr("COLOUR=kept\n"));
  EXPECT_THAT(environment, ::testing::HasSubstr("PYTHONPATH=/kept:"));
  EXPECT_THAT(environment,
              ::testing::HasSubstr("SLUICE_PROGRAM_LIMITS=" + FormatLimits(kept.limits) + "\n"));
  EXPECT_THAT(environment, ::testing::Not(::testing::HasSubstr("SLUICE_TEST_CONTROLLER")));
  EXPECT_THAT(environment, ::testing::Not(::testing::HasSubstr("of.another.place")));
}

}  // namespace
}  // namespace sluice
