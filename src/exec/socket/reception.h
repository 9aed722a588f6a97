#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "control/site.h"
#include "exec/event_loop.h"
#include "exec/socket/connection.h"
#include "wire/message.h"

namespace sluice {

// The workers of one study, as the reception hands them on.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Whether there are files of a host of this name that has this secret. Only asked for a worker
  // that does not say of which study it is.
  virtual bool HasHost(const std::string& worker, const std::string& secret) = 0;
  virtual void Connected(PeerId peer) = 0;
  virtual void Heard(PeerId peer, std::string_view line) = 0;
  virtual void Closed(PeerId peer) = 0;
};

// The socket of a controller. A worker that says hello is handed on to the site of its study. A
// connection that asks for something first is the command line's.
class Reception {
 public:
  struct CommandLine {
    std::function<void(PeerId, const wire::Ask&)> asked;
    // The other side has closed a connection on which something was asked.
    std::function<void(PeerId)> left;
  };
  Reception(EventLoop& loop, CommandLine command_line);
  ~Reception();

  // Begins to accept connections.
  Status Listen(const std::string& path);
  // Accepts no more, and removes the socket's file.
  void StopListening();
  // From now on, workers of this study are handed on to this receiver, until it goes.
  void Come(const std::string& study, Receiver& receiver) { receivers_[study] = &receiver; }
  // Closes the connections of the receiver too.
  void Go(const Receiver& receiver);

  void Send(PeerId peer, const wire::ToWorker& message);
  void Close(PeerId peer) { visitors_.erase(peer); }
  // Waits until something has arrived from this peer, or it has left. Meanwhile nothing else is
  // handled. Returns false if neither happens in time.
  bool WaitFor(PeerId peer, Duration patience) const;
  // Reads and handles all that has arrived.
  void Drain(PeerId peer);
  // Does so for connections on which nobody has said hello yet, also for those that have not been
  // accepted yet.
  void DrainNewcomers();
  Connection::Caller CallerOf(PeerId peer) const { return visitors_.at(peer).connection->caller(); }

 private:
  struct Visitor {
    std::unique_ptr<Connection> connection;
    Receiver* receiver = nullptr;  // null until a hello
    bool asks = false;             // it is the command line's
  };

  void Accept();
  void Heard(PeerId peer, std::string_view line);
  void Refuse(PeerId peer, const std::string& reason);
  Receiver* ReceiverOf(const wire::Hello& hello) const;
  void Closed(PeerId peer);

  EventLoop& loop_;
  CommandLine command_line_;
  std::string path_;
  int listener_ = -1;
  std::pair<dev_t, ino_t> socket_;  // device and inode of the listener's file
  EventLoop::TimerId accept_timer_ = 0;
  std::map<std::string, Receiver*> receivers_;  // by study
  std::map<PeerId, Visitor> visitors_;
  PeerId next_peer_ = 1;
};

}  // namespace sluice
