"""The client of a process that carries several trials at the same time."""

from sluice._client import Client, awaits_verdict, tell
from sluice._wire import encode

# A controller that knows only version 1 refuses the hello with a reason that contains this text.
_ONLY_VERSION_1 = "expected version 1 of the protocol"


class BundleClient(Client):
    """Speaks version 2 of the protocol, in which a process carries up to `capacity` trials.

    If the controller is too old for version 2, the client changes to version 1 and carries one
    trial after another.

    A trial is new until next_step() has returned it to the script. If a new trial is to leave, it
    leaves without the script. Any other trial leaves in two steps: one step tells the script that
    the trial is to leave, and the trial has left when the next step begins. The controller waits
    only for the grace period. So nothing is trained in a step that tells trials to leave, and such
    a step does not wait for the verdicts of other trials.
    """

    def __init__(self, socket_path, trial, capacity: int, several_shapes: bool):
        super().__init__(socket_path, trial)
        self.takes_more_trials = True
        self._version = 2
        self._study = trial.study
        self._capacity = capacity
        self._told_capacity = capacity  # the capacity that the controller was told last
        self._several_shapes = several_shapes
        self._leaving = []  # trials that the present step tells to leave
        self._refused = []  # trials that the next step tells to leave: the script does not know yet
        self._has_stepped = False  # the script loops over steps
        self._has_reported = False  # the script has reported new work, of whichever trial

    def open(self) -> None:
        """Connects before the first step, so that trials can join early."""
        with self._lock:
            self._start()

    def report(self, trial, work: int, metrics: dict) -> None:
        super().report(trial, work, metrics)
        if work > trial.work:
            self._has_reported = True

    def profile(self, trial, measured: dict) -> None:
        if self._version == 2:
            self._say(trial, "profile", measured)

    def leave(self, trial, kind: str) -> None:
        """Ends the trial's launch with the message `kind`: `done`, `paused` or `released`."""
        with self._lock:
            self._leave(trial, kind, {})
            self._flush()

    def next_step(self):
        """Leaves the trials that the last step told to leave, and waits until a step can begin.

        Returns (left, joined): the trials that are to leave in this step, and the new trials. One
        of the two is empty. Returns None if there are no more trials for this process.
        """
        with self._lock:
            self._has_stepped = True
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
        """Hands back the newest trials beyond this capacity.

        Returns those of them that the script has seen. Trials that are already leaving are not
        counted and not handed back.
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
        """Ends all launches that the process still carries, and takes no more trials.

        Trials that were told to leave end as `done` or `paused`. The others have more to do and
        end as `paused`, which is no failure. But if the script has reported nothing new, they are
        handed back as `released`. The controller takes that for a failure of a trial that was
        alone. Otherwise it would start the script again and again, each time for nothing.
        """
        with self._lock:
            self._capacity = 0
            for trial in self._launches.carried():
                may_go_on = self._has_reported or trial._verdict or trial in self._leaving
                self._leave(trial, _last_word(trial) if may_go_on else "released", {})
            self._tell_capacity()
            self._flush()

    def _is_step_due(self) -> bool:
        """Whether a step can begin: trials are to leave, or no trial waits for its verdict.

        Also true when the process is to end.
        """
        if self._ended:
            return True
        # If there is a controller, wait until it is known which version the controller speaks.
        if self._version == 2 and not self._was_welcome and self._may_deliver:
            return False
        carried = self._launches.carried()
        if self._refused or any(each._was_shown and self._must_leave(each) for each in carried):
            return True
        if any(awaits_verdict(trial) and not trial._verdict for trial in carried):
            return False
        return bool(carried or self._is_dismissed)

    def _take_changes(self) -> tuple:
        """Returns (left, joined) for a step that begins now."""
        for trial in self._launches.carried():
            if not trial._was_shown and self._must_leave(trial):
                self._leave(trial, _last_word(trial), {})
        carried = self._launches.carried()
        self._leaving = [each for each in carried if each._was_shown and self._must_leave(each)]
        left, self._refused = self._leaving + self._refused, []
        for trial in self._leaving:
            trial._was_cut_short = True
        if left:
            return left, []  # new trials join in the next step
        joined = [each for each in carried if not each._was_shown and not self._must_leave(each)]
        for trial in joined:
            trial._was_shown = True
        return [], joined

    def _leave(self, trial, kind: str, content: dict) -> None:
        if kind == "released" and self._version == 1:
            kind = "paused"
        super()._leave(trial, kind, content)
        self._tell_capacity()

    def _tell_capacity(self) -> None:
        """Sends a changed capacity, as soon as the process carries no more trials than that.

        Without a connection nothing is sent: the next hello has the capacity.
        """
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
                is_closed = self._capacity == 0
                self._leave(trial, "paused" if is_closed else "released", {})

    def _hear_verdict(self, kind: str, message: dict) -> None:
        """A new trial leaves immediately: the script may be in the middle of a long step.

        But a caller that does without next_step() decides itself when trials leave, and in version
        1 next_step() has to ask for the next trial.
        """
        super()._hear_verdict(kind, message)
        trial = self._launches.carried_in(message)
        if trial is None or trial._was_shown or not trial._verdict:
            return
        if self._version == 2 and self._has_stepped:
            self._leave(trial, _last_word(trial), {})

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
        """Gives up this trial. In version 2 the other trials of the process go on."""
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
    """The message that ends a trial: `done` if it was stopped, `paused` if it has more to do."""
    return "done" if trial._verdict == "stop" else "paused"
