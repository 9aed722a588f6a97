"""A trial's checkpoint folder, and checkpoints that are whole or not there.

`latest` is the checkpoint. A new one is written to `.writing/LAUNCH`; then `latest` becomes
`.previous` and `.writing/LAUNCH` becomes `latest`. A process killed between the two leaves the
latest checkpoint in `.previous`. In the end `.previous` becomes `best` if it was saved at the
trial's best report so far; else it is removed. None of them is a link, so that the folder can be
copied for a fork of the trial.

All of this is done with the folder locked, and only by the launch that owns it (_owner.py).
"""

import os
from pathlib import Path

from sluice._owner import OwnerLock

_LATEST = "latest"
_BEST = "best"
_PREVIOUS = ".previous"
_WRITING = ".writing"
_WORK = ".sluice-work"  # in a checkpoint: its work, which the controller reads when it copies one


def folder_of(trial) -> Path:
    folder = Path(trial._checkpoint_dir or _scratch(trial._session))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def latest_of(trial):
    """The last whole checkpoint, or None."""
    folder = folder_of(trial)
    latest = folder / _LATEST
    if not latest.is_dir():
        with OwnerLock(trial) as other:
            if other is None:
                _put_back(folder)
    return latest if latest.is_dir() else None


def best_of(trial):
    """The checkpoint that was saved at the trial's best report, or None."""
    latest_of(trial)  # puts back what a killed launch had moved aside
    # It is still in `.previous` if the launch was killed before _put_away().
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

    If the body raises, the latest checkpoint is still the one before. If the process is killed, it
    is the one before or the new one, never a part of one.
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
        # The reports come first. The next launch goes on from the checkpoint and does not repeat
        # earlier reports: one that is not on disk by now would be lost for good.
        self._trial._session.link.secure(self._trial)
        if self._do_as_owner(self._put_in_place):
            self._trial.saved(self._work)
        return False

    def _do_as_owner(self, act) -> bool:
        """Calls `act` with the folder locked.

        If a newer launch owns the folder, the checkpoint is dropped instead, and this launch ends.
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
        # A folder of this launch alone: a process of an earlier launch may still write to its own.
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
    """What a killed launch had moved aside is the latest checkpoint again."""
    if not (folder / _LATEST).is_dir():
        try:
            os.rename(folder / _PREVIOUS, folder / _LATEST)
        except OSError:  # there is none, or another rank was first
            pass


def _is_kept(trial) -> bool:
    """Not if the trial was refused: a newer launch may have its folder."""
    return trial._session.link.keeps_checkpoints and not trial._is_refused


def _put_away(trial) -> None:
    """Removes the checkpoint that was replaced, or keeps it as `best` if it is the best report's.

    A folder `best` without `.sluice-work` is the script's own, and is left alone.
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
    return trial._best_work is not None and _work_of(checkpoint) == trial._best_work


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
    """A folder for a script started by hand, gone at the end of it."""
    if not hasattr(session, "scratch"):
        import atexit
        from tempfile import mkdtemp

        session.scratch = mkdtemp(prefix="sluice-")
        atexit.register(_remove_as, os.getpid(), session.scratch)
    return session.scratch


def _remove_as(pid: int, path: str) -> None:
    if pid == os.getpid():
        _remove(path)
