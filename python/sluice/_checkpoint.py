"""A trial's checkpoint folder. A checkpoint in it is always complete.

The subfolder `latest` is the latest checkpoint. A new checkpoint is put in place in these steps:

1. It is written to `.writing/LAUNCH`.
2. `latest` is renamed to `.previous`.
3. `.writing/LAUNCH` is renamed to `latest`. If the process is killed before this step, the latest
   checkpoint is in `.previous`.
4. `.previous` is renamed to `best` if it was saved at the work of the trial's best report so far.
   Otherwise it is removed.

None of these folders is a link, so that the checkpoint folder can be copied for a fork.

Only the launch that owns the checkpoint folder takes these steps (_owner.py). The folder is locked
while step 1 begins and during steps 2 to 4. A search for a checkpoint also takes the lock, unless
it finds the `latest` that it looks for: a missing folder can mean that another thread or process is
between two steps.
"""

import os
from pathlib import Path

from sluice._owner import OwnerLock

_LATEST = "latest"
_BEST = "best"
_PREVIOUS = ".previous"
_WRITING = ".writing"
_WORK = ".sluice-work"  # holds a checkpoint's work; the controller reads it to copy a checkpoint
_PAST = ".sluice-past"  # beside it: the state is past that work (written by sluice-trainer)


def folder_of(trial) -> Path:
    folder = Path(trial._checkpoint_dir or _scratch(trial._session))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def latest_of(trial):
    """The folder of the latest checkpoint, or None."""
    latest = folder_of(trial) / _LATEST
    return latest if latest.is_dir() else _settled(trial, _find_latest)


def best_of(trial):
    """The folder of the checkpoint at the work of the trial's best report, or None."""
    return _settled(trial, _find_best)


def _settled(trial, find):
    """Calls find() while no other thread or process changes the folder. Returns its result."""
    lock = OwnerLock(trial)
    with lock as other:
        # If the lock is nested, a signal handler has interrupted this thread in steps 2 to 4. The
        # thread will go on with them, so what it has renamed must stay where it is.
        if other is None and not lock.is_nested:
            _put_back(folder_of(trial))
        return find(trial, lock.is_nested)


def _find_latest(trial, is_between_steps: bool):
    folder = folder_of(trial)
    names = (_LATEST, _PREVIOUS) if is_between_steps else (_LATEST,)
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def _find_best(trial, _):
    # The best checkpoint is still in `.previous` if the launch was killed before _put_away().
    folders = [folder_of(trial) / name for name in (_LATEST, _BEST, _PREVIOUS)]
    return next((folder for folder in folders if _is_best(trial, folder)), None)


def bytes_below(folder: Path) -> int:
    return sum(
        os.lstat(os.path.join(place, name)).st_size
        for place, _, names in os.walk(folder)
        for name in names
    )


class Checkpoint:
    """A context manager: what the body writes to the folder becomes the latest checkpoint.

    If the body raises, the latest checkpoint stays the previous one. If the process is killed, the
    latest checkpoint is either the previous one or the complete new one.
    """

    def __init__(self, trial, work: int):
        self._trial = trial
        self._work = work
        self._folder = folder_of(trial)
        self._writing = None
        self._is_kept = False

    def __enter__(self) -> Path:
        if _is_kept(self._trial):
            if self._trial._over:
                raise RuntimeError(f"trial {self._trial.number} is over: it takes no checkpoint")
            self._is_kept = self._do_as_owner(self._begin)
        if not self._is_kept:
            from tempfile import mkdtemp

            self._writing = Path(mkdtemp(prefix="sluice-"))
        return self._writing

    def __exit__(self, kind, error, trace) -> bool:
        if not self._is_kept:
            _remove(self._writing)
            return False
        if kind is not None or not _is_kept(self._trial):
            with OwnerLock(self._trial):
                self._discard()
            return False
        if not self._do_as_owner(self._note_work):
            return False
        _sync_tree(self._writing)
        # The reports must be on disk first. The next launch goes on from the checkpoint and does
        # not repeat earlier reports, so a report that is not on disk now could be lost for good.
        self._trial._session.link.secure(self._trial)
        if self._do_as_owner(self._put_in_place):
            self._trial.saved(self._work)
        return False

    def _do_as_owner(self, act) -> bool:
        """Calls `act` with the folder locked, and returns True.

        If a newer launch owns the folder, drops the checkpoint instead, gives up this launch and
        returns False.
        """
        with OwnerLock(self._trial) as other:
            if other is None:
                act()
                return True
            self._discard()
        self._trial._session.link.give_up(self._trial, other)
        return False

    def _begin(self) -> None:
        _put_back(self._folder)
        _put_away(self._trial)  # removes a `.previous` that is left over beside `latest`
        _remove(self._folder / _WRITING)
        # Each launch has a folder of its own: a process of an earlier launch may still be writing.
        self._writing = self._folder / _WRITING / str(self._trial.launch)
        self._writing.mkdir(parents=True)

    def _discard(self) -> None:
        if self._writing is not None:
            _remove(self._writing)
            try:
                os.rmdir(self._folder / _WRITING)
            except OSError:  # another launch writes there
                pass

    def _note_work(self) -> None:
        (self._writing / _WORK).write_text(f"{self._work}\n")

    def _put_in_place(self) -> None:
        latest = self._folder / _LATEST
        if latest.exists():
            os.rename(latest, self._folder / _PREVIOUS)
        os.rename(self._writing, latest)
        sync(self._folder)
        _put_away(self._trial)
        _remove(self._folder / _WRITING)


def _put_back(folder: Path) -> None:
    """Renames `.previous` back to `latest` if a launch was killed between the two renames."""
    if not (folder / _LATEST).is_dir():
        try:
            os.rename(folder / _PREVIOUS, folder / _LATEST)
        except OSError:  # there is no `.previous`, or another rank has renamed it first
            pass


def _is_kept(trial) -> bool:
    """Whether this process keeps checkpoints of the trial.

    A silent process keeps none. If the trial was refused, a newer launch may own the folder, and
    this process keeps none either.
    """
    return trial._session.link.keeps_checkpoints and not trial._is_refused


def _put_away(trial) -> None:
    """Removes `.previous`, or renames it to `best` if it was saved at the best report's work.

    A folder `best` without `.sluice-work` was made by the script itself, and is left alone.
    """
    folder = folder_of(trial)
    best, previous = folder / _BEST, folder / _PREVIOUS
    if best.exists() and _work_of(best) is None:
        return _remove(previous)
    if best.exists() and not _is_best(trial, best):
        _remove(best)
    if not best.exists() and _is_best(trial, previous):
        os.rename(previous, best)
    _remove(previous)


def _is_best(trial, checkpoint: Path) -> bool:
    if trial._best_work is None or (checkpoint / _PAST).exists():
        return False
    return _work_of(checkpoint) == trial._best_work


def _work_of(checkpoint: Path):
    try:
        return int((checkpoint / _WORK).read_text())
    except (OSError, ValueError):
        return None


def _sync_tree(root: Path) -> None:
    for place, _, names in os.walk(root, topdown=False):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                sync(path)
        sync(place)


def sync(path) -> None:
    """Waits until a file or a folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _scratch(session) -> str:
    """A folder for a script that was started by hand. It is removed when the script ends."""
    if not hasattr(session, "scratch"):
        import atexit
        from tempfile import mkdtemp

        session.scratch = mkdtemp(prefix="sluice-")
        atexit.register(_remove_as, os.getpid(), session.scratch)
    return session.scratch


def _remove_as(pid: int, path: str) -> None:
    if pid == os.getpid():
        _remove(path)
