#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "control/workforce.h"

namespace sluice {

// A connection, and the host at its other end once the worker there has said hello.
struct Workforce::Peer {
  PeerId id = 0;
  wire::WorkerLink link;
  Host* host = nullptr;
  bool refused = false;  // to be told once the cause is on disk; messages are ignored
};

// A launch of a host.
struct Workforce::Member {
  // Whether the host carries this launch: its process was started for the launch, or its worker was
  // given the launch. A launch that is not carried yet waits for the worker to connect.
  bool carried = false;
  bool is_new = true;          // the speaker has not sent a numbered message of this launch yet
  bool told_complete = false;  // on the present connection, if the worker speaks
  bool hung = false;           // it was asked to leave, and did not leave within the grace period
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
  bool ready = false;           // it carries nothing, and can take another trial
  bool dismissed = false;       // it was told to exit, or is being ended: it gets no other trial
  bool is_bundle = false;       // its worker speaks version 2
  int capacity = 0;             // launches that it takes at once; 0: not known
  bool several_shapes = false;  // these launches may be of different shapes
  // Launches that the worker carries although they were given up. Until it is told to drop them, it
  // is given no other launch.
  std::set<wire::LaunchRef> to_drop;
  int owed = 0;  // acknowledgements that wait for a commit
  Time heard{};  // last sign of life, if it speaks
  bool expired = false;
  Site::TimerId exit_timer = 0;  // fires when the host is to be ended by force; 0: none

  std::uint64_t offset = 0;             // bytes of its output read so far, up to the end of a line
  Work output_work = 0;                 // the work of the last report in its output
  std::set<std::string> other_numbers;  // names of numbers on output lines without the objective

  std::vector<wire::LaunchRef> Carried() const { return MembersThatAre(/*carried=*/true); }
  // The members that are not carried yet.
  std::vector<wire::LaunchRef> Waiting() const { return MembersThatAre(/*carried=*/false); }
  // The launch that the host carries, for a host that carries one launch at a time.
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
