#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/engine.h"
#include "exec/event_loop.h"
#include "exec/local_executor.h"
#include "exec/search_thread.h"
#include "exec/session.h"
#include "ledger/ledger.h"
#include "ledger/writer.h"

namespace sluice {

// The loop around the engine: what happens becomes an event, the event changes the engine at once,
// and what the engine commands is carried out, and what was heard is acknowledged, when the event
// is on disk. Drives one study in one thread; the ledger's writer and the sampler have theirs.
class Controller : public ExecutorOwner {
 public:
  struct Parts {
    StorePaths paths;
    std::string launcher;
    StudyId study{};
    std::unique_ptr<EventLoop> loop;
    std::unique_ptr<Ledger> ledger;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Sampler> sampler;
    std::vector<Observation> knowledge;  // that the sampler has beside the study's own trials
    std::int64_t events_since_snapshot = 0;
  };

  Controller(Parts parts, Watcher& watcher);
  ~Controller() override;

  // Applies the first events, ControllerStarted among them, then runs until the study is finished
  // or the user interrupts. On an error (the disk is full, say) trials go on by themselves and the
  // next controller finds them.
  Result<RunEnd> Run(std::vector<EventBody> first);

  const Engine& engine() const override { return *engine_; }
  void Happened(EventBody body, std::optional<Receipt> receipt) override;
  void AcknowledgeInTurn(Receipt receipt) override;
  void Asked(const wire::Ask& ask, std::function<void(const wire::Answer&)> answer) override;

 private:
  // What waits for a commit.
  struct Effects {
    std::vector<Command> commands;
    std::vector<Receipt> receipts;
    std::vector<std::function<void()>> answers;
    bool empty() const { return commands.empty() && receipts.empty() && answers.empty(); }
  };

  const Study& study() const { return *engine_->study(study_); }
  void Execute(std::vector<Command> commands);
  void AskFork(const Propose& propose);
  void Flush();
  Batch TakeBatch();
  void CommitDone();
  void Release(Effects effects);
  void Interrupted();
  void Proposals();
  void Wake(Time time);
  void Tick();
  void TellSearch();
  void ObserveAll();
  void Observe(const Trial& trial);
  bool Over() const;

  StorePaths paths_;
  StudyId study_;
  Watcher& watcher_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Engine> engine_;
  EventSeq last_{};
  int commit_done_ = -1;  // eventfds
  int search_ready_ = -1;
  int signals_ = -1;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<SearchThread> search_;
  LocalExecutor executor_;

  std::vector<std::pair<EventSeq, Event>> gathered_;
  std::set<TrialKey> unwritten_;  // trials that changed since the last batch
  Effects gathered_effects_;
  Effects committing_effects_;
  std::vector<Observation> knowledge_;
  std::int64_t events_since_snapshot_ = 0;
  int interrupts_ = 0;
  bool changed_ = true;
  Time ticked_{};
  std::optional<Error> failure_;
};

}  // namespace sluice
