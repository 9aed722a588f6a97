#pragma once

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "exec/local_executor.h"

namespace sluice {

// A connection, and who is at its other end once it has said so.
struct LocalExecutor::Peer {
  std::uint64_t number = 0;
  std::unique_ptr<Connection> connection;
  wire::WorkerLink link;
  Host* host = nullptr;
};

// A process that was started for a launch.
struct LocalExecutor::Host {
  std::string name;    // the launch it was started for, "7.1"
  std::string folder;  // that launch's
  int pidfd = -1;      // of its launcher
  bool child = false;  // ours to reap
  Grant grant;
  std::optional<wire::LaunchRef> at;  // what it carries now

  Peer* peer = nullptr;
  bool speaks = false;  // the protocol: its output is no report
  std::int64_t speaker_pid = 0;
  bool ready = false;      // would take another trial
  bool dismissed = false;  // was told to go home, or is being ended: gets no other trial
  int owed = 0;            // acknowledgements that wait for a commit
  bool told_complete = false;
  Time heard{};  // last sign of life of one that speaks
  bool expired = false;
  EventLoop::TimerId force_timer = 0;

  int output = -1;           // its standard output, as captured
  int watch = -1;            // inotify's number for it
  std::uint64_t offset = 0;  // read so far, up to the end of a line
  Work output_work = 0;      // of the last report found there

  void Close() {
    if (pidfd >= 0) close(pidfd);
    if (output >= 0) close(output);
    pidfd = output = -1;
  }
};

}  // namespace sluice
