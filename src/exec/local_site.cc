#include "exec/local_site.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "control/assignment.h"
#include "exec/checkpoint_folder.h"
#include "exec/descriptor_limit.h"
#include "exec/spawn.h"
#include "launcher/claim.h"
#include "launcher/process.h"
#include "launcher/small_file.h"

namespace sluice {
namespace {

constexpr Duration kOutputPolledEvery = std::chrono::milliseconds(200);

// What the kernel says about the process that has this pid now.
Speaker SpeakerOf(std::int64_t pid) {
  return {.speaks = true,
          .pid = pid,
          .start = StartOf(static_cast<pid_t>(pid)),
          .image = ImageOf(static_cast<pid_t>(pid))};
}

// Until it is destroyed, the files that this process makes are made with this umask.
class UmaskOf {
 public:
  explicit UmaskOf(mode_t mask) : before_(umask(mask)) {}
  ~UmaskOf() { umask(before_); }
  UmaskOf(const UmaskOf&) = delete;

 private:
  mode_t before_;
};

}  // namespace

LocalSite::LocalSite(Shared shared, Options options)
    : loop_(shared.loop),
      reception_(shared.reception),
      strays_(shared.strays),
      engine_(shared.engine),
      options_(std::move(options)),
      folders_(options_.paths, options_.name) {}

LocalSite::~LocalSite() {
  reception_.Go(*this);
  for (auto& [name, process] : processes_) {
    loop_.Cancel(process.poll);
    loop_.Forget(process.pidfd);
    close(process.pidfd);
  }
  copier_.reset();
  for (int descriptor : {inotify_, copies_done_}) {
    if (descriptor < 0) continue;
    loop_.Forget(descriptor);
    close(descriptor);
  }
}

Status LocalSite::Open() {
  // A user may have too few of these, if many studies run. Output is then looked at now and then.
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ >= 0) loop_.Watch(inotify_, [this] { OutputChanged(); });
  copies_done_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (copies_done_ < 0)
    return Unavailable(fmt::format("cannot be told of copies: {}", std::strerror(errno)));
  loop_.Watch(copies_done_, [this] { CopiesDone(); });
  return {};
}

void LocalSite::Welcome(Workforce& workforce) {
  workforce_ = &workforce;
  reception_.Come(options_.name, *this);
}

void LocalSite::SetWorld(StudyWorld world, std::string trainer, Status fit) {
  options_.world = std::move(world);
  options_.trainer = std::move(trainer);
  options_.fit = std::move(fit);
}

const Study& LocalSite::study() const { return *engine_.study(options_.study); }

Site::TimerId LocalSite::At(Time time, std::function<void()> handler) {
  return loop_.At(time, std::move(handler));
}

// The folder of the launch that the worker's process was started for.
std::string LocalSite::FolderOf(const std::string& worker) const {
  return folders_.Launch(ParseWorkerName(worker).value_or(wire::LaunchRef{}));
}

void LocalSite::AddProcess(const std::string& worker, int pidfd, pid_t child) {
  processes_[worker] = {.pidfd = pidfd, .child = child, .watch = -1, .poll = 0};
  loop_.Watch(pidfd, [this, worker] { ProcessEnded(worker); });
}

