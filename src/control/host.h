#pragma once

#include <cstdint>
#include <map>
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

// A launch of a host.
struct Workforce::Member {
  // The host carries it: its process was started for it, or its worker was given it. Otherwise it
  // waits for the worker to connect.
  bool carried = false;
  bool is_new = true;  // the speaker has sent this controller no numbered message of it yet
  bool told_complete = false;
  bool hung = false;  // was asked to leave, and did not within the grace period
  Site::TimerId force_timer = 0;
};

// A process that was started for a launch.
struct Workforce::Host {
  std::string name;  // the launch it was started for, "7.1"
  Grant grant;
  std::map<wire::LaunchRef, Member> members;

  Peer* peer = nullptr;
  Speaker speaker;              // if there is one, the host's standard output is not read
  bool renumbers = false;       // the speaker is new, and another process spoke before it
  bool ready = false;           // carries nothing, and would take another trial
  bool dismissed = false;       // was told to exit, or is being ended: gets no other trial
  bool is_bundle = false;       // its worker speaks version 2
  int capacity = 0;             // launches that it takes at once; 0: not known
  bool several_shapes = false;  // of different shapes
  // Launches that its worker said it carries, and is to drop. Until it is told so, it takes no other.
  std::set<wire::LaunchRef> to_drop;
  int owed = 0;                 // acknowledgements that wait for a commit
  Time heard{};                 // last sign of life, if it speaks
  bool expired = false;
  Site::TimerId exit_timer = 0;  // when it is ended by force

  std::uint64_t offset = 0;             // of its output: read so far, up to the end of a line
  Work output_work = 0;                 // of the last report found there
  std::set<std::string> other_numbers;  // names of numbers on output lines without the objective

  std::vector<wire::LaunchRef> Carried() const { return MembersThatAre(/*carried=*/true); }
  // The members that are not carried yet.
  std::vector<wire::LaunchRef> Waiting() const { return MembersThatAre(/*carried=*/false); }
  // The launch of a host that carries one at a time.
  std::optional<wire::LaunchRef> at() const {
    for (const auto& [at, member] : members) {
      if (member.carried) return at;
    }
    return std::nullopt;
  }

 private:
  std::vector<wire::LaunchRef> MembersThatAre(bool carried) const {
    std::vector<wire::LaunchRef> found;
    for (const auto& [at, member] : members) {
      if (member.carried == carried) found.push_back(at);
    }
    return found;
  }
};

}  // namespace sluice
