// What a worker does wrong.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "control/assignment.h"
#include "rig/fault_worker.h"

namespace sluice {

// Draws the faults of this step and carries them out. Returns whether they end the step.
bool FaultWorker::Misbehave(wire::LaunchRef victim) {
  const FaultPlan& faults = world_.faults();
  if (random_.Chance(faults.crash)) {
    // An error that the program catches and reports, or the end of the whole process.
    if (traits_.reuse && random_.Chance(0.5)) {
      Leave(*Find(victim), Left::kFailed);
    } else if (random_.Chance(0.2)) {
      Vanish();
    } else {
      Exit(LaunchEnd::Kind::kFailed, LastWords());
    }
    return true;
  }
  if ((welcomed_ || traits_.has_timeout) && random_.Chance(faults.hang)) {
    hung_ = true;
    return true;
  }
  if (random_.Chance(faults.slow)) slowness_ = 10;
  if (IsBundle() && MisbehaveAsBundle(victim)) return true;
  // A new process knows only the launch that the process was started for.
  const bool can_replace = WorkerName(victim) == name_;
  if (traits_.reuse ? can_replace && odd_.Chance(faults.exec) : more_.Chance(faults.exec)) {
    Replace(victim);
    return true;
  }
  if (random_.Chance(faults.lie)) {
    if (traits_.speaks) {
      Lie(*Find(victim));
    } else {
      PrintNonsense(*Find(victim));
    }
  }
  return !alive_;
}

// Faults of a process with several trials. Returns whether they end the step.
bool FaultWorker::MisbehaveAsBundle(wire::LaunchRef victim) {
  const FaultPlan& faults = world_.faults();
  if (more_.Chance(faults.deaf)) Find(victim)->deaf = true;
  if (more_.Chance(faults.shrink)) Shrink();
  // Now and then the whole process ends well, with several trials in it.
  const bool has_left = Find(victim)->left != Left::kNot;
  if (Trains().size() < 2 || !more_.Chance(faults.stillborn / 20)) return has_left;
  Exit(LaunchEnd::Kind::kDone, "");
  return true;
}

// Lowers the number of trials that the process takes, and hands back those that are too many.
void FaultWorker::Shrink() {
  const std::vector<wire::LaunchRef> trained = Trains();
  capacity_ = static_cast<int>(more_.Below(static_cast<std::uint64_t>(capacity_) + 1));
  shrank_ = true;
  SayRaw(wire::Capacity{capacity_});
  for (std::size_t i = static_cast<std::size_t>(capacity_); i < trained.size(); ++i)
    Leave(*Find(trained[i]), Left::kReleased);
  // A process that takes no trials any more is useless, so it ends.
  if (capacity_ == 0) After(traits_.step * 4, &FaultWorker::LeaveIdle);
}

// Replaces the process by a new one of the same program. The new process knows only what the files
// say. What the old process sent before still arrives.
void FaultWorker::Replace(wire::LaunchRef at) {
  world_.Disconnect(*this);
  connected_ = false;
  alone_since_ = world_.timeline().now();
  ++image_;
  const std::optional<Work> target = Find(at)->first_target;
  tasks_.clear();
  Begin(at, target);
  After(traits_.startup, &FaultWorker::Boot);
}

// Draws the reason for an exit, which contains the last lines of standard error.
std::string FaultWorker::LastWords() {
  switch (random_.Below(4)) {
    case 0:
      return "exit code 1: \xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xff \xe0\xa4\xb8 "
             "\xe0\x80\x80 \xed\x9f\xbf "
             "\xed\xa0\x80 \xf0\x80\x80\x80 \xf4\x8f\xbf\xbf \xf4\x90\x80\x80 \xc3( \xe2\x82";
    case 1: {
      std::string text(random_.Below(4), 'x');
      while (text.size() < 600) text += "\xe2\x82\xac";
      return text;
    }
    default: return "killed by signal 11 (Segmentation fault)";
  }
}

// Prints lines that a reader of standard output must understand or skip.
void FaultWorker::PrintNonsense(const Task& task) {
  std::string& output = world_.HostFilesOf(name_).output;
  switch (random_.Below(8)) {
    case 0: output += fmt::format("{{\"epoch\": {}.5, \"loss\": 1}}\n", task.work); break;
    case 1: output += "{\"epoch\": 3, \"loss\": \"high\"}\n"; break;
    case 2: output += "{\"epoch\": 1, \"loss\": -1}\n"; break;
    case 3: output += "{\"epoch\": -1, \"loss\": 0}\n"; break;
    case 4: output += "{\"accuracy\": 1}\n   \n{\"loss\": \n"; break;
    case 5: output += std::string(2000, '[') + "\n" + std::string(2000, '{') + "\n"; break;
    case 6:
      output += fmt::format("{{\"step\": {}, \"loss\": 0.5, \"name\": \"x\"}}\n", task.work);
      break;
    default: output += "{\"loss\": 0.5}\n"; break;  // no epoch: it counts as the next unit of work
  }
  world_.Printed(*this);
}

// Sends a message that only workers of version 2 may send.
void FaultWorker::LieOfVersion(wire::LaunchRef at) {
  if (IsBundle()) return;
  switch (odd_.Below(3)) {
    case 0: return SayRaw(wire::Capacity{2});
    case 1: return SayRaw(wire::Released{at, 1});
    default: return SayRaw(wire::Profile{.at = at, .seq = 1});
  }
}

// A process that has replaced another does not lie about its numbers before one of its messages is
// acknowledged: the controller finds by the first one how the process numbers all of them.
void FaultWorker::ReportAstray(wire::LaunchRef at, std::uint64_t seq, Work work) {
  const bool is_numbered =
      image_ == 1 || IsBundle() || std::ranges::all_of(tasks_, [](const auto& each) {
        return (each.second.outbox.first() - 1) % wire::kConversation > 0;
      });
  if (is_numbered) SayRaw(wire::Report{at, seq, work, {{"loss", 0.0}}});
}

// Lies of processes that few worlds have. Returns whether it has lied.
bool FaultWorker::LieOfRareCases(const Task& task) {
  constexpr std::size_t kCrowd = 8;
  if (image_ > 1 && traits_.counts && rare_.Chance(0.3)) {
    ReportAstray(task.at, 1);  // numbered as if the program that it has replaced still reported
    return true;
  }
  if (tasks_.size() > kCrowd && rare_.Chance(0.5)) {
    ReportAstray({TrialId(Number(task.at.trial) + 1000), task.at.launch}, 1);
    return true;
  }
  return false;
}

void FaultWorker::Lie(Task& task) {
  if (LieOfRareCases(task)) return;
  const wire::LaunchRef at = task.at;
  const std::uint64_t next = task.outbox.last() + 1;
  switch (random_.Below(12)) {
    case 0: return world_.Send(*this, "{\"type\": \"report\", ");
    case 1:  // sends the last message twice, or one that is numbered for another process
      if (odd_.Chance(0.3)) {
        const std::uint64_t seq = odd_.Chance(0.5) ? 1 : next + wire::kConversation + 1;
        return ReportAstray(at, seq, task.work + 1);
      }
      if (!task.outbox.unacknowledged().empty())
        world_.Send(*this, task.outbox.unacknowledged().back());
      return;
    case 2: return SayRaw(wire::Report{at, next + 3, task.work + 1, {{"loss", 0.0}}});
    case 3: return Report(task, std::max<Work>(1, task.work), {{"loss", -1.0}});
    case 4: {  // of a trial that the process does not have
      const auto other = TrialId(Number(at.trial) + (IsBundle() ? 1000U : 1U));
      return ReportAstray({other, at.launch}, next);
    }
    case 5:
      ++task.work;
      return Report(task, task.work,
                    random_.Chance(0.5)
                        ? wire::Values{}
                        : wire::Values{{"loss", std::numeric_limits<double>::quiet_NaN()}});
    case 6: return SayRaw(MakeHello());
    case 7: return Say(task, wire::Saved{{}, 0, task.work + 100, 1});
    case 8:
      if (odd_.Chance(0.5)) return LieOfVersion(at);
      return SayRaw(wire::Ready{});  // although it has a trial
    case 9:
      return Say(
          task, wire::Attributes{
                    {}, 0, odd_.Chance(0.3) ? R"({"parent": 7})" : R"({"host": "a", "tries": 3})"});
    case 10:
      ++task.work;
      return Report(task, task.work,
                    {{"accuracy", 0.5}, {"loss", world_.ValueAt(at.trial, task.work)}});
    default:  // does not wait for a verdict
      task.work += static_cast<Work>(1 + random_.Below(5));
      return Report(task, task.work, {{"loss", world_.ValueAt(at.trial, task.work)}});
  }
}

}  // namespace sluice
