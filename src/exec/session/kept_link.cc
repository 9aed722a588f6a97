#include "exec/session/kept_link.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kMostDeaths = 3;
constexpr auto kDeathsWithin = std::chrono::minutes(1);

off_t SizeOf(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

}  // namespace

void KeptLink::Await(const std::string& study) {
  study_ = study;
  log_size_ = SizeOf(Log());
  // If the controller has died, the descriptor says so.
  (void)link_.Tell({.verb = "await", .study = study_, .trial = {}});
}

Result<bool> KeptLink::TakeAnswer(const Say& say) {
  const auto answer = link_.TakeAnswer();
  if (answer && answer->ok) return true;
  SLUICE_TRY(Died(answer ? answer->message : LastWords(), say));
  return false;
}

Status KeptLink::Died(const std::string& why, const Say& say) {
  const auto now = std::chrono::steady_clock::now();
  // A process that dies closes its connections before its socket. So a connection to it may be
  // made after its death was seen.
  const int pid = link_.pid();
  const bool is_known = pid != 0 && std::exchange(dead_, pid) == pid;
  if (!is_known) deaths_.push_back(now);
  while (!deaths_.empty() && now - deaths_.front() > kDeathsWithin) deaths_.pop_front();
  if (deaths_.size() >= kMostDeaths) {
    return Unavailable(fmt::format(
        "the controller of the studies has died {} times within a minute: {}; once that is "
        "mended, 'sluice resume {}' goes on",
        deaths_.size(), why, study_));
  }
  if (!is_known)
    say(fmt::format("the controller of the studies has died ({}): another one takes over", why));
  SLUICE_ASSIGN(link_, Link::ConnectOrStart(paths_));
  Await(study_);
  return {};
}

std::string KeptLink::Log() const { return paths_.run + "/controller.log"; }

std::string KeptLink::LastWords() const {
  std::ifstream log(Log());
  log.seekg(log_size_ <= SizeOf(Log()) ? log_size_ : 0);
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = std::move(line);
  }
  if (last.starts_with("sluice: ")) last.erase(0, 8);
  return last.empty() ? fmt::format("process {} was killed", link_.pid()) : last;
}

}  // namespace sluice
