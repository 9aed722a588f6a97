#pragma once

#include <sys/types.h>

#include <set>

namespace sluice {

// The orphans of launchers that were killed. As a subreaper, this process becomes their parent, and
// can end them. One object serves all studies of a controller, since a child of this process may be
// the launcher of any of them.
class Strays {
 public:
  // Does nothing for ever if this process has children already, because a shell with children
  // replaced itself by this process: those children and their orphans must not be ended.
  Strays();

  // A launcher was started, and is a child of this process until it is removed.
  void AddLauncher(pid_t launcher) { launchers_.insert(launcher); }
  void RemoveLauncher(pid_t launcher) { launchers_.erase(launcher); }
  // Ends the children that are no launchers.
  void End() const;

 private:
  const bool adopts_;
  std::set<pid_t> launchers_;
};

}  // namespace sluice
