#include "client/checkpoints.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "client/test_controller.h"

namespace sluice::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::set<std::string>;

// Clients of trial 7 for which no controller listens, and its checkpoint folder. They spool what
// they say.
class CheckpointsTest : public testing::Test {
 protected:
  CheckpointsTest() { world_.EndController(); }

  std::string folder() const { return world_.Folder(TestLaunch(7, 0)) + ".checkpoints"; }
  std::string At(const std::string& name) const { return folder() + "/" + name; }
  wire::Assign Assigned(std::uint32_t launch = 1) const {
    wire::Assign assign = world_.Assign(TestLaunch(7, launch));
    assign.checkpoint_dir = folder();
    return assign;
  }
  std::unique_ptr<Client> Opened(const wire::Assign& assign) const {
    Settings settings = world_.MakeSettings(1);
    settings.first = assign;
    settings.first.lease_ms = 60;  // so that they wait no longer for a controller at their end
    auto client = Client::Open(std::move(settings));
    EXPECT_TRUE(client) << client.error().message;
    std::ignore = (*client)->Take();  // the program knows of the launch
    return *std::move(client);
  }
  void Own(std::uint32_t launch) const {
    std::ofstream(folder() + ".owner") << fmt::format("{:010}\n", launch);
  }

  // What stands in the checkpoint in this folder, which must be whole.
  static std::string ContentOf(const std::optional<std::string>& checkpoint) {
    if (!checkpoint) return "none";
    const std::string model = TestFolder::Read(*checkpoint + "/sub/model");
    EXPECT_EQ(TestFolder::Read(*checkpoint + "/.sluice-work"), model + "\n") << *checkpoint;
    EXPECT_EQ(TestFolder::Read(*checkpoint + "/other"), std::string(1000, 'x'));
    return model;
  }
  static std::string LatestOf(Checkpoints& checkpoints) {
    const auto latest = checkpoints.Latest();
    EXPECT_TRUE(latest) << latest.error().message;
    return ContentOf(*latest);
  }
  static std::string BestOf(Checkpoints& checkpoints) {
    const auto best = checkpoints.Best();
    EXPECT_TRUE(best) << best.error().message;
    if (!*best) return "none";
    return std::filesystem::path(**best).filename().string() + " " + ContentOf(*best);
  }
  static Status Written(const std::string& folder, Work work) {
    std::filesystem::create_directory(folder + "/sub");
    std::ofstream(folder + "/sub/model") << work;
    std::ofstream(folder + "/other") << std::string(1000, 'x');
    return {};
  }
  static Result<bool> Save(Checkpoints& checkpoints, Work work, bool is_past = false) {
    return checkpoints.Save(
        work, [&](const std::string& to) { return Written(to, work); }, is_past);
  }
  static void MustSave(Checkpoints& checkpoints, Work work) {
    const auto saved = Save(checkpoints, work);
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_TRUE(*saved);
  }
  Names NamesIn(const std::string& place) const {
    Names names;
    for (const auto& each : std::filesystem::directory_iterator(place))
      names.insert(each.path().filename().string());
    return names;
  }

  ClientWorld world_;
};

TEST_F(CheckpointsTest, TheLatestCheckpointReplacesTheOneBefore) {
  world_.StartController();
  Settings settings = world_.MakeSettings(1);
  settings.first = Assigned();
  const auto client = *Client::Open(settings);
  world_.controller().Accept();
  world_.controller().Welcome();
  Checkpoints checkpoints(*client, settings.first);
  EXPECT_EQ(LatestOf(checkpoints), "none");
  for (const Work work : {1, 22}) {
    MustSave(checkpoints, work);
    EXPECT_EQ(LatestOf(checkpoints), std::to_string(work));
    EXPECT_THAT(NamesIn(folder()), ElementsAre("latest"));
    const auto saved = world_.controller().Expect<wire::Saved>();
    EXPECT_EQ(saved.work, work);
    const auto digits = static_cast<std::int64_t>(std::to_string(work).size());
    EXPECT_EQ(saved.bytes, 1000 + 2 * digits + 1);
    world_.controller().Acknowledge(TestLaunch(7), saved.seq);
  }
}

