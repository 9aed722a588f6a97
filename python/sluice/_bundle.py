"""Several trials that one process trains together, as its script sees them."""

from sluice._trial import Trial
from sluice._values import checked_capacity, checked_measures


class Step:
    """One pass of the loop over a bundle, for example an epoch.

    left: trials that are to leave. They leave the bundle when the next step begins.
    joined: trials that are new in this step.
    trials: all trials that train in this step, in the order in which they joined. They include
    `joined`.
    changed: whether `trials` differs from the last step's.

    If there are trials in `left`, no trial joins or trains in this step. So the trials can leave
    as soon as the script has saved them.
    """

    def __init__(self, left: list, joined: list, trials: list, changed: bool):
        self.left = left
        self.joined = joined
        self.trials = trials
        self.changed = changed

    def __repr__(self) -> str:
        numbers = [[trial.number for trial in each] for each in (self.trials, self.left)]
        return f"<sluice step: trials {numbers[0]}, left {numbers[1]}>"


class Bundle:
    """Made by sluice.bundle(). The loop `for step in bundle` ends when there are no more trials.

    Several threads may use the trials. Only one thread at a time may use the bundle itself.
    """

    def __init__(self, session, capacity: int, defaults: dict):
        self._session = session
        self._capacity = capacity
        self._defaults = defaults
        self._trials = []  # those that stay
        self._trained = []  # the `trials` of the last step
        self._is_open = False

    @property
    def capacity(self) -> int:
        """How many trials the process takes at the same time."""
        return self._capacity

    def __enter__(self):
        self._is_open = True
        self._session.link.open()
        return self

    def __exit__(self, kind, error, trace) -> bool:
        """Leaves the trials that are still in the bundle. They go on in another process.

        After an error it leaves none: the controller learns from the end of the process.
        SystemExit with status 0, which stop_if_asked() raises, is no error.
        """
        self._is_open = False
        if error is None or (isinstance(error, SystemExit) and not error.code):
            self._session.link.close_bundle()
        return False

    def __iter__(self):
        return self

    def __next__(self) -> Step:
        if not self._is_open:
            raise RuntimeError("expected `with sluice.bundle(...) as bundle:` around the loop")
        changes = self._session.link.next_step()
        if changes is None:
            raise StopIteration
        left, joined = changes
        for trial in joined:
            trial.params = {**self._defaults, **trial.params}
        stayed = [trial for trial in self._trials if not trial._over and trial not in left]
        self._trials = stayed + joined
        before, self._trained = self._trained, [] if left else self._trials
        return Step(left, joined, list(self._trained), self._trained != before)

    def finish(self, trial: Trial) -> None:
        """Ends the trial as complete, because the script has nothing more to do for it."""
        self._check_is_in(trial)
        self._session.link.leave(trial, "done")

    def fail(self, trial: Trial, error) -> None:
        """Ends the trial as failed, and the other trials go on.

        `error` is the reason: an exception or a text. If the script is run by hand, it is raised.
        """
        self._check_is_in(trial)
        if self._session.link.takes_more_trials:
            trial._fail(error)
        else:
            raise error if isinstance(error, BaseException) else RuntimeError(error)

    def shrink(self, capacity: int) -> list:
        """Lowers the capacity.

        If the bundle has more trials than that, the newest are handed back. They go on in another
        process from their latest checkpoints. Returns the trials that were handed back.
        """
        capacity = checked_capacity(capacity)
        if capacity > self._capacity:
            raise ValueError(
                f"capacity: expected at most the present {self._capacity}, found {capacity}"
            )
        self._capacity = capacity
        return self._session.link.set_capacity(capacity)

    def grow(self, capacity: int) -> None:
        """Raises the capacity."""
        capacity = checked_capacity(capacity)
        if capacity < self._capacity:
            raise ValueError(
                f"capacity: expected at least the present {self._capacity}, found {capacity}"
            )
        self._capacity = capacity
        self._session.link.set_capacity(capacity)

    def profile(self, trial: Trial, *, trials: int, bytes=None, work_per_second=None) -> None:
        """Reports what was measured while `trials` trials like this one were trained together.

        bytes is the device memory of the process, work_per_second the speed of each trial.
        """
        self._check_is_in(trial)
        self._session.link.profile(trial, checked_measures(trials, bytes, work_per_second))

    def _check_is_in(self, trial) -> None:
        if not isinstance(trial, Trial):
            raise TypeError(
                f"trial: expected a trial of the bundle, found {trial!r} ({type(trial).__name__})"
            )
        if trial._over and not trial._is_refused:
            raise RuntimeError(f"trial {trial.number} has left the bundle already")