Status LocalSite::Spawn(const Trial& trial) {
  SLUICE_TRY(options_.fit);
  const wire::LaunchRef at{trial.id, trial.launch.id};
  const UmaskOf umask(options_.world.limits.umask);
  SLUICE_TRY(folders_.MakeFresh(at, options_.guard));
  const Node& node = engine_.cluster().node(trial.launch.grant.node);
  LaunchPlan plan =
      PlanLaunch(study(), trial, node, PlacesOf(at),
                 {.socket = options_.paths.socket, .trainer = options_.trainer}, options_.world);
  const std::string& folder = plan.assign.folder;
  SLUICE_TRY(WriteFile(folder + "/trial.json", wire::Encode(wire::ToWorker(plan.assign))));
  SLUICE_TRY(WriteFile(folder + "/params.json", plan.params));
  if (!plan.recipe.empty()) SLUICE_TRY(WriteFile(folder + "/recipe.json", plan.recipe));
  SLUICE_TRY(WriteFile(folder + "/stdout", ""));
  SLUICE_TRY(WriteSecret(folder));
  std::error_code error;
  std::filesystem::create_directories(plan.assign.checkpoint_dir, error);
  SLUICE_TRY(SetCheckpointOwner(plan.assign.checkpoint_dir, at.launch));
  SLUICE_ASSIGN(const Spawned spawned,
                sluice::Spawn({.launcher = options_.launcher,
                               .folder = folder,
                               .working_folder = study().folder,
                               .program = std::move(plan.program),
                               .environment = std::move(plan.environment),
                               .world = options_.world,
                               .grace = study().spec.timeouts.grace,
                               .output_cap_bytes = study().spec.output_cap_bytes}));
  strays_.AddLauncher(spawned.pid);
  AddProcess(WorkerName(at), spawned.pidfd, spawned.pid);
  return {};
}

Status LocalSite::Claim(const std::string& worker, const Trial& trial) {
  const wire::LaunchRef at{trial.id, trial.launch.id};
  SLUICE_TRY(folders_.MakeFresh(at, options_.guard));
  // This comes before the claim: once the launch is claimed, the next controller may tell the
  // worker of the launch.
  SLUICE_TRY(SetCheckpointOwner(folders_.Checkpoint(at.trial), at.launch));
  const auto claim = ReadClaim(FolderOf(worker)).value_or(sluice::Claim{});
  switch (MakeClaim(folders_.Launch(at), claim)) {
    case Claimed::kMade: return {};
    case Claimed::kTaken: return Unavailable("the launch was claimed by another process");
    case Claimed::kFailed: break;
  }
  return Unavailable(
      fmt::format("{}: cannot write: {}", folders_.Launch(at), std::strerror(errno)));
}

Inherited LocalSite::Look(wire::LaunchRef at) {
  const std::string folder = folders_.Launch(at);
  std::optional<sluice::Claim> claim = ReadClaim(folder);
  if (!claim) {
    // The launch is in the ledger, but may never have been started. If this controller claims it,
    // no launcher can claim it later. If a launcher has claimed it first, the launch runs.
    if (folders_.Make(at)) (void)MakeClaim(folder, sluice::Claim{});
    claim = ReadClaim(folder);
  }
  if (!claim || claim->pid == 0) return {};
  Inherited found{.fate = Inherited::Fate::kGone,
                  .worker = WorkerName(TrialFolders::LaunchAt(claim->host).value_or(at))};
  if (processes_.contains(found.worker) || Reach(found.worker)) found.fate = Inherited::Fate::kRuns;
  return found;
}

bool LocalSite::Reach(const std::string& worker) {
  const std::optional<sluice::Claim> claim = ReadClaim(FolderOf(worker));
  if (!claim || !IsAlive(*claim)) return false;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, claim->pid, 0));
  if (pidfd < 0) return false;
  if (!IsAlive(*claim)) {  // it has ended, and another process may have its pid by now
    close(pidfd);
    return false;
  }
  AddProcess(worker, pidfd, /*child=*/0);
  return true;
}

Speaker LocalSite::WhoSpeaks(const std::string& worker) {
  const std::string speaks = ReadSmallFile(FolderOf(worker) + "/speaks");
  char* rest = nullptr;
  const std::int64_t pid = std::strtoll(speaks.c_str(), &rest, 10);
  const std::uint64_t start = std::strtoull(rest, &rest, 10);
  const std::uint64_t base = std::strtoull(rest, &rest, 10);
  return {.speaks = !speaks.empty(),
          .pid = pid,
          .start = start,
          .image = std::strtoull(rest, nullptr, 10),
          .base = base};
}