TEST_F(CheckpointsTest, MessagesAreSecureBeforeTheCheckpointCounts) {
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  ASSERT_TRUE(client->Report({TestLaunch(7), 1}));
  // The spool cannot be written, so nothing is secure, and no acknowledgement can come.
  std::filesystem::remove(world_.Folder(TestLaunch(7)) + "/spool.jsonl");
  ASSERT_TRUE(client->Report({TestLaunch(7), 2}));
  std::filesystem::remove(world_.Folder(TestLaunch(7)) + "/spool.jsonl");
  std::filesystem::create_directory(world_.Folder(TestLaunch(7)) + "/spool.jsonl");
  EXPECT_FALSE(Save(checkpoints, 2));
  EXPECT_EQ(LatestOf(checkpoints), "none");
  EXPECT_THAT(NamesIn(folder()), IsEmpty());
}

TEST_F(CheckpointsTest, AFailureKeepsTheOneBefore) {
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  MustSave(checkpoints, 1);
  const auto failed = checkpoints.Save(2, [](const std::string& to) -> Status {
    std::ofstream(to + "/half") << "half";
    return Unavailable("disk full");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "disk full");
  EXPECT_EQ(LatestOf(checkpoints), "1");
  EXPECT_THAT(NamesIn(folder()), ElementsAre("latest"));
}

// A child process that does `act` and is killed at the n-th step of its saves. Returns whether it
// was killed.
bool KilledAt(int n, const std::function<void(const Checkpoints::AtStep&)>& act) {
  const pid_t child = fork();
  if (child == 0) {
    int step = 0;
    act([&] {
      if (++step == n) _exit(9);
    });
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "step " << n;
  return WEXITSTATUS(status) == 9;
}

TEST_F(CheckpointsTest, KilledAnywhereAWholeCheckpointRemains) {
  int steps = 0;
  for (bool killed = true; killed; ++steps) {
    std::filesystem::remove_all(folder());
    killed = KilledAt(steps + 1, [&](const Checkpoints::AtStep& at_step) {
      const wire::Assign assign = Assigned();
      const auto client = Opened(assign);
      Checkpoints first(*client, assign);
      std::ignore = Save(first, 1);
      Checkpoints second(*client, assign, at_step);
      std::ignore = Save(second, 2);
    });
    const wire::Assign later = Assigned(2);
    const auto client = Opened(later);
    Checkpoints checkpoints(*client, later);
    EXPECT_THAT(LatestOf(checkpoints), testing::AnyOf("1", "2")) << "step " << steps;
    MustSave(checkpoints, 3);
    EXPECT_EQ(LatestOf(checkpoints), "3");
    EXPECT_THAT(NamesIn(folder()), ElementsAre("latest")) << "step " << steps;
  }
  EXPECT_GE(steps, 16) << "renames, syncs and removals, and before and after each";
}

TEST_F(CheckpointsTest, KilledAnywhereTheBestCheckpointRemains) {
  int steps = 0;
  for (bool killed = true; killed; ++steps) {
    std::filesystem::remove_all(folder());
    killed = KilledAt(steps + 1, [&](const Checkpoints::AtStep& at_step) {
      const wire::Assign assign = Assigned();
      const auto client = Opened(assign);
      Checkpoints first(*client, assign);
      for (const auto& [work, loss] : {std::pair<Work, double>(1, 0.5), {2, 0.1}, {3, 0.3}}) {
        std::ignore = client->Report({TestLaunch(7), work, {{"loss", loss}}});
        Checkpoints then(*client, assign, work == 3 ? at_step : Checkpoints::AtStep());
        std::ignore = Save(then, work);
      }
    });
    wire::Assign later = Assigned(2);
    later.work = 3;
    later.best = 0.1;
    later.best_work = 2;
    const auto client = Opened(later);
    Checkpoints checkpoints(*client, later);
    EXPECT_THAT(BestOf(checkpoints), testing::AnyOf("latest 2", "best 2", ".previous 2")) << steps;
    ASSERT_TRUE(client->Report({TestLaunch(7, 2), 4, {{"loss", 0.9}}}));
    MustSave(checkpoints, 4);
    EXPECT_EQ(BestOf(checkpoints), "best 2") << steps;
    EXPECT_THAT(NamesIn(folder()), ElementsAre("best", "latest"));
  }
  EXPECT_GE(steps, 16);
}

TEST_F(CheckpointsTest, TheCheckpointOfTheBestReportIsKept) {
  wire::Assign assign = Assigned();
  assign.maximize = true;
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  std::vector<std::string> best;
  for (const auto& [work, value] :
       {std::pair<Work, double>(1, 0.5), {2, 0.9}, {3, 0.7}, {4, 0.8}, {5, 0.95}, {6, 0.1}}) {
    ASSERT_TRUE(client->Report({TestLaunch(7), work, {{"loss", value}}}));
    MustSave(checkpoints, work);
    best.push_back(BestOf(checkpoints));
  }
  EXPECT_THAT(best, ElementsAre("latest 1", "latest 2", "best 2", "best 2", "latest 5", "best 5"));
}

TEST_F(CheckpointsTest, ACheckpointPastTheWorkOfTheBestReportIsNotThatOfTheReport) {
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  ASSERT_TRUE(client->Report({TestLaunch(7), 3, {{"loss", 0.5}}}));
  ASSERT_TRUE(Save(checkpoints, 3, /*is_past=*/true));
  EXPECT_EQ(BestOf(checkpoints), "none");
  EXPECT_EQ(LatestOf(checkpoints), "3");
  ASSERT_TRUE(client->Report({TestLaunch(7), 4, {{"loss", 0.7}}}));
  MustSave(checkpoints, 4);
  EXPECT_EQ(BestOf(checkpoints), "none");
  ASSERT_TRUE(client->Report({TestLaunch(7), 5, {{"loss", 0.3}}}));
  MustSave(checkpoints, 5);
  ASSERT_TRUE(Save(checkpoints, 5, /*is_past=*/true));
  EXPECT_EQ(BestOf(checkpoints), "best 5") << "saved before it went on";
}

TEST_F(CheckpointsTest, AFolderOfTheProgramsOwnCalledBestIsLeftAlone) {
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  std::filesystem::create_directories(At("best"));
  std::ofstream(At("best/model")) << "mine";
  for (const Work work : {1, 2}) {
    ASSERT_TRUE(client->Report({TestLaunch(7), work, {{"loss", static_cast<double>(work)}}}));
    MustSave(checkpoints, work);
  }
  EXPECT_EQ(TestFolder::Read(At("best/model")), "mine");
  EXPECT_THAT(NamesIn(folder()), ElementsAre("best", "latest"));
}

TEST_F(CheckpointsTest, OnlyTheLaunchThatOwnsTheFolderSaves) {
  std::filesystem::create_directories(folder());
  for (const char* text : {"0000000001\n", "", "no number\n", "1"}) {
    std::ofstream(folder() + ".owner") << text;
    const wire::Assign assign = Assigned();
    const auto client = Opened(assign);
    Checkpoints checkpoints(*client, assign);
    MustSave(checkpoints, 1);
  }
  Own(2);
  std::filesystem::create_directories(At(".writing/2"));
  std::filesystem::create_directories(At(".previous"));
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  testing::internal::CaptureStderr();
  const auto saved = checkpoints.Save(5, [](const std::string&) -> Status {
    ADD_FAILURE() << "it does not begin";
    return {};
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sluice: launch 1 of trial 7 was given up, and launch 2 goes on with the trial: a "
            "checkpoint was dropped\n");
  ASSERT_TRUE(saved);
  EXPECT_FALSE(*saved);
  EXPECT_THAT(NamesIn(folder()), ElementsAre(".previous", ".writing", "latest"))
      << "the newer launch may be saving just now";
  const News news = client->Take();
  ASSERT_EQ(news.must_leave.size(), 1u);
  EXPECT_EQ(news.must_leave[0].why, MustLeave::Why::kRefused);
  EXPECT_EQ(news.must_leave[0].reason, "launch 1 of trial 7 was given up");
  EXPECT_TRUE(client->Carried().empty());
  const auto again = Save(checkpoints, 6);
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again) << "a refused launch keeps no checkpoints";
  ASSERT_TRUE(client->Leave(TestLaunch(7), Client::As::kPaused));
  EXPECT_EQ(Save(checkpoints, 7).error().code, ErrorCode::kNotFound);
}

TEST_F(CheckpointsTest, ANewerLaunchThatBeginsMeanwhileMakesItDropTheCheckpoint) {
  std::filesystem::create_directories(folder());
  // The owner changes at each of the steps until the checkpoint is put in place.
  int dropped = 0;
  for (int change_at = 0; change_at < 40; ++change_at) {
    std::filesystem::remove_all(folder());
    Own(1);
    const wire::Assign assign = Assigned();
    const auto client = Opened(assign);
    Checkpoints first(*client, assign);
    MustSave(first, 1);
    int step = 0;
    Checkpoints checkpoints(*client, assign, [&] {
      if (++step == change_at) Own(2);
    });
    testing::internal::CaptureStderr();
    const auto saved = checkpoints.Save(2, [&](const std::string& to) {
      if (change_at == 0) Own(2);
      return Written(to, 2);
    });
    testing::internal::GetCapturedStderr();
    ASSERT_TRUE(saved);
    EXPECT_EQ(LatestOf(first), *saved ? "2" : "1");
    if (!*saved) {
      EXPECT_THAT(NamesIn(folder()), ElementsAre("latest")) << change_at;
    }
    dropped += *saved ? 0 : 1;
  }
  EXPECT_GE(dropped, 5);
  EXPECT_LT(dropped, 40);
}

TEST_F(CheckpointsTest, ItWaitsForTheLockAndThenFindsTheNewOwner) {
  std::filesystem::create_directories(folder());
  Own(1);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t parent = getpid();
  const pid_t controller = fork();  // as a controller writes the next launch
  if (controller == 0) {
    const int file = open((folder() + ".owner").c_str(), O_RDWR);
    if (lockf(file, F_LOCK, 0) != 0 || write(ready[1], "x", 1) != 1) _exit(1);
    const std::string mine = fmt::format(" {} ", parent);
    for (int tries = 0; tries < 2000; ++tries) {
      std::ifstream locks("/proc/locks");
      bool waits = false;
      for (std::string line; std::getline(locks, line);)
        waits = waits || (line.contains("->") && line.contains(mine));
      if (waits) break;
      usleep(5000);
    }
    if (pwrite(file, "0000000002\n", 11, 0) != 11) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  testing::internal::CaptureStderr();
  const auto saved = Save(checkpoints, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("launch 2 goes on with the trial"));
  ASSERT_TRUE(saved);
  EXPECT_FALSE(*saved);
  int status = 0;
  waitpid(controller, &status, 0);
  EXPECT_EQ(status, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CheckpointsTest, AnOwnerFileThatCannotBeOpenedIsAnError) {
  std::filesystem::create_directories(folder());
  std::filesystem::create_symlink("/nowhere", folder() + ".owner");
  const wire::Assign assign = Assigned();
  const auto client = Opened(assign);
  Checkpoints checkpoints(*client, assign);
  const auto saved = Save(checkpoints, 1);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(saved.error().message, HasSubstr(".owner"));
}

TEST(BestReportTest, CountsAsTheControllerDoes) {
  wire::Assign assign;
  assign.objective = "loss";
  assign.work = 2;
  assign.best = 0.5;
  assign.best_work = 1;
  BestReport best(assign);
  best.Reported(2, {{"loss", 0.1}});
  EXPECT_EQ(best.work(), 1) << "that work is only done again";
  best.Reported(3, {{"accuracy", 0}});
  best.Reported(4, {{"loss", NAN}});
  best.Reported(5, {{"loss", 0.5}});
  EXPECT_EQ(best.work(), 1);
  best.Reported(6, {{"loss", 0.4}});
  EXPECT_EQ(best.work(), 6);
  BestReport first((wire::Assign()));
  EXPECT_EQ(first.work(), std::nullopt);
  assign.best.reset();
  BestReport diverged(assign);
  diverged.Reported(3, {{"loss", NAN}});
  EXPECT_EQ(diverged.work(), std::nullopt);
  diverged.Reported(4, {{"loss", INFINITY}});
  EXPECT_EQ(diverged.work(), 4) << "a first result";
  assign.last_counts = true;
  BestReport last(assign);
  last.Reported(3, {{"loss", 1}});
  EXPECT_EQ(last.work(), std::nullopt);
}

}  // namespace
}  // namespace sluice::client
