"""The launches of a process: the ones that it carries, and the ones that it has left."""


class Launches:
    """The carried and the left launches, each as a Trial: a trial has one launch at a time here.

    A process without a bundle carries at most one launch at a time. The caller makes sure that
    only one thread calls at a time.
    """

    def __init__(self):
        self._carried = {}  # (trial, launch) -> Trial, in the order in which they joined
        self._parting = {}  # launches that were left and have unacknowledged messages
        self._known = set()  # every launch that was ever carried here, or handed back unused

    def __len__(self) -> int:
        """How many are carried."""
        return len(self._carried)

    def carried(self) -> list:
        return list(self._carried.values())

    def parting(self) -> list:
        return list(self._parting.values())

    def are_none(self) -> bool:
        """Whether no launch is carried, and no launch that was left has unacknowledged messages."""
        return not self._carried and not self._parting

    def is_known(self, message: dict) -> bool:
        return _key(message) in self._known

    def join(self, trial) -> None:
        self._carried[trial.number, trial.launch] = trial
        self._known.add((trial.number, trial.launch))

    def leave(self, trial) -> None:
        """Called when the trial's last message has been posted."""
        trial._over = True
        key = trial.number, trial.launch
        self._carried.pop(key, None)
        self._known.add(key)
        if trial._outbox:
            self._parting[key] = trial

    def refuse(self, trial) -> None:
        """Leaves the trial and drops its messages: the controller takes no more of them."""
        trial._outbox.clear()
        trial._is_refused = True
        self.leave(trial)
        self.forget_if_settled(trial)

    def forget_if_settled(self, trial) -> None:
        if trial._over and not trial._outbox:
            self._parting.pop((trial.number, trial.launch), None)

    def carried_in(self, message: dict):
        """The launch that the message names, or None if it is not carried."""
        return _find(self._carried, message)

    def speaking_in(self, message: dict):
        """The launch that the message names, if it is carried or has unacknowledged messages."""
        return _find(self._parting, message) or _find(self._carried, message)

    def has_unacknowledged(self) -> bool:
        return bool(self._parting) or any(trial._outbox for trial in self._carried.values())

    def unacknowledged(self) -> list:
        """The outboxes with unacknowledged messages. Launches that were left come first."""
        trials = [*self._parting.values(), *self._carried.values()]
        return [trial._outbox for trial in trials if trial._outbox]


def _key(message: dict) -> tuple:
    return message.get("trial"), message.get("launch")


def _find(trials: dict, message: dict):
    if "trial" in message:
        return trials.get(_key(message))
    # Messages of version 1 may leave out the trial, because a process carries only one.
    launch = message.get("launch")
    return next((trial for trial in trials.values() if trial.launch == launch), None)
