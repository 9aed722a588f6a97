#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/text.h"
#include "cli/places.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/controller/run_controller.h"
#include "launcher/small_file.h"
#include "ledger/lock.h"

namespace sluice {
namespace {

constexpr std::string_view kLogsHelp =
    R"(usage: sluice logs TRIAL [--study NAME] [--launch N] [--follow] [--stderr]

Prints what a trial wrote to standard output. A trial that was resumed or retried has several
launches; the output of the latest launch is shown.

  --study NAME  the study of the trial
  --launch N    show launch N instead of the latest
  -f, --follow  keep printing what the trial writes, until the launch ends
  --stderr      show standard error instead
  --store FILE  where studies are kept
  --json        one JSON object per line of output
  -h, --help    print this

examples:
  sluice logs 7
  sluice logs 7 --stderr                  why it failed
  sluice logs 12 --study fashion --follow
  sluice logs 7 --launch 1 | less
)";

struct LogsOptions {
  TrialId trial{};
  std::optional<std::string> study;
  std::optional<LaunchId> launch;
  bool follow = false;
  bool standard_error = false;
};

void LogsFlags(Flags& flags, LogsOptions& options) {
  flags.TrialNumber("TRIAL", options.trial);
  flags.Text("--study", options.study);
  flags.Value("--launch", [&options](const std::string& word) -> Status {
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    SLUICE_ASSIGN(const auto launch, ReadNumber<std::uint32_t>("--launch", word, 1, kMost));
    options.launch = LaunchId(launch);
    return {};
  });
  flags.Switch("-f,--follow", options.follow);
  flags.Switch("--stderr", options.standard_error);
}

constexpr std::chrono::milliseconds kPoll(100);

// Prints a file that grows: as it is, or as a JSON object for each line.
class Tail {
 public:
  Tail(const std::string& path, const LogsOptions& options, LaunchId launch, bool json)
      : path_(path), options_(options), launch_(launch), json_(json) {}
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;
  ~Tail() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  // Prints what was added to the file since the last call. Returns false if there is no file yet.
  Result<bool> Pump() {
    if (descriptor_ < 0) descriptor_ = OpenRegular(path_);
    if (descriptor_ < 0 && errno == ENOENT) return false;
    if (descriptor_ < 0)
      return Unavailable(fmt::format("{}: cannot read ({})", path_, std::strerror(errno)));
    std::array<char, 1 << 16> buffer;
    while (true) {
      const ssize_t size = read(descriptor_, buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0)
        return Unavailable(fmt::format("{}: cannot read ({})", path_, std::strerror(errno)));
      if (size == 0) break;
      Put({buffer.data(), static_cast<std::size_t>(size)});
    }
    std::fflush(stdout);
    return true;
  }

  // Prints the last line if the file does not end with a line break.
  void Finish() {
    if (!line_.empty()) PutLine();
  }

 private:
  void Put(std::string_view bytes) {
    if (!json_) return Print(bytes);
    for (const char c : bytes) {
      if (c == '\n') {
        PutLine();
      } else {
        line_ += c;
      }
    }
  }
  void PutLine() {
    JsonWriter object;
    object.Add("trial", static_cast<std::int64_t>(Number(options_.trial)));
    object.Add("launch", static_cast<std::int64_t>(Number(launch_)));
    object.Add("stream", options_.standard_error ? "stderr" : "stdout").Add("text", line_);
    PrintLine(object.Take());
    line_.clear();
  }

  std::string path_;
  const LogsOptions& options_;
  LaunchId launch_;
  bool json_;
  int descriptor_ = -1;
  std::string line_;
};

// Watches one trial in the store. It reads the trial again only if the store has changed.
class Follower {
 public:
  Follower(Reader& reader, const Context& context, const StudyInfo& study, TrialInfo trial)
      : reader_(reader), context_(context), study_(study), trial_(std::move(trial)) {}

  const TrialInfo& trial() const { return trial_; }

  Status Wait() {
    std::this_thread::sleep_for(kPoll);
    SLUICE_ASSIGN(const std::int64_t version, reader_.Version());
    if (version == version_) return {};
    version_ = version;
    SLUICE_ASSIGN(trial_, reader_.FindTrial(study_, trial_.id));
    return {};
  }

  bool IsUnderWay(LaunchId launch) const {
    return trial_.state == TrialState::kRunning && trial_.launch == launch && HasController();
  }
  // Whether the trial has not started yet but may still start.
  bool MayStart() const {
    return !IsSet(trial_.launch) && trial_.state == TrialState::kWaiting && HasController();
  }

 private:
  bool HasController() const {
    const auto study = reader_.FindStudy(study_.name);
    return study && study->open && IsController(FindLockHolder(context_.paths));
  }

  Reader& reader_;
  const Context& context_;
  const StudyInfo& study_;
  TrialInfo trial_;
  std::int64_t version_ = -1;
};

// If the trial has failed, says so on standard error, and which command shows its standard error.
void PointAtFailure(const Context& context, const StudyInfo& study, const TrialInfo& trial,
                    LaunchId launch) {
  if (trial.state != TrialState::kFailed) return;
  std::error_code error;
  const auto size = std::filesystem::file_size(
      OutputFile(context.paths, study.name, trial.id, launch, true), error);
  const std::string note = trial.note.empty() ? "" : fmt::format(": {}", FirstLine(trial.note));
  const std::string hint =
      !error && size > 0
          ? fmt::format("; 'sluice logs {} --study {} --stderr' shows its standard error",
                        Number(trial.id), study.name)
          : "";
  Remark(fmt::format("trial {} failed{}{}", Number(trial.id), note, hint));
}

Result<int> LogsAction(const Context& context, const LogsOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_ASSIGN(TrialInfo found, reader->FindTrial(study, options.trial));
  Follower follower(*reader, context, study, std::move(found));
  while (options.follow && !options.launch && follower.MayStart()) SLUICE_TRY(follower.Wait());

  const LaunchId latest = follower.trial().launch;
  const std::string subject = fmt::format("trial {} of '{}'", Number(options.trial), study.name);
  if (!IsSet(latest)) return FailedPrecondition(fmt::format("{} has not started yet", subject));
  const LaunchId launch = options.launch.value_or(latest);
  if (Number(launch) > Number(latest)) {
    return NotFound(fmt::format("{} has no launch {}: its launches are numbered from 1 to {}",
                                subject, Number(launch), Number(latest)));
  }
  const std::string path =
      OutputFile(context.paths, study.name, options.trial, launch, options.standard_error);
  Tail tail(path, options, launch, context.json);
  while (true) {
    // Whether the launch runs is asked before Pump. If it ran then, there is another Pump, which
    // prints what is written after this one. If it had ended, nothing is written after this one.
    const bool last = !options.follow || !follower.IsUnderWay(launch);
    SLUICE_ASSIGN(const bool there, tail.Pump());
    if (last && !there) return NotFound(fmt::format("{}: {} left no output here", path, subject));
    if (last) break;
    SLUICE_TRY(follower.Wait());
  }
  tail.Finish();
  if (!options.standard_error && !context.json)
    PointAtFailure(context, study, follower.trial(), launch);
  return kExitOk;
}

}  // namespace

Verb LogsVerb() { return MakeVerb(kLogsHelp, LogsFlags, LogsAction); }

}  // namespace sluice
