"""A trial as its program sees it."""

from sluice._outbox import Outbox
from sluice._values import checked_attribute, checked_metrics, checked_work

_MOST_LINES = 8  # how many lines of a traceback are sent at most
_LONGEST_TAIL = 300


class Stopped(SystemExit):
    """Raised by stop_if_asked(). Uncaught, it ends the process with status 0."""


class Trial:
    """A trial: its parameters, and methods to report on it. Safe to use from several threads.

    The session and the client make the trials. The attributes number, launch, study, params, seed,
    unit, objective, work and target must only be read. `work` is the work that earlier launches
    have reported. `target` is the work at which the trial is judged next, or None.
    """

    def __init__(self, session, assign: dict, defaults: dict):
        self.number = assign.get("trial", 0)
        self.launch = assign.get("launch", 0)
        self.study = assign.get("study", "")
        self.params = {**defaults, **assign.get("params", {})}
        self.seed = assign.get("seed", 0)
        self.unit = assign.get("unit", "epoch")
        self.objective = assign.get("objective", "")
        self.work = assign.get("work", 0)
        self.target = assign.get("target")
        self._session = session
        self._terms = {key: assign[key] for key in ("lease_ms", "window") if key in assign}
        self._folder = assign.get("folder")
        self._checkpoint_dir = assign.get("checkpoint_dir")
        # The checkpoint at the work of the trial's best report is kept (_checkpoint.py). The best
        # report is not tracked if the study judges trials by their last report.
        self._sign = {"maximize": -1, "minimize": 1}.get(assign.get("direction"), 0)
        if assign.get("of") == "last":
            self._sign = 0
        self._best_loss = self._sign * float(assign["best"]) if "best" in assign else float("inf")
        self._best_work = assign.get("best_work")
        # The session's link uses the attributes below, and guards them with its lock.
        self._line = None  # the `assign` line, if the trial was not the first of its process
        self._outbox = Outbox(self.number, self.launch, self._folder)
        self._reported = -1
        self._verdict = None
        self._why = None  # the reason of a verdict to stop
        self._was_cut_short = False
        self._was_shown = False  # a step of the bundle has shown the trial to the script
        self._is_refused = False  # the controller takes no more messages of this launch
        self._over = False  # this process has left the trial

    def __repr__(self) -> str:
        return f"<sluice.Trial {self.number} of {self.study!r}, launch {self.launch}>"

    def report(self, work, values=None, /, **metrics) -> None:
        link = self._session.link
        if link.silent:
            return
        if values is not None:
            metrics = {**values, **metrics}
        link.report(self, checked_work(work), checked_metrics(metrics))

    def set_attribute(self, name: str, value) -> None:
        self._session.link.set_attributes(self, checked_attribute(name, value))

    def should_stop(self) -> bool:
        return self._session.link.should_stop(self)

    def should_save(self) -> bool:
        is_stopped = self._verdict == "stop" and self._why == "stopped"
        return not (is_stopped or self._is_refused)

    def stop_if_asked(self) -> None:
        if self.should_stop():
            raise Stopped(0)

    def checkpoint_dir(self):
        from sluice._checkpoint import folder_of

        return folder_of(self)

    def checkpoint(self, work):
        from sluice._checkpoint import Checkpoint

        return Checkpoint(self, checked_work(work))

    def latest_checkpoint(self):
        from sluice._checkpoint import latest_of

        return latest_of(self)

    def best_checkpoint(self):
        from sluice._checkpoint import best_of

        return best_of(self)

    def saved(self, work) -> None:
        from sluice._checkpoint import bytes_below

        work = checked_work(work)
        if not self._session.link.silent:
            self._session.link.secure(self)
            self._session.link.saved(self, work, bytes_below(self.checkpoint_dir()))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace) -> bool:
        """In a loop over trials() or a bundle, an error ends only the trial, and the loop goes on.

        Elsewhere the error is raised further. If it ends the process, the controller learns of the
        failure from that.
        """
        if error is None or not self._session.link.takes_more_trials:
            return False
        if isinstance(error, Stopped):
            return True
        if not isinstance(error, Exception):
            return False
        self._fail(error)
        return True

    def _fail(self, error) -> None:
        """Ends the trial as failed. `error` is a text, or an exception, which is also printed."""
        if isinstance(error, BaseException):
            import traceback

            kind, trace = type(error), error.__traceback__
            traceback.print_exception(kind, error, trace)
            error = _last_words(kind, error, trace)
        self._session.link.fail(self, str(error))

    def _advance(self, work: int, metrics: dict) -> None:
        if work <= self._reported:
            raise ValueError(
                f"work: expected more than the {self._reported} reported last, found {work}"
            )
        self._reported = work
        # Work up to self.work was reported by an earlier launch, and that report counts.
        if self._sign and work > self.work and self.objective in metrics:
            loss = self._sign * metrics[self.objective]
            if loss < self._best_loss or (self._best_work is None and loss == loss):
                self._best_loss, self._best_work = loss, work


def _last_words(kind, error, trace) -> str:
    """The error in one line, then the last lines of its traceback.

    The reason that Sluice gives for a failed program looks the same.
    """
    import traceback

    first = f"{kind.__name__}: {error}"
    lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
    last: list[str] = []
    while lines and len(last) < _MOST_LINES and len("\n".join([lines[-1], *last])) < _LONGEST_TAIL:
        last.insert(0, lines.pop())
    return "\n".join([first, *last]) if len(last) > 1 and len(first) < _LONGEST_TAIL else first
