#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/worker_thread.h"
#include "control/site.h"

namespace sluice {

// Copies checkpoint folders on a thread of its own, one after another, so that a large folder does
// not delay the controller. `ready_descriptor` (an eventfd, not owned) becomes readable when copies
// are done. The destructor stops a copy that is being made, and waits until the part that was
// copied is removed.
class CopyThread {
 public:
  using Handler = std::function<void(const Site::CopyResult&)>;
  struct Copy {
    TrialId parent{};
    std::string from;  // the parent's checkpoint folder
    std::string to;
    Work end = 0;  // a checkpoint with at least this work is not copied
  };
  struct Answer {
    Site::CopyResult copied;
    Handler done;
  };

  explicit CopyThread(int ready_descriptor) : answers_(ready_descriptor) {}
  ~CopyThread() { stop_.request_stop(); }
  CopyThread(const CopyThread&) = delete;

  // Asks for a copy. TakeAnswers returns `done` with the result; the CopyThread does not call it.
  void Ask(Copy copy, Handler done);
  std::vector<Answer> TakeAnswers() { return answers_.Take(); }

 private:
  std::stop_source stop_;
  Answers<Answer> answers_;
  WorkerThread worker_{WorkerThread::AtEnd::kDrop};  // last: its tasks use the members above
};

}  // namespace sluice
