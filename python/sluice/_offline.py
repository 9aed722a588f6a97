"""Links for a process that has no controller, or that must not talk to it."""


class _Offline:
    silent = True
    has_connection = False
    takes_more_trials = False

    def report(self, trial, work: int, metrics: dict) -> None:
        pass

    def set_attributes(self, trial, attributes: dict) -> None:
        pass

    def saved(self, trial, work: int, size_bytes: int) -> None:
        pass

    def secure(self, trial) -> None:
        pass

    def should_stop(self, trial) -> bool:
        return False

    def take_more_trials(self) -> None:
        pass

    def next_assignment(self):
        return None

    def close(self) -> None:
        pass


class Silent(_Offline):
    """For helpers of the process that owns the trial: data loaders, ranks other than 0."""

    keeps_checkpoints = False


class Printer(_Offline):
    """For a script that was started by hand: what it reports is printed."""

    silent = False
    keeps_checkpoints = True

    def report(self, trial, work: int, metrics: dict) -> None:
        trial._advance(work, metrics)
        shown = "  ".join([f"{name}={_short(metrics[name])}" for name in metrics])
        print(f"{trial.unit} {work}  {shown}", flush=True)

    def set_attributes(self, trial, attributes: dict) -> None:
        for name, value in attributes.items():
            print(f"{name}: {_short(value)}", flush=True)


def _short(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
