#include "launcher/process_limits.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace sluice {
namespace {

struct Resource {
  decltype(RLIMIT_CPU) number;
  const char* name;
};

// All resources that Linux limits. Their order is that of the text.
constexpr Resource kResources[] = {
    {RLIMIT_CPU, "cpu"},           {RLIMIT_FSIZE, "fsize"},
    {RLIMIT_DATA, "data"},         {RLIMIT_STACK, "stack"},
    {RLIMIT_CORE, "core"},         {RLIMIT_RSS, "rss"},
    {RLIMIT_NPROC, "nproc"},       {RLIMIT_NOFILE, "nofile"},
    {RLIMIT_MEMLOCK, "memlock"},   {RLIMIT_AS, "as"},
    {RLIMIT_LOCKS, "locks"},       {RLIMIT_SIGPENDING, "sigpending"},
    {RLIMIT_MSGQUEUE, "msgqueue"}, {RLIMIT_NICE, "nice"},
    {RLIMIT_RTPRIO, "rtprio"},     {RLIMIT_RTTIME, "rttime"},
};
static_assert(std::size(kResources) == RLIM_NLIMITS);

constexpr std::string_view kUnlimited = "unlimited";
constexpr mode_t kMostUmask = 0777;

std::string Amount(rlim_t amount) {
  return amount == RLIM_INFINITY ? std::string(kUnlimited) : std::to_string(amount);
}

// Removes `word` from the beginning of the text. Returns false if the text does not begin with it.
bool Take(std::string_view word, std::string_view& text) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <typename T>
bool TakeNumber(int base, T& number, std::string_view& text) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool TakeAmount(rlim_t& amount, std::string_view& text) {
  if (!Take(kUnlimited, text)) return TakeNumber(10, amount, text);
  amount = RLIM_INFINITY;
  return true;
}

}  // namespace

ProcessLimits::ProcessLimits() {
  resources.fill({.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY});
}

ProcessLimits LimitsOfSelf() {
  ProcessLimits limits;
  limits.umask = umask(0);
  umask(limits.umask);
  for (const Resource& each : kResources) getrlimit(each.number, &limits.resources[each.number]);
  return limits;
}

void ApplyLimits(const ProcessLimits& limits) {
  umask(limits.umask);
  for (const Resource& each : kResources) {
    rlimit wanted = limits.resources[each.number];
    if (setrlimit(each.number, &wanted) == 0) continue;
    rlimit now{};
    if (getrlimit(each.number, &now) != 0) continue;
    wanted.rlim_max = std::min(wanted.rlim_max, now.rlim_max);
    wanted.rlim_cur = std::min(wanted.rlim_cur, wanted.rlim_max);
    (void)setrlimit(each.number, &wanted);
  }
}

std::string FormatLimits(const ProcessLimits& limits) {
  char octal[16];
  char* end = std::to_chars(std::begin(octal), std::end(octal), limits.umask, 8).ptr;
  std::string text = "umask=0" + std::string(octal, end);
  for (const Resource& each : kResources) {
    const rlimit& limit = limits.resources[each.number];
    text +=
        " " + std::string(each.name) + "=" + Amount(limit.rlim_cur) + ":" + Amount(limit.rlim_max);
  }
  return text;
}

std::optional<ProcessLimits> ParseLimits(std::string_view text) {
  ProcessLimits limits;
  if (!Take("umask=0", text) || !TakeNumber(8, limits.umask, text) || limits.umask > kMostUmask)
    return std::nullopt;
  for (const Resource& each : kResources) {
    rlimit& limit = limits.resources[each.number];
    const bool read = Take(" ", text) && Take(each.name, text) && Take("=", text) &&
                      TakeAmount(limit.rlim_cur, text) && Take(":", text) &&
                      TakeAmount(limit.rlim_max, text);
    if (!read || limit.rlim_cur > limit.rlim_max) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return limits;
}

}  // namespace sluice
