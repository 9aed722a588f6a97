"""Which launch of a trial may save a checkpoint: the one that the file CHECKPOINT_DIR.owner names.

The controller writes a launch's number to that file before the launch begins. A process of an
earlier launch that still runs then finds that its launch no longer owns the folder
(docs/protocol.md).
"""

import os


class OwnerLock:
    """Locks the trial's checkpoint folder, so that only one process at a time changes it.

    In `with OwnerLock(trial) as other:`, `other` is None if this trial's launch owns the folder.
    Otherwise it is the number of the launch that does.

    Controllers of earlier versions do not write the file. Then nothing is locked, and `other` is
    None. The lock is not re-entrant: at its end, an inner OwnerLock would release the outer one.
    """

    def __init__(self, trial):
        self._launch = trial.launch
        self._path = f"{trial._checkpoint_dir}.owner" if trial._checkpoint_dir else None
        self._file = None

    def __enter__(self):
        if self._path is None:
            return None
        try:
            flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._file = os.open(self._path, flags)
        except FileNotFoundError:
            return None
        try:
            os.lockf(self._file, os.F_LOCK, 0)
        except OSError:  # the file system has no locks
            pass
        try:
            owner = int(os.read(self._file, 20))
        except ValueError:
            return None
        return None if owner == self._launch else owner

    def __exit__(self, *_) -> None:
        if self._file is not None:
            os.close(self._file)
