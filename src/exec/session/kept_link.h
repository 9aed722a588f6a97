#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include "base/result.h"
#include "exec/session/link.h"
#include "exec/session/session.h"
#include "ledger/store.h"

namespace sluice {

// A link for a command that looks on at studies for long. If the controller dies, another one is
// started, which adopts what runs, but not after the third death within a minute.
class KeptLink {
 public:
  // `paths` must outlive this.
  KeptLink(const StorePaths& paths, Link link) : paths_(paths), link_(std::move(link)) {}

  // Asks to be told when the controller has let go of the study. The descriptor becomes readable
  // when it has, or when it has died.
  void Await(const std::string& study);
  int descriptor() const { return link_.descriptor(); }
  // Takes what the descriptor has become readable with. Returns true if the controller has let go
  // of the study. Returns false if it has died: then another one runs, and is asked the same. Fails
  // after the third death within a minute, and says why the controller died.
  Result<bool> TakeAnswer(const Say& say);

 private:
  Status Died(const std::string& why, const Say& say);
  std::string Log() const;
  // The last line that the controller wrote before it died.
  std::string LastWords() const;

  const StorePaths& paths_;
  Link link_;
  std::string study_;  // the study that is awaited
  std::deque<std::chrono::steady_clock::time_point> deaths_;
  off_t log_size_ = 0;
  int dead_ = 0;  // the process whose death was seen last
};

}  // namespace sluice
