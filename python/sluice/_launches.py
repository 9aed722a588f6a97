"""The launches of a process: those that it carries, and those that it has left."""


class Launches:
    """Each launch is a Trial, since a process carries a trial in one launch at a time.

    A process without a bundle carries one launch after another. Its user takes care that one
    thread calls at a time.
    """

    def __init__(self):
        self._carried = {}  # (trial, launch) -> Trial, in the order in which they joined
        self._parting = {}  # those that were left, with messages that are not acknowledged
        self._known = set()  # every launch that was ever carried here, or handed back at once

    def __len__(self) -> int:
        """How many are carried."""
        return len(self._carried)

    def carried(self) -> list:
        return list(self._carried.values())

    def parting(self) -> list:
        return list(self._parting.values())

    def are_none(self) -> bool:
        """Whether nothing is carried, and nothing is left to be said of those that were."""
        return not self._carried and not self._parting

    def is_known(self, message: dict) -> bool:
        return _key(message) in self._known

    def join(self, trial) -> None:
        self._carried[trial.number, trial.launch] = trial
        self._known.add((trial.number, trial.launch))

    def leave(self, trial) -> None:
        """Its last message has been posted."""
        trial._over = True
        key = trial.number, trial.launch
        self._carried.pop(key, None)
        self._known.add(key)
        if trial._outbox:
            self._parting[key] = trial

    def refuse(self, trial) -> None:
        """The controller takes nothing more of it."""
        trial._outbox.clear()
        trial._is_refused = True
        self.leave(trial)
        self.forget_if_settled(trial)

    def forget_if_settled(self, trial) -> None:
        if trial._over and not trial._outbox:
            self._parting.pop((trial.number, trial.launch), None)

    def carried_in(self, message: dict):
        """The launch that the message is about, if it is carried, or None."""
        return _find(self._carried, message)

    def speaking_in(self, message: dict):
        """The same, also if the launch was left and its messages are not acknowledged yet."""
        return _find(self._parting, message) or _find(self._carried, message)

    def has_unacknowledged(self) -> bool:
        return bool(self._parting) or any(trial._outbox for trial in self._carried.values())

    def unacknowledged(self) -> list:
        """The outboxes with something in them, of the launches that were left first."""
        trials = [*self._parting.values(), *self._carried.values()]
        return [trial._outbox for trial in trials if trial._outbox]


def _key(message: dict) -> tuple:
    return message.get("trial"), message.get("launch")


def _find(trials: dict, message: dict):
    if "trial" in message:
        return trials.get(_key(message))
    # Version 1 may leave out the trial: a process carries one only.
    launch = message.get("launch")
    return next((trial for trial in trials.values() if trial.launch == launch), None)
