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


class BundleSteps(ScriptSteps):
    """Version 2: a script with a bundle.

    The steps of a conversation are not those of `for step in bundle`, which decides
    itself when trials leave and join. So the bundle's client is used, without the loop over it.
    """

    def open(self, capacity, *options):
        several_shapes = options == ("several_shapes",)
        self._bundle = sluice.bundle(int(capacity), several_shapes=several_shapes)
        self._bundle.__enter__()
        self._client = sluice._session.session().link
        self._known = {}

    def profile(self, number, *measures):
        pairs = [each.split("=") for each in measures]
        measured = {name: json.loads(value) for name, value in pairs}
        self._bundle.profile(self._trial(number), **measured)

    def leave(self, number, how, *reason):
        if how == "failed":
            self._client.fail(self._trial(number), " ".join(reason))
        else:
            self._client.leave(self._trial(number), how)

    def joined(self, number):
        self._wait(lambda: int(number) in [trial.number for trial in self._carried()])

    def carried(self):
        return " ".join(str(number) for number in sorted(each.number for each in self._carried()))

    def shrink(self, capacity, *numbers):
        for number in numbers:
            self.leave(number, "released")
        self._bundle.shrink(int(capacity))

    def grow(self, capacity):
        self._bundle.grow(int(capacity))

    def finished(self):
        self._wait(lambda: self._client._is_dismissed or self._client._ended)
        return "exit" if self._client._is_dismissed else "alone"

    def _carried(self):
        return self._client._launches.carried()

    def _wait(self, is_ready):
        with self._client._lock:
            self._client._waiters.wait(is_ready)

    def _trial(self, number):
        """Also of a trial that has left."""
        self._known.update({trial.number: trial for trial in self._carried()})
        if int(number) not in self._known:
            raise ValueError(f"trial {number} is not carried")
        return self._known[int(number)]


def leave_reason(trial):
    """As the step `must-leave` answers it."""
    if trial._is_refused:
        return "refused"
    if trial._verdict is None:
        return "alone"
    return f"stop {trial._why}" if trial._verdict == "stop" else "pause"


STEPS = {"1": ScriptSteps, "2": BundleSteps}


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
