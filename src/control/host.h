#pragma once

#include <optional>
#include <set>
#include <string>

#include "control/workforce.h"

namespace sluice {

// A connection, and who is at its other end once it has said so.
struct Workforce::Peer {
  PeerId id = 0;
  wire::WorkerLink link;
  Host* host = nullptr;
  bool refused = false;  // is told so once that is certain; not heard any more
};

// A process that was started for a launch.
struct Workforce::Host {
  std::string name;  // the launch it was started for, "7.1"
  Grant grant;
  std::optional<wire::LaunchRef> at;  // what it carries now

  Peer* peer = nullptr;
  Speaker speaker;         // if one speaks, its output is no report
  bool is_new = true;      // the speaker has not told this controller anything yet,
  bool renumbers = false;  // and another one spoke before it
  bool ready = false;      // carries nothing, and would take another trial
  bool dismissed = false;  // was told to go home, or is being ended: gets no other trial
  int owed = 0;            // acknowledgements that wait for a commit
  bool told_complete = false;
  Time heard{};  // last sign of life of one that speaks
  bool expired = false;
  Site::TimerId force_timer = 0;

  std::uint64_t offset = 0;             // of its output: read so far, up to the end of a line
  Work output_work = 0;                 // of the last report found there
  std::set<std::string> other_numbers;  // that it names, without the objective among them
};

}  // namespace sluice