void LocalSite::Spoke(const std::string& worker, const Speaker& speaker) {
  // The file is replaced as a whole. If this fails, the next controller learns of the process when
  // the process connects to it.
  const std::string path = FolderOf(worker) + "/speaks";
  const std::string next = path + ".next";
  const Status written = WriteFile(
      next, fmt::format("{} {} {} {}\n", speaker.pid, speaker.start, speaker.base, speaker.image));
  if (written) (void)rename(next.c_str(), path.c_str());
}

Result<Speaker> LocalSite::Identify(PeerId peer, const std::string& worker,
                                    const std::string& secret) {
  const Connection::Caller caller = reception_.CallerOf(peer);
  if (!caller.known || (caller.user != geteuid() && caller.user != 0))
    return FailedPrecondition("the process is another user's");
  const std::string folder = FolderOf(worker);
  if (!secret.empty() && secret != ReadSmallFile(folder + "/secret"))
    return FailedPrecondition("the secret is not that of this worker");
  const std::optional<sluice::Claim> claim = ReadClaim(folder);
  if (secret.empty() && (!claim || !IsBelow(static_cast<pid_t>(caller.pid), claim->pid)))
    return FailedPrecondition(
        "the process was not started by this worker, and has no secret of it");
  return SpeakerOf(caller.pid);
}

bool LocalSite::Lives(const Speaker& speaker) {
  const Speaker living = SpeakerOf(speaker.pid);
  return living.start != 0 && living.Is(speaker);
}

void LocalSite::Signal(const std::string& worker, Force force) {
  const auto found = processes_.find(worker);
  if (found == processes_.end()) return;
  const int signal = force == Force::kKill ? SIGUSR1 : SIGTERM;
  syscall(SYS_pidfd_send_signal, found->second.pidfd, signal, nullptr, 0);
}

void LocalSite::ProcessEnded(const std::string& worker) {
  // The messages that the worker sent before it ended are handled before its end.
  HearNewcomers();
  reception_.Drain(workforce_->PeerOf(worker));
  const auto found = processes_.find(worker);
  SLUICE_CHECK(found != processes_.end(), "an ended process is known");
  const Process process = found->second;
  processes_.erase(found);
  loop_.Cancel(process.poll);
  loop_.Forget(process.pidfd);
  if (process.child != 0) {
    siginfo_t info{};
    waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.pidfd), &info, WEXITED);
    strays_.RemoveLauncher(process.child);
  }
  close(process.pidfd);
  if (process.watch >= 0) {
    inotify_rm_watch(inotify_, process.watch);
    output_watches_.erase(process.watch);
  }
  // A launcher that wrote its exit record has left nothing behind. If the launcher was killed,
  // processes of an idle worker may be left. Only this code looks for them while a controller runs.
  if (!ReadExit(FolderOf(worker))) {
    strays_.End();
    KillLaunch(FolderOf(worker));
  }
  workforce_->HostEnded(worker);
}

std::vector<std::string> LocalSite::Spool(wire::LaunchRef at) {
  return ReadSpool(folders_.Launch(at));
}

LaunchEnd LocalSite::EndOf(wire::LaunchRef at, const std::string& worker) {
  return ReadLaunchEnd(folders_.Launch(at), FolderOf(worker));
}

LaunchPlaces LocalSite::PlacesOf(wire::LaunchRef at) const {
  return {.folder = folders_.Launch(at), .checkpoint = folders_.Checkpoint(at.trial)};
}

std::int64_t LocalSite::CheckpointBytes(TrialId trial) {
  return FolderBytes(folders_.Checkpoint(trial));
}

Work LocalSite::CheckpointWork(TrialId trial) {
  return sluice::CheckpointWork(folders_.Checkpoint(trial)).value_or(0);
}

