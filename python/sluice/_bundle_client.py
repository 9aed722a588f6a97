"""The client of a process that carries several trials at once."""

from sluice._client import Client, awaits_verdict, tell
from sluice._wire import encode

# In the refusal of a controller that knows only version 1.
_ONLY_VERSION_1 = "expected version 1 of the protocol"


class BundleClient(Client):
    """Speaks version 2 of the protocol, in which a process carries up to `capacity` trials.

    If the controller is too old for that, it goes on in version 1, with one trial after another.

    A trial is new until next_step() has shown it to the script. From then on the script has a part
    in its end: it is told to leave by one step, and has left when the next step begins.
    """

    def __init__(self, socket_path, trial, capacity: int, several_shapes: bool):
        super().__init__(socket_path, trial)
        self.takes_more_trials = True
        self._version = 2
        self._study = trial.study
        self._capacity = capacity
        self._told_capacity = capacity  # that the controller knows of
        self._several_shapes = several_shapes
        self._leaving = []  # trials that the present step tells to leave
        self._refused = []  # trials that the next step tells to leave: the script does not know yet

    def open(self) -> None:
        """Connects, so that trials may join before the first step."""
        with self._lock:
            self._start()

    def profile(self, trial, measured: dict) -> None:
        if self._version == 2:
            self._say(trial, "profile", measured)

    def leave(self, trial, kind: str) -> None:
        """Ends the launch as `done`, `paused` or `released`; the others go on."""
        with self._lock:
            self._leave(trial, kind, {})
            self._flush()

    def next_step(self):
        """Leaves the trials that the last step told to, and waits until another step can begin.

        Returns (left, joined): the trials that are to leave now, and those that are new. Returns
        None when there are no more trials for this process.
        """
        with self._lock:
            for trial in self._leaving:
                self._leave(trial, _last_word(trial), {})
            while True:
                if self._version == 1:
                    self._ask_for_trial()
                self._flush()
                self._waiters.wait(self._is_step_due)
                self._wants_trial = False
                left, joined = self._take_changes()
                if left or joined or len(self._launches):
                    return left, joined
                if self._is_dismissed or self._ended:
                    return None

    def set_capacity(self, capacity: int) -> list:
        """Hands back the newest trials beyond this capacity; returns those that the script knows.

        Trials that are leaving anyway do not count.
        """
        with self._lock:
            self._capacity = capacity
            staying = [each for each in self._launches.carried() if each not in self._leaving]
            for trial in reversed(staying[capacity:]):
                self._leave(trial, "released", {})
            self._tell_capacity()
            self._flush()
            return [each for each in staying[capacity:] if each._was_shown]

    def close_bundle(self) -> None:
        """Hands back what the process still carries. It takes nothing more."""
        with self._lock:
            self._capacity = 0
            for trial in self._launches.carried():
                was_told = trial._verdict or trial in self._leaving
                self._leave(trial, _last_word(trial) if was_told else "released", {})
            self._tell_capacity()
            self._flush()

    def _is_step_due(self) -> bool:
        """When there are trials, and none of them waits for its verdict."""
        if self._ended:
            return True
        # Which version the controller knows is settled first, if there is a controller.
        if self._version == 2 and not self._was_welcome and self._may_deliver:
            return False
        carried = self._launches.carried()
        if any(awaits_verdict(trial) and not trial._verdict for trial in carried):
            return False
        return bool(carried or self._refused or self._is_dismissed)

    def _take_changes(self) -> tuple:
        """(left, joined) of a step that begins now."""
        for trial in self._launches.carried():
            if not trial._was_shown and self._must_leave(trial):
                self._leave(trial, _last_word(trial), {})
        carried = self._launches.carried()
        self._leaving = [each for each in carried if each._was_shown and self._must_leave(each)]
        joined = [each for each in carried if not each._was_shown and not self._must_leave(each)]
        for trial in self._leaving:
            trial._was_cut_short = True
        for trial in joined:
            trial._was_shown = True
        left, self._refused = self._leaving + self._refused, []
        return left, joined

    def _leave(self, trial, kind: str, content: dict) -> None:
        if kind == "released" and self._version == 1:
            kind = "paused"
        super()._leave(trial, kind, content)
        self._tell_capacity()

    def _tell_capacity(self) -> None:
        """Once no more is carried than that. Without a connection, the next hello tells it."""
        if self._version == 1 or self._connection is None:
            return
        if self._capacity != self._told_capacity and len(self._launches) <= self._capacity:
            self._told_capacity = self._capacity
            self._send(encode({"type": "capacity", "capacity": self._capacity}))

    def _hello(self) -> dict:
        if self._version == 1:
            return super()._hello()
        carried = self._launches.carried()
        self._told_capacity = max(self._capacity, len(carried))
        return {
            **self._who(2),
            **self._secret,
            "study": self._study,
            "capacity": self._told_capacity,
            "several_shapes": self._several_shapes,
            "launches": [_name(trial) for trial in carried],
            "ended": [_name(trial) for trial in self._launches.parting()],
        }

    def _hear_assignment(self, line: bytes, message: dict) -> None:
        if self._version == 1:
            super()._hear_assignment(line, message)
        elif not self._ended and not self._launches.is_known(message):
            trial = self._made_of(line, message)
            if len(self._launches) < self._capacity:
                self._launches.join(trial)
            else:
                self._leave(trial, "released", {})

    def _hear_refusal(self, message: dict) -> None:
        reason = message.get("reason", "")
        if self._version == 2 and "trial" in message:
            self._refuse(self._launches.speaking_in(message), reason)
        elif self._version == 2 and not self._was_welcome and _ONLY_VERSION_1 in reason:
            self._version = 1
            self._connection.is_broken = True
        else:
            super()._hear_refusal(message)

    def _give_up(self, trial, why: str) -> None:
        """The other trials of the process go on."""
        if self._version == 1:
            super()._give_up(trial, why)
        else:
            self._refuse(trial, why)

    def _refuse(self, trial, reason: str) -> None:
        if trial is None:
            return
        tell(f"trial {trial.number} was refused: {reason}")
        if trial._was_shown and not trial._over and trial not in self._leaving:
            self._refused.append(trial)
        self._launches.refuse(trial)
        self._tell_capacity()


def _name(trial) -> dict:
    return {"trial": trial.number, "launch": trial.launch}


def _last_word(trial) -> str:
    """How a trial is left that was told to leave, or whose controller is gone."""
    return "done" if trial._verdict == "stop" else "paused"
