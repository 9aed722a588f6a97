"""Which launch of a trial may save a checkpoint: the one that the file CHECKPOINT_DIR.owner names.

The controller writes a launch's number to that file before the launch begins. A process of an
earlier launch that still runs then finds that its launch no longer owns the folder
(docs/protocol.md).
"""

import os
from _thread import RLock

_holds = {}  # checkpoint folder -> its _Hold in this process


class OwnerLock:
    """Locks the trial's checkpoint folder, so that only one thread at a time changes it.

    This holds for the threads of all processes. In `with OwnerLock(trial) as other:`, `other` is
    None if this trial's launch owns the folder. Otherwise it is the number of the launch that does.

    Controllers of earlier versions do not write the file. Then other processes are not locked out,
    and `other` is None.

    A signal handler may take the lock while its own thread holds it. Its lock is then nested
    (is_nested): it does not wait, and the folder may be in the middle of a change.
    """

    def __init__(self, trial):
        self._launch = trial.launch
        self._folder = trial._checkpoint_dir or ""  # "": the one folder of a script run by hand
        self._hold = None
        self._file = None
        self.is_nested = False

    def __enter__(self):
        self._hold = _holds.setdefault(self._folder, _Hold())
        self._hold.lock.acquire()
        try:
            self.is_nested = self._hold.taken is not None
            if not self.is_nested:
                self._file = _open(f"{self._folder}.owner") if self._folder else None
                self._hold.taken = (self._file,)
            owner = _locked_number(*self._hold.taken)
            return None if owner == self._launch else owner
        except BaseException:  # perhaps raised by a signal handler
            self.__exit__()
            raise

    def __exit__(self, *_) -> None:
        if not self.is_nested:
            self._hold.taken = None
        if self._file is not None:
            os.close(self._file)
        self._hold.lock.release()


class _Hold:
    """Which thread of this process holds a checkpoint folder.

    The lock of a file belongs to the whole process: it keeps no thread out, and it ends as soon as
    the process closes any descriptor of the file. So only one thread has the file open, and nested
    locks use its descriptor. The tuple `taken` makes the descriptor known before the file is
    locked, in one assignment: a signal handler may run between any two lines.
    """

    def __init__(self):
        self.lock = RLock()
        self.taken = None  # while a thread holds the folder: (its descriptor, or None,)


def _open(path: str):
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None


def _locked_number(file):
    """Locks the file and returns the number in it, or None. Does no harm to a locked file."""
    if file is None:
        return None
    try:
        os.lockf(file, os.F_LOCK, 0)
    except OSError:  # the file system has no locks
        pass
    try:
        return int(os.pread(file, 20, 0))
    except ValueError:
        return None


def _forget_holds() -> None:
    """A forked child has none of the threads that hold folders in its parent.

    The child shares no lock of a file with its parent, so it still waits for the parent's threads.
    """
    global _holds
    _holds = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_holds)