void LocalSite::RemoveCheckpoint(TrialId trial) {
  std::error_code ignored;
  std::filesystem::remove_all(folders_.Checkpoint(trial), ignored);
}

void LocalSite::CopyCheckpoint(TrialId from, TrialId to, Work end,
                               std::function<void(const CopyResult&)> done) {
  if (copier_ == nullptr) copier_ = std::make_unique<CopyThread>(copies_done_);
  copier_->Ask({.parent = from,
                .from = folders_.Checkpoint(from),
                .to = folders_.Checkpoint(to),
                .end = end},
               std::move(done));
}

void LocalSite::CopiesDone() {
  ClearSignal(copies_done_);
  for (const CopyThread::Answer& answer : copier_->TakeAnswers()) answer.done(answer.copied);
}

void LocalSite::WatchOutput(const std::string& worker) {
  const auto found = processes_.find(worker);
  if (found == processes_.end() || found->second.watch >= 0) return;
  const std::string path = FolderOf(worker) + "/stdout";
  if (inotify_ >= 0) found->second.watch = inotify_add_watch(inotify_, path.c_str(), IN_MODIFY);
  if (found->second.watch >= 0) {
    output_watches_[found->second.watch] = worker;
  } else {
    PollOutput(worker);  // the user has no more watches
  }
}

void LocalSite::PollOutput(const std::string& worker) {
  processes_.at(worker).poll = At(Now() + kOutputPolledEvery, [this, worker] {
    workforce_->OutputGrew(worker);
    PollOutput(worker);
  });
}

void LocalSite::OutputChanged() {
  alignas(inotify_event) std::array<char, 16384> buffer;
  bool missed = false;
  while (true) {
    const ssize_t size = read(inotify_, buffer.data(), buffer.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if ((event->mask & IN_Q_OVERFLOW) != 0) missed = true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      const auto watch = output_watches_.find(event->wd);
      if (watch != output_watches_.end()) workforce_->OutputGrew(watch->second);
    }
  }
  if (!missed) return;
  for (const auto& [watch, worker] : output_watches_) workforce_->OutputGrew(worker);
}

std::uint64_t LocalSite::ReadOutput(const std::string& worker, std::uint64_t from, bool at_end,
                                    const LineHandler& handler) {
  const int output = OpenRegular(FolderOf(worker) + "/stdout");
  if (output < 0) return from;
  std::string text;
  std::array<char, 65536> buffer;
  std::uint64_t begin = from;
  while (true) {
    const ssize_t size =
        pread(output, buffer.data(), buffer.size(), static_cast<off_t>(begin + text.size()));
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t line = 0;
    for (std::size_t end; (end = text.find('\n', line)) != std::string::npos; line = end + 1) {
      handler(std::string_view(text).substr(line, end - line), begin + end + 1);
    }
    begin += line;
    text.erase(0, line);
    if (text.size() > wire::kLongestLine) {  // too long for a report: skipped
      begin += text.size();
      text.clear();
    }
  }
  close(output);
  if (at_end && !text.empty()) {
    handler(text, begin + text.size());
    begin += text.size();
  }
  return begin;
}

bool LocalSite::HasHost(const std::string& worker, const std::string& secret) {
  return !secret.empty() && ParseWorkerName(worker) &&
         secret == ReadSmallFile(FolderOf(worker) + "/secret");
}

// When a process connects again, or has replaced itself, the messages that it sent on its former
// connection are handled first.
void LocalSite::Heard(PeerId peer, std::string_view line) {
  if (workforce_->IsNewcomer(peer)) reception_.Drain(workforce_->PeerBefore(line));
  workforce_->Heard(peer, line);
}

// Reads from the connections from which no hello was read yet. A process may have connected, sent
// messages and ended before the loop handled its connection.
void LocalSite::HearNewcomers() {
  reception_.DrainNewcomers();
  for (const PeerId peer : workforce_->Newcomers()) reception_.Drain(peer);
}

}  // namespace sluice
