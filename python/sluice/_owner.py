"""Which launch of a trial may save: the one that the file CHECKPOINT_DIR.owner names.

The controller writes the launch's number there before the launch begins. A process of an earlier
launch that still runs then finds that the folder is no longer its own (docs/protocol.md).
"""

import os


class OwnerLock:
    """Locks the trial's checkpoint folder for one launch at a time.

    `with OwnerLock(trial) as other:` gives the number of the launch that owns the folder, or None
    if it is this one. Controllers of before write no such file. Then there is no lock, and the
    folder is taken to be this launch's. It is not re-entrant: the inner one would end the lock.
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
        except OSError:  # a file system without locks
            pass
        try:
            owner = int(os.read(self._file, 20))
        except ValueError:
            return None
        return None if owner == self._launch else owner

    def __exit__(self, *_) -> None:
        if self._file is not None:
            os.close(self._file)
