// Tests of umasks and resource limits as text, and of giving them to a process.

#include "launcher/process_limits.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace sluice {
namespace {

constexpr uid_t kNobody = 65534;

bool SameLimits(const ProcessLimits& one, const ProcessLimits& other) {
  return FormatLimits(one) == FormatLimits(other);
}

// Whether the function returns true in a process of its own, which may change its limits. Root
// becomes another user there, since root may raise every limit.
bool HoldsInAChild(const std::function<bool()>& function) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(1);
    _exit(function() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ProcessLimitsTest, AreTextAndBack) {
  ProcessLimits limits;
  limits.umask = 027;
  limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 1024, .rlim_max = 4096};
  limits.resources[RLIMIT_CORE] = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
  const std::string text = FormatLimits(limits);
  EXPECT_TRUE(text.starts_with("umask=027 cpu=unlimited:unlimited ")) << text;
  EXPECT_TRUE(text.contains(" core=0:unlimited ")) << text;
  EXPECT_TRUE(text.contains(" nofile=1024:4096 ")) << text;
  const auto again = ParseLimits(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->umask, 027U);
  EXPECT_TRUE(SameLimits(*again, limits));
  EXPECT_TRUE(ParseLimits(FormatLimits(LimitsOfSelf())));
}

TEST(ProcessLimitsTest, OtherTextIsRefused) {
  const std::string good = FormatLimits(ProcessLimits{});
  ASSERT_TRUE(ParseLimits(good));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(ParseLimits(good.substr(0, size))) << size;
  EXPECT_FALSE(ParseLimits(good + " "));
  EXPECT_FALSE(ParseLimits(good + " more=1:1"));
  const auto with = [&good](const std::string& text) {
    constexpr std::string_view kPart = "nofile=unlimited:unlimited";
    std::string changed = good;
    return ParseLimits(changed.replace(changed.find(kPart), kPart.size(), text));
  };
  EXPECT_TRUE(with("nofile=5:6"));
  for (const char* text : {"nofile=6:5", "nofile=-1:6", "nofile=5", "nofile=5:", "nofile=a:b",
                           "nofile=5:99999999999999999999", "files=5:6"})
    EXPECT_FALSE(with(text)) << text;
  EXPECT_FALSE(ParseLimits("umask=01000" + good.substr(good.find(' '))));
  EXPECT_FALSE(ParseLimits("umask=09" + good.substr(good.find(' '))));
}

TEST(ProcessLimitsTest, AreGivenToAProcess) {
  EXPECT_TRUE(HoldsInAChild([] {
    ProcessLimits limits = LimitsOfSelf();
    limits.umask = 057;
    limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 40, .rlim_max = 50};
    limits.resources[RLIMIT_CORE] = {.rlim_cur = 0, .rlim_max = 0};
    ApplyLimits(limits);
    return SameLimits(LimitsOfSelf(), limits);
  }));
}

TEST(ProcessLimitsTest, AHardLimitThatMayNotBeRaisedStays) {
  EXPECT_TRUE(HoldsInAChild([] {
    ProcessLimits limits = LimitsOfSelf();
    limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 100, .rlim_max = 100};
    ApplyLimits(limits);
    limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 60, .rlim_max = 1000};
    ApplyLimits(limits);
    const rlimit lower = LimitsOfSelf().resources[RLIMIT_NOFILE];
    limits.resources[RLIMIT_NOFILE] = {.rlim_cur = 900, .rlim_max = 1000};
    ApplyLimits(limits);
    const rlimit higher = LimitsOfSelf().resources[RLIMIT_NOFILE];
    return lower.rlim_cur == 60 && lower.rlim_max == 100 && higher.rlim_cur == 100 &&
           higher.rlim_max == 100;
  }));
}

}  // namespace
}  // namespace sluice
