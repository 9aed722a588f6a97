"""Carries out the steps of a recorded conversation with the Python package.

    python driver.py VERSION

Reads steps on standard input, answers each with one line (tests/conversations/README.md).
"""

import json
import sys

import sluice


def metrics_of(words):
    return {name: float(number) for name, number in (word.split("=", 1) for word in words)}


class ScriptSteps:
    """Version 1: a script with one trial at a time."""

    def __init__(self):
        self._loop = None

    def report(self, number, work, *metrics):
        self._trial(number).report(int(work), metrics_of(metrics))

    def attributes(self, number, attribute):
        name, value = attribute.split("=", 1)
        self._trial(number).set_attribute(name, json.loads(value))

    def save(self, number, work):
        with self._trial(number).checkpoint(int(work)) as folder:
            (folder / "state").write_text("state")

    def verdict(self, number):
        trial = self._trial(number)
        return leave_reason(trial) if trial.should_stop() else "continue"

    def must_leave(self, number):
        trial = self._trial(number)
        while not trial.should_stop():
            pass
        return leave_reason(trial)

    def leave(self, number, how, *reason):
        if how != "failed":
            raise ValueError(f"leave: expected 'failed' in version 1, found '{how}'")
        with self._trial(number):
            raise RuntimeError(" ".join(reason))

    def loop(self):
        self._loop = sluice.trials()
        return self.next()

    def next(self):
        trial = next(self._loop, None)
        return "none" if trial is None else str(trial.number)

    def close(self):
        sluice._session.session().close()

    def _trial(self, number):
        trial = sluice.trial()
        if trial.number != int(number):
            raise ValueError(f"expected trial {trial.number}, found {number}")
        return trial


def leave_reason(trial):
    """As the step `must-leave` answers it."""
    if trial._verdict is None:
        return "alone"
    return f"stop {trial._why}" if trial._verdict == "stop" else "pause"


STEPS = {"1": ScriptSteps}


def main():
    steps = STEPS[sys.argv[1]]()
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            answer = getattr(steps, verb.replace("-", "_"))(*words)
            print(f"ok {answer}" if answer else "ok", flush=True)
        except Exception as error:
            print(f"error {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        if verb == "close":
            break


if __name__ == "__main__":
    main()
