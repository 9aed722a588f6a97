#pragma once

#include <optional>
#include <set>
#include <string>

#include "control/workforce.h"

namespace sluice {

// A connection, and the host at its other end once it has said hello.
struct Workforce::Peer {
  PeerId id = 0;
  wire::WorkerLink link;
  Host* host = nullptr;
  bool refused = false;  // is told so once the cause is on disk; its messages are ignored
};

// A process that was started for a launch.
struct Workforce::Host {
  std::string name;  // the launch it was started for, "7.1"
  Grant grant;
  std::optional<wire::LaunchRef> at;  // the launch it carries now

  Peer* peer = nullptr;
  Speaker speaker;         // if there is one, the host's standard output is not read
  bool is_new = true;      // the speaker has sent this controller no numbered message yet
  bool renumbers = false;  // the speaker is new, and another process spoke before it
  bool ready = false;      // carries nothing, and would take another trial
  bool dismissed = false;  // was told to exit, or is being ended: gets no other trial
  int owed = 0;            // acknowledgements that wait for a commit
  bool told_complete = false;
  Time heard{};  // last sign of life, if it speaks
  bool expired = false;
  Site::TimerId force_timer = 0;

  std::uint64_t offset = 0;             // of its output: read so far, up to the end of a line
  Work output_work = 0;                 // of the last report found there
  std::set<std::string> other_numbers;  // names of numbers on output lines without the objective
};

}  // namespace sluice
