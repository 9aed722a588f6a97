"""Which trial this process works on, and whether this process reports for it."""

import atexit
import os
from _thread import RLock

from sluice._offline import Printer, Silent
from sluice._trial import Trial
from sluice._values import checked_capacity
from sluice._wire import decode

if "SLUICE_TRIAL_FILE" in os.environ:
    # Imported here and not in the first call, because a signal handler may make the first call.
    import sluice._client  # noqa: F401

# This variable holds "PID FILE": the process that reports for the trial of that trial file. The
# children of that process inherit the variable, so they know that they report nothing. If a trial
# runs a study itself, the trials of that study inherit the variable too, but have another file.
_OWNER = "SLUICE_OWNER_PID"
# SLUICE_TRIAL_FILE describes the first trial of a process only. For a later trial, this variable
# holds the `assign` line, so that the process's children find their trial.
_ASSIGN = b"SLUICE_ASSIGN"
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
# Linux starts no program with a variable of 128 KiB or more.
_LONGEST_VARIABLE_BYTES = 100_000

_session = None
_opening = RLock()


def session() -> "Session":
    """The session of this process, opened by the first call."""
    global _session
    if _session is None:
        with _opening:
            opened = _session or Session()
            if _session is None:  # otherwise a signal handler has opened one meanwhile
                _session = opened
                atexit.register(opened.close)
    return _session


class Session:
    """The current trial, and the link that its reports go through.

    A link is a Client, a BundleClient, a Printer or Silent. After a fork, the child has a Silent
    link, which also every Trial that was made before the fork uses.
    """

    def __init__(self):
        trial_file = os.environ.get("SLUICE_TRIAL_FILE")
        self._was_looped = False
        self._has_bundle = False
        if not trial_file:
            self.link = Printer()
            self._trial = Trial(self, _assigned_by_hand(os.environ.get("SLUICE_PARAMS")), {})
            return
        owner_pid = _owner_pid(trial_file)
        self._trial = Trial(self, _assignment(trial_file, owner_pid), {})
        if _is_helper_rank() or owner_pid not in (None, os.getpid()):
            self.link = Silent()
            return
        from sluice._client import Client

        os.environ[_OWNER] = f"{os.getpid()} {trial_file}"
        self.link = Client(os.environ.get("SLUICE_SOCKET"), self._trial)

    @property
    def trial(self) -> Trial:
        """The only trial that this process works on now."""
        if self._has_bundle:
            raise RuntimeError(
                "this process has a bundle: call the methods of its trials, as in trial.report(), "
                "in place of functions such as sluice.report()"
            )
        return self._trial

    def bundle(self, capacity, several_shapes: bool, defaults: dict):
        from sluice._bundle import Bundle

        capacity = checked_capacity(capacity)
        if self._has_bundle:
            raise RuntimeError("sluice.bundle: expected one bundle in a process, this is another")
        if self._was_looped or self.link.has_spoken:
            raise RuntimeError(
                "sluice.bundle: expected before the first report or attribute of this process, "
                "and not beside sluice.trials()"
            )
        self.link = self.link.bundled(self._trial, capacity, bool(several_shapes))
        self._has_bundle = True
        return Bundle(self, capacity, defaults)

    def trials(self, defaults: dict):
        """Yields one trial after another.

        If the body of the caller's loop raises an error, this generator does not see the error.
        """
        link = self.link
        link.take_more_trials()
        if self._was_looped and link.takes_more_trials:
            link.fail(self.trial, "an earlier loop over trials was left in the middle of it")
            if not self._take_next(defaults):
                return
        else:
            self.trial.params = {**defaults, **self.trial.params}
        self._was_looped = True
        while True:
            yield self.trial
            if not self._take_next(defaults):
                return

    def _take_next(self, defaults: dict) -> bool:
        trial = self.link.next_trial()
        if trial is None:
            return False
        if len(trial._line) < _LONGEST_VARIABLE_BYTES:
            os.environb[_ASSIGN] = trial._line
        else:
            os.environb.pop(_ASSIGN, None)
        trial.params = {**defaults, **trial.params}
        self._trial = trial
        return True

    def fall_silent(self) -> None:
        """Replaces the link by a silent one. Called in a forked child."""
        if self.link.has_connection:
            client, self.link = self.link, Silent()
            client.abandon()

    def close(self) -> None:
        self.link.close()


_held_while_forking = []


def _before_fork() -> None:
    """Takes the locks, so that no other thread is in the middle of a change when the fork comes."""
    _opening.acquire()
    if _session is not None and _session.link.has_connection:
        _session.link.hold()
        _held_while_forking.append(_session.link)


def _after_fork_in_parent() -> None:
    if _held_while_forking:
        _held_while_forking.pop().let_go()
    _opening.release()


def _after_fork_in_child() -> None:
    global _opening
    _opening = RLock()
    _held_while_forking.clear()
    if _session is not None:
        _session.fall_silent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _owner_pid(trial_file: str):
    pid, _, file = os.environ.get(_OWNER, "").partition(" ")
    return int(pid) if pid.isdigit() and file == trial_file else None


def _assignment(trial_file: str, owner_pid) -> dict:
    line = os.environb.get(_ASSIGN) if owner_pid is not None else None
    if line is None:
        with open(trial_file, "rb") as file:
            line = file.read()
    try:
        return decode(line)
    except ValueError as error:
        raise ValueError(f"{trial_file}: {error}") from None


def _assigned_by_hand(params_file) -> dict:
    """The assignment of a script that was not started by a controller.

    params_file is set if the script is run once more with a trial's parameters, as `sluice run`
    does. The file trial.json of the trial's launch, in the same folder, then has the parameters
    in the form in which the package gives them, and the seed. The checkpoint folder named there is
    not used, because the script must train from the beginning.
    """
    if not params_file:
        return {}
    with open(params_file, "rb") as file:
        params = decode(file.read())
    try:
        told = _assignment(os.path.join(os.path.dirname(params_file), "trial.json"), None)
    except OSError:
        return {"params": params}
    kept = ("trial", "launch", "study", "params", "seed", "unit", "objective")
    return {key: told[key] for key in kept if key in told}


def _is_helper_rank() -> bool:
    return any(os.environ.get(name, "0") not in ("", "0") for name in _RANKS)
