#include "cli/view/live_view.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/places.h"
#include "cli/view/progress.h"
#include "ledger/lock.h"
#include "ledger/reader.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Whether what we print is read as UTF-8: the first of these that is set decides, as for the C
// library.
bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = EnvironmentVariable(name);
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

// Blocks signals on this thread while it lives.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(const sigset_t& signals) {
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

sigset_t AllSignals() {
  sigset_t all;
  sigfillset(&all);
  return all;
}

// Writes to a descriptor from a thread of its own, in order. Bytes that cannot be written (the
// reader is gone) are dropped, and so are those that come while megabytes wait. Called by one
// thread. The destructor waits until all is written.
class Outlet {
 public:
  explicit Outlet(int descriptor) : descriptor_(descriptor) {
    // Signals are for the threads that wait for them. With SIGPIPE blocked, a reader that left is
    // an error here and does not end the process.
    const SignalsBlocked blocked(AllSignals());
    thread_ = std::thread([this] { Work(); });
  }

  ~Outlet() {
    {
      const std::lock_guard lock(mutex_);
      leave_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // False: dropped.
  bool Write(std::string bytes) {
    constexpr std::size_t kMostWaiting = 4 << 20;
    {
      const std::lock_guard lock(mutex_);
      if (broken_ || waiting_bytes_ > kMostWaiting) return false;
      waiting_bytes_ += bytes.size();
      waiting_.push_back(std::move(bytes));
    }
    changed_.notify_all();
    return true;
  }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return waiting_bytes_ == 0;
  }

  void Flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_bytes_ == 0; });
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return leave_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string bytes = std::move(waiting_.front());
      waiting_.pop_front();
      const bool skip = broken_;
      lock.unlock();
      const bool written = !skip && WriteAll(bytes);
      lock.lock();
      broken_ = broken_ || !written;
      waiting_bytes_ -= bytes.size();
      changed_.notify_all();
    }
  }

  bool WriteAll(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno == EAGAIN) {
        struct pollfd wait{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        poll(&wait, 1, -1);
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  const int descriptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;  // with what is being written
  bool leave_ = false;
  bool broken_ = false;
  std::thread thread_;
};

// Reports a second over the last half minute.
class ReportRate {
 public:
  std::optional<double> Add(Time now, std::optional<std::int64_t> reports) {
    if (!reports) return std::nullopt;
    if (samples_.empty() || now - samples_.back().time >= seconds(1))
      samples_.push_back({now, *reports});
    while (samples_.size() > 2 && now - samples_.front().time > seconds(30)) samples_.pop_front();
    const Duration passed = now - samples_.front().time;
    const std::int64_t more = *reports - samples_.front().reports;
    if (passed < seconds(1) || more < 0) return std::nullopt;
    return static_cast<double>(more) / Seconds(passed);
  }

 private:
  struct Sample {
    Time time;
    std::int64_t reports;
  };
  std::deque<Sample> samples_;
};

// How a trial stands, for lines about trials that ended.
struct TrialNews {
  TrialId id{};
  TrialState state{};
  double result = 0;  // NaN: none
  Work result_work = 0;
  Work work = 0;
  Time ended{};
  std::string note;
};

constexpr std::size_t kMostNews = 20'000;

bool IsOver(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kStopped ||
         state == TrialState::kFailed;
}

// The latest trials, without those that wait or are paused, in order of ids.
std::vector<TrialNews> LatestTrials(const Study& study) {
  std::vector<TrialNews> news;
  const std::size_t size = study.trials.size();
  for (std::size_t i = size - std::min(size, kMostNews); i < size; ++i) {
    const Trial& trial = study.trials[i];
    if (!IsOver(trial.state) && trial.state != TrialState::kRunning) continue;
    news.push_back({trial.id, trial.state, trial.result, trial.result_work, trial.work, trial.ended,
                    trial.note});
  }
  return news;
}

Result<std::vector<TrialNews>> LatestTrials(Reader& reader, StudyId study) {
  SLUICE_ASSIGN(
      Statement query,
      reader.database().Prepare("SELECT trial, state, best_value, best_work, work, ended_us, note "
                                "FROM trials WHERE study = ? ORDER BY trial DESC LIMIT ?"));
  query.Bind(1, static_cast<std::int64_t>(Number(study)));
  query.Bind(2, static_cast<std::int64_t>(kMostNews));
  std::vector<TrialNews> news;
  while (true) {
    SLUICE_ASSIGN(const bool row, query.Step());
    if (!row) break;
    const auto state =
        std::ranges::find(kTrialStateNames, query.Text(1)) - kTrialStateNames.begin();
    news.push_back({TrialId(static_cast<std::uint32_t>(query.Integer(0))),
                    static_cast<TrialState>(state), query.Number(2), query.Integer(3),
                    query.Integer(4), FromMicros(query.Integer(5)), std::string(query.Text(6))});
  }
  std::ranges::reverse(news);
  return news;
}

// Finds the trials that ended since it was made, each once.
class NewlyEnded {
 public:
  std::vector<TrialNews> Take(std::vector<TrialNews> latest) {
    std::erase_if(latest, [this](const TrialNews& trial) {
      const std::size_t number = Number(trial.id);
      if (told_.size() <= number) told_.resize(std::max(number + 1, told_.size() * 2));
      const bool over = IsOver(trial.state);
      const bool news = over && !told_[number] && trial.ended >= begun_;
      told_[number] = over;
      return !news;
    });
    return latest;
  }

 private:
  const Time begun_ = WallNow();
  std::vector<bool> told_;  // by trial: that it is over
};

std::string FailedText(const TrialNews& trial) {
  const std::string text = fmt::format("trial {} failed", Number(trial.id));
  return trial.note.empty() ? text : fmt::format("{}: {}", text, FirstLine(trial.note));
}

constexpr int kMostLines = 20;  // about trials that ended, at one time

// A view of a study, fed by the engine (Tick) or from the store (Show).
class View : public Watcher {
 public:
  void Tick(const Study& study, Time now) final {
    Progress progress = MakeProgress(study, now);
    auto latest = WantsTrials(progress) ? LatestTrials(study) : std::vector<TrialNews>{};
    Show(std::move(progress), std::move(latest));
  }

  void Show(Progress progress, std::vector<TrialNews> latest) {
    progress.reports_per_second = rate_.Add(progress.now, progress.reports);
    Take(std::move(progress), std::move(latest));
  }

  // Whether Show should come with the latest trials.
  virtual bool WantsTrials(const Progress&) const { return false; }
  // Shows the last state for good. Only Say may follow.
  virtual void Finish() = 0;

 private:
  virtual void Take(Progress progress, std::vector<TrialNews> latest) = 0;
  ReportRate rate_;
};

class QuietView : public View {
 public:
  void Say(std::string_view) override {}
  void Finish() override {}

 private:
  void Take(Progress, std::vector<TrialNews>) override {}
};

// The region lies above the cursor, which rests at the beginning of the line below it and is hidden
// only within a frame: each frame is one write and leaves the terminal in a usable state.
class LiveView : public View {
 public:
  explicit LiveView(int output) : output_(output), outlet_(output) {}
  ~LiveView() override { LiveView::Finish(); }

  void Say(std::string_view line) override {
    constexpr std::size_t kMostKept = 100;
    said_.push_back(Harmless(line, utf8_));
    if (said_.size() > kMostKept) said_.pop_front();
    const bool resized = Measure();
    std::string frame = resized ? Afresh() : ToTop() + "\x1b[J" + said_.back() + "\r\n";
    Draw("\x1b[?25l" + std::move(frame));
  }

  void Finish() override {
    if (finished_) return;
    DrawAgain();
    outlet_.Flush();
    finished_ = true;
    drawn_ = 0;
    latest_.reset();
  }

  bool WantsTrials(const Progress& progress) const override {
    return progress.count(TrialState::kFailed) > failed_;
  }

 private:
  void Take(Progress progress, std::vector<TrialNews> latest) override {
    failed_ = progress.count(TrialState::kFailed);
    TellFailed(std::move(latest));
    // A little less than a tenth of a second, since ticks that come ten times a second are not all
    // equally far apart.
    constexpr Duration kShortest = milliseconds(95);
    const Duration since = progress.now - drawn_at_;
    const Time now = progress.now;
    latest_ = std::move(progress);
    if (since >= Duration(0) && since < kShortest) return;
    if (!outlet_.idle()) return;  // a terminal that is slow gets fewer frames, not late ones
    DrawAgain();
    drawn_at_ = now;
  }

  void TellFailed(std::vector<TrialNews> latest) {
    int told = 0;
    for (const TrialNews& trial : ended_.Take(std::move(latest))) {
      if (trial.state == TrialState::kFailed && ++told <= kMostLines) Say(FailedText(trial));
    }
    if (told > kMostLines) Say(fmt::format("and {} more trials failed", told - kMostLines));
  }

  // Whether the terminal's size is another than it was.
  bool Measure() {
    struct winsize size{};
    const bool known = ioctl(output_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    const int columns = known ? size.ws_col : 80;
    const int rows = known ? size.ws_row : 24;
    const bool resized = drawn_ > 0 && (columns != columns_ || rows != rows_);
    columns_ = columns;
    rows_ = rows;
    return resized;
  }

  void DrawAgain() {
    const bool resized = Measure();
    Draw("\x1b[?25l" + (resized ? Afresh() : ToTop()));
  }

  // To the region's first line.
  std::string ToTop() const { return drawn_ > 0 ? fmt::format("\r\x1b[{}A", drawn_) : "\r"; }

  // Terminals fold, cut or move what is drawn when they are resized, each in its own way: where the
  // region is then cannot be known. The screen is cleared, and what was said last is said again.
  std::string Afresh() const {
    std::string frame = "\x1b[2J\x1b[H";
    const auto most = static_cast<std::size_t>(std::max(rows_ - drawn_ - 2, 0));
    for (std::size_t i = said_.size() - std::min(said_.size(), most); i < said_.size(); ++i)
      frame += said_[i] + "\r\n";
    return frame;
  }

  // Appends the region to what brings the cursor to its first line.
  void Draw(std::string frame) {
    int drawn = 0;
    if (latest_) {
      // The last column stays free: a cursor that waits behind it would make the erasing take its
      // character.
      const int columns = std::max(columns_ - 1, 1);
      for (const std::string& line : RenderProgress(*latest_, columns, rows_, colour_, utf8_)) {
        frame += line + "\x1b[K\r\n";
        ++drawn;
      }
    }
    frame += "\x1b[J\x1b[?25h";
    if (outlet_.Write(std::move(frame))) drawn_ = drawn;
  }

  const int output_;
  const bool utf8_ = LocaleIsUtf8();
  const bool colour_ = EnvironmentVariable("NO_COLOR").empty();
  int columns_ = 80;
  int rows_ = 24;
  std::optional<Progress> latest_;
  NewlyEnded ended_;
  int failed_ = 0;
  int drawn_ = 0;                 // lines of the region
  std::deque<std::string> said_;  // the last of it
  Time drawn_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

class PlainView : public View {
 public:
  explicit PlainView(int output) : outlet_(output) {}
  ~PlainView() override { PlainView::Finish(); }

  void Say(std::string_view line) override { outlet_.Write(Harmless(line, utf8_) + "\n"); }

  void Finish() override {
    if (finished_) return;
    finished_ = true;
    if (latest_) Print(ProgressLine(*latest_, utf8_));
    outlet_.Flush();
  }

  bool WantsTrials(const Progress&) const override { return true; }

 private:
  void Take(Progress progress, std::vector<TrialNews> latest) override {
    latest_ = std::move(progress);
    const Time now = latest_->now;
    TellEnded(std::move(latest));
    const double best = latest_->best ? latest_->best->value : 0;
    if (latest_->best && (!told_best_ || *told_best_ != best) && now - best_at_ >= seconds(1)) {
      Print("new best: " + BestLine(*latest_, utf8_));
      told_best_ = best;
      best_at_ = now;
    }
    if (line_at_ == Time{}) line_at_ = now;
    if (now - line_at_ < seconds(30)) return;
    Print(ProgressLine(*latest_, utf8_));
    line_at_ = now;
  }

  void TellEnded(std::vector<TrialNews> latest) {
    int told = 0;
    for (const TrialNews& trial : ended_.Take(std::move(latest))) {
      if (++told <= kMostLines) Print(EndedText(trial));
    }
    if (told > kMostLines) Print(fmt::format("and {} more trials ended", told - kMostLines));
  }

  std::string EndedText(const TrialNews& trial) const {
    if (trial.state == TrialState::kFailed) return FailedText(trial);
    const std::string head = fmt::format("trial {} {}", Number(trial.id), Name(trial.state));
    const std::string at = fmt::format("{} at {} {}", head, latest_->unit, trial.work);
    if (trial.result != trial.result) return at + ": no result";
    return fmt::format("{}: {} {} ({} {})", at, latest_->metric, FormatMetric(trial.result),
                       latest_->unit, trial.result_work);
  }

  void Print(const std::string& line) {
    outlet_.Write(
        fmt::format("[{}] {}\n", FormatDuration(latest_->elapsed), Harmless(line, utf8_)));
  }

  const bool utf8_ = LocaleIsUtf8();
  NewlyEnded ended_;
  std::optional<Progress> latest_;
  std::optional<double> told_best_;
  Time best_at_{};
  Time line_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

class JsonView : public View {
 public:
  explicit JsonView(int output) : outlet_(output) {}
  ~JsonView() override { JsonView::Finish(); }

  void Say(std::string_view line) override { outlet_.Write(MessageJson(line, WallNow()) + "\n"); }

  void Finish() override {
    if (finished_) return;
    finished_ = true;
    if (latest_) outlet_.Write(ProgressJson(*latest_) + "\n");
    outlet_.Flush();
  }

 private:
  void Take(Progress progress, std::vector<TrialNews>) override {
    latest_ = std::move(progress);
    // The last one is for Finish.
    if (latest_->finished || latest_->now - printed_at_ < seconds(1)) return;
    printed_at_ = latest_->now;
    outlet_.Write(ProgressJson(*latest_) + "\n");
  }

  std::optional<Progress> latest_;
  Time printed_at_{};
  bool finished_ = false;
  Outlet outlet_;
};

std::unique_ptr<View> MakeView(ViewMode mode, int output) {
  switch (mode) {
    case ViewMode::kLive: return std::make_unique<LiveView>(output);
    case ViewMode::kPlain: return std::make_unique<PlainView>(output);
    case ViewMode::kQuiet: return std::make_unique<QuietView>();
    case ViewMode::kJson: return std::make_unique<JsonView>(output);
  }
  return std::make_unique<QuietView>();
}

// Reads the study and shows it as it stands.
Result<StudyInfo> ShowStored(Reader& reader, const std::string& name, View& view) {
  SLUICE_ASSIGN(StudyInfo study, reader.FindStudy(name));
  SLUICE_ASSIGN(Progress progress, MakeProgress(reader, study, WallNow()));
  std::vector<TrialNews> latest;
  if (view.WantsTrials(progress)) {
    SLUICE_ASSIGN(latest, LatestTrials(reader, study.id));
  }
  view.Show(std::move(progress), std::move(latest));
  return study;
}

// Waits for a signal of the set, which is blocked; false if none came in time.
bool SignalWithin(const sigset_t& signals, milliseconds time) {
  const struct timespec limit{.tv_sec = 0, .tv_nsec = time.count() * 1'000'000};
  return sigtimedwait(&signals, nullptr, &limit) > 0;
}

Status WatchUntilOver(Reader& reader, const StorePaths& paths, const std::string& name, View& view,
                      const sigset_t& interrupts) {
  constexpr milliseconds kPoll{200};
  std::optional<std::int64_t> seen;
  Time shown{};
  while (true) {
    // Looked up before the store is read: a controller that ends in between has recorded how.
    const bool alive = FindLockHolder(paths).pid != 0;
    SLUICE_ASSIGN(const std::int64_t version, reader.Version());
    if (seen != version || !alive || WallNow() - shown >= seconds(1)) {
      SLUICE_ASSIGN(const StudyInfo study, ShowStored(reader, name, view));
      seen = version;
      shown = WallNow();
      if (study.finished || !alive) {
        view.Finish();
        if (!study.finished) view.Say(fmt::format("not running: sluice resume {}", name));
        return {};
      }
    }
    if (SignalWithin(interrupts, kPoll)) return {};
  }
}

}  // namespace

ViewMode ChooseViewMode(bool quiet, bool plain, bool json) {
  if (json) return ViewMode::kJson;
  if (quiet) return ViewMode::kQuiet;
  const std::string term = EnvironmentVariable("TERM");
  const bool able = isatty(STDOUT_FILENO) == 1 && !term.empty() && term != "dumb";
  return plain || !able ? ViewMode::kPlain : ViewMode::kLive;
}

std::unique_ptr<Watcher> MakeLiveView(ViewMode mode, const StorePaths& /*paths*/, int output) {
  return MakeView(mode, output);
}

Status WatchStudy(const StorePaths& paths, const std::string& study, ViewMode mode) {
  SLUICE_ASSIGN(const std::unique_ptr<Reader> reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo found,
                study.empty() ? reader->LatestStudy() : reader->FindStudy(study));
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  const SignalsBlocked blocked(interrupts);
  const std::unique_ptr<View> view = MakeView(mode, STDOUT_FILENO);
  return WatchUntilOver(*reader, paths, found.name, *view, interrupts);
}

}  // namespace sluice
