"""Links for a process that has no controller, or that must not talk to its controller."""


class _Offline:
    silent = True
    has_connection = False
    takes_more_trials = False
    has_spoken = False

    def __init__(self):
        self._bundled = None  # the only trial of the bundle, if there is one

    def report(self, trial, work: int, metrics: dict) -> None:
        pass

    def set_attributes(self, trial, attributes: dict) -> None:
        pass

    def saved(self, trial, work: int, size_bytes: int) -> None:
        pass

    def profile(self, trial, measured: dict) -> None:
        pass

    def secure(self, trial) -> None:
        pass

    def should_stop(self, trial) -> bool:
        return False

    def take_more_trials(self) -> None:
        pass

    def next_trial(self):
        return None

    def bundled(self, trial, capacity: int, several_shapes: bool):
        """The link of a process with a bundle."""
        self._bundled = trial
        return self

    def open(self) -> None:
        pass

    def next_step(self):
        """Each step has the one trial of the bundle, until the script leaves that trial."""
        trial = self._bundled
        if trial is None or trial._over:
            return None
        joined = [] if trial._was_shown else [trial]
        trial._was_shown = True
        return [], joined

    def leave(self, trial, kind: str) -> None:
        trial._over = True

    def set_capacity(self, capacity: int) -> list:
        return []

    def close_bundle(self) -> None:
        if self._bundled is not None:
            self._bundled._over = True

    def close(self) -> None:
        pass


class Silent(_Offline):
    """For processes that help the one that reports: data loaders, and ranks other than 0."""

    keeps_checkpoints = False


class Printer(_Offline):
    """For a script that was started by hand: what it reports is printed."""

    silent = False
    keeps_checkpoints = True

    def report(self, trial, work: int, metrics: dict) -> None:
        if trial._over:
            raise RuntimeError(f"trial {trial.number} is over: it takes no more report")
        self.has_spoken = True
        trial._advance(work, metrics)
        shown = "  ".join([f"{name}={_short(metrics[name])}" for name in metrics])
        print(f"{trial.unit} {work}  {shown}", flush=True)

    def set_attributes(self, trial, attributes: dict) -> None:
        self.has_spoken = True
        for name, value in attributes.items():
            print(f"{name}: {_short(value)}", flush=True)


def _short(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
