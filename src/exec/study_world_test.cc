// Tests of the file that keeps what a study's programs are started with.

#include "exec/study_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "exec/descriptor_limit.h"
#include "ledger/test_store.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

StudyWorld SmallWorld() {
  StudyWorld world;
  world.environment = {"PATH=/usr/bin", "EMPTY=", "LINES=one\ntwo", "BYTES=\xff\x01=\x80"};
  world.limits.umask = 027;
  world.limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 40, .rlim_max = 50};
  return world;
}

void ExpectSame(const StudyWorld& one, const StudyWorld& other) {
  EXPECT_EQ(one.environment, other.environment);
  EXPECT_EQ(FormatLimits(one.limits), FormatLimits(other.limits));
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

class StudyWorldTest : public ::testing::Test {
 protected:
  // What a user reads if the study's world cannot be read.
  std::string Refusal() {
    const auto world = ReadWorld(study_);
    EXPECT_FALSE(world);
    if (world) return "";
    EXPECT_NE(world.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(world.error().message,
                AllOf(HasSubstr(file_), HasSubstr("'sluice resume' writes it anew")));
    return world.error().message;
  }
  std::string RefusalOf(const std::string& text) {
    WriteAll(file_, text);
    return Refusal();
  }

  void SetUp() override { std::filesystem::create_directories(study_); }

  TestFolder folder_;
  const std::string study_ = folder_ / "studies/s";
  const std::string file_ = study_ + "/world";
};

TEST_F(StudyWorldTest, IsReadAsItWasKept) {
  ASSERT_TRUE(KeepWorld(study_, SmallWorld()));
  const auto world = ReadWorld(study_);
  ASSERT_TRUE(world) << world.error().message;
  ExpectSame(*world, SmallWorld());
  EXPECT_EQ(world->Find("LINES"), "one\ntwo");
  EXPECT_EQ(world->Find("EMPTY"), "");
  EXPECT_EQ(world->Find("EMPT"), std::nullopt);
  EXPECT_EQ(world->Find("NONE"), std::nullopt);
}

TEST_F(StudyWorldTest, TheFirstVariableOfANameCounts) {
  StudyWorld world;
  world.environment = {"A=1", "A=2"};
  EXPECT_EQ(world.Find("A"), "1");
}

TEST_F(StudyWorldTest, ThisProcessHasOne) {
  setenv("SLUICE_TEST_WORLD", "here", 1);
  RaiseDescriptorLimit();
  const StudyWorld world = CaptureWorld();
  unsetenv("SLUICE_TEST_WORLD");
  EXPECT_EQ(world.Find("SLUICE_TEST_WORLD"), "here");
  EXPECT_EQ(world.limits.resources[RLIMIT_NOFILE].rlim_cur, DescriptorLimitAtStart());
  const mode_t mask = umask(077);
  EXPECT_EQ(world.limits.umask, mask);
  EXPECT_EQ(CaptureWorld().limits.umask, 077U);
  EXPECT_EQ(umask(mask), 077U) << "it is only looked at";
  const auto again = DecodeWorld(EncodeWorld(world));
  ASSERT_TRUE(again) << again.error().message;
  ExpectSame(*again, world);
}

TEST_F(StudyWorldTest, OnlyThisUserCanReadTheFile) {
  for (const mode_t mask : {0, 022, 0777}) {
    const mode_t before = umask(mask);
    const Status kept = KeepWorld(study_, SmallWorld());
    umask(before);
    ASSERT_TRUE(kept) << kept.error().message;
    struct stat status{};
    ASSERT_EQ(stat(file_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    ASSERT_TRUE(ReadWorld(study_));
  }
}

TEST_F(StudyWorldTest, ReplacesWhatWasThere) {
  ASSERT_TRUE(KeepWorld(study_, CaptureWorld()));
  ASSERT_TRUE(KeepWorld(study_, SmallWorld()));
  ExpectSame(ReadWorld(study_).value_or(StudyWorld{}), SmallWorld());
  EXPECT_THAT(NamesIn(study_), ElementsAre("world"));
}

TEST_F(StudyWorldTest, ALinkIsReplacedAndNotFollowed) {
  const std::string other = folder_ / "other";
  WriteAll(other, "precious");
  std::filesystem::create_symlink(other, file_);
  EXPECT_THAT(Refusal(), HasSubstr("expected a regular file of this user, found a link"));
  ASSERT_TRUE(KeepWorld(study_, SmallWorld()));
  EXPECT_EQ(ReadAll(other), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(file_));
}

TEST_F(StudyWorldTest, MakesTheFolder) {
  const std::string other = folder_ / "studies/other";
  ASSERT_TRUE(KeepWorld(other, SmallWorld()));
  EXPECT_TRUE(ReadWorld(other));
}

TEST_F(StudyWorldTest, AFileThatCannotBeWrittenLeavesNothingBehind) {
  std::filesystem::create_directories(file_);
  const Status kept = KeepWorld(study_, SmallWorld());
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message,
              AllOf(HasSubstr(file_ + ": cannot keep the environment"), HasSubstr("directory"),
                    HasSubstr("the same command works")));
  EXPECT_THAT(NamesIn(study_), ElementsAre("world"));
  EXPECT_THAT(Refusal(), HasSubstr("expected a regular file of this user"));
  // The folder itself cannot be made.
  WriteAll(folder_ / "file", "");
  EXPECT_FALSE(KeepWorld(folder_ / "file/s", SmallWorld()));
}

TEST_F(StudyWorldTest, AStudyOfAnEarlierVersionHasNone) {
  const auto world = ReadWorld(study_);
  ASSERT_FALSE(world);
  EXPECT_EQ(world.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadWorld(folder_ / "no/folder").error().code, ErrorCode::kNotFound);
}

TEST_F(StudyWorldTest, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_THAT(Refusal(), HasSubstr("expected a regular file of this user"));
}

TEST_F(StudyWorldTest, AFileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(KeepWorld(study_, SmallWorld()));
  ASSERT_EQ(chown(file_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(Refusal(), HasSubstr("found one of user 65534"));
}

TEST_F(StudyWorldTest, AFileThatIsTooLongIsRefused) {
  StudyWorld world;
  world.environment = {"LONG=" + std::string(std::size_t{16} << 20, 'x')};
  const Status kept = KeepWorld(study_, world);
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("at most 16 MiB"));
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_THAT(RefusalOf(EncodeWorld(world)), HasSubstr("expected at most 16 MiB, found more"));
}

TEST_F(StudyWorldTest, ADamagedFileIsRefused) {
  const std::string good = EncodeWorld(SmallWorld());
  for (std::size_t size = 0; size < good.size(); ++size) (void)RefusalOf(good.substr(0, size));
  const std::string begin = "sluice world 1\n" + FormatLimits({}) + '\0';
  const auto rest = [&](std::string_view text) { return RefusalOf(begin + std::string(text)); };
  using std::literals::operator""sv;
  EXPECT_THAT(RefusalOf("sluice world 2\n"), HasSubstr("begins with 'sluice world 1'"));
  EXPECT_THAT(RefusalOf("sluice world 1\n"), HasSubstr("expected a umask and 16 resource limits"));
  EXPECT_THAT(rest(""), HasSubstr("expected the number of variables"));
  EXPECT_THAT(rest("variables=-1\0"sv), HasSubstr("expected the number of variables"));
  EXPECT_THAT(rest("variables=1\0"sv), HasSubstr("expected 1 variables, found 0"));
  EXPECT_THAT(rest("variables=0\0A=1\0"sv), HasSubstr("expected 0 variables, found 1"));
  EXPECT_THAT(rest("variables=1\0A=1"sv), HasSubstr("one that is cut off"));
  EXPECT_THAT(rest("variables=1\0A\0"sv), HasSubstr("one without '='"));
  WriteAll(file_, begin + std::string("variables=1\0A=1\0"sv));
  EXPECT_TRUE(ReadWorld(study_));
}

}  // namespace
}  // namespace sluice
