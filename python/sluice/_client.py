"""What a process says to the controller and hears from it (docs/protocol.md)."""

import os
from time import monotonic

from sluice import _spool
from sluice._contact import Contact
from sluice._launches import Launches
from sluice._trial import Trial
from sluice._wire import decode, encode

_CLIENT = "python 0.1.0"
_LONGEST_FAREWELL_S = 30.0  # close() waits at most this long for acknowledgements
_PATIENCE_ALONE_S = 0.5  # how long close() waits for a broken connection to be made again
_PATIENCE_TO_SAVE_S = 5.0  # how long secure() waits for acknowledgements if the spool fails
_LONGEST_REASON = 4000
_READY = encode({"type": "ready"})


class Client(Contact):
    """Delivers the messages of trials to the controller, and reads what the controller answers.

    The messages of a trial are sent in order. They are sent again on a new connection until they
    are acknowledged. This class carries one trial after another and speaks version 1 of the
    protocol. The derived class BundleClient carries several trials at the same time.

    Any thread may call. The calling thread sends its message, so a report has been handed to the
    kernel when report() returns. A background thread does the rest (Contact).
    While no controller listens, each message is written to the launch's spool.jsonl immediately,
    so that it outlives the process. Messages that are not acknowledged are also written there
    before a checkpoint counts, and before close() returns.

    Methods without an underscore take the lock. Methods with an underscore are called with the
    lock held, unless their docstrings say otherwise.
    """

    silent = False
    has_connection = True
    keeps_checkpoints = True

    def __init__(self, socket_path, trial):
        super().__init__(socket_path)
        self.takes_more_trials = False
        self._session = trial._session
        secret = _spool.read_secret()
        self._secret = {"secret": secret} if secret else {}
        self._window = 1024
        self._hear_terms(trial._terms)
        self._postponed = []  # messages of signal handlers that interrupted a method of this class
        self._to_note = {}  # outboxes with acknowledgements that no file in their folder notes yet
        self._launches = Launches()
        self._launches.join(trial)
        self._wants_trial = False  # the process has no trial, and has asked for one
        self._is_dismissed = False  # the controller has said that it has no more trials for us
        self._was_welcome = False  # some connection so far was answered with `welcome`

    @property
    def has_spoken(self) -> bool:
        """Whether this process has begun to speak for its trial."""
        return self._wake_up is not None

    def report(self, trial, work: int, metrics: dict) -> None:
        self._say(trial, "report", {"work": work, "values": metrics}, work)

    def set_attributes(self, trial, attributes: dict) -> None:
        self._say(trial, "attributes", {"attributes": attributes})

    def saved(self, trial, work: int, size_bytes: int) -> None:
        self._say(trial, "saved", {"work": work, "bytes": size_bytes})

    def secure(self, trial) -> None:
        """Makes the trial's messages so far survive the death of the process and a power failure.

        Writes them to the spool. If that fails, waits for their acknowledgements instead. Raises
        OSError if they do not come in time.
        """
        with self._lock:
            self._post_postponed()
            try:
                trial._outbox.spool(is_synced=True)
            except OSError:
                deadline = monotonic() + _PATIENCE_TO_SAVE_S
                self._waiters.wait(lambda: not trial._outbox, deadline)
                if trial._outbox:
                    raise

    def give_up(self, trial, owner: int) -> None:
        """Leaves the trial, as if the controller had refused its launch.

        Called when the launch `owner`, a newer one of the same trial, has taken over the
        checkpoint folder.
        """
        why = f"launch {trial.launch} of trial {trial.number} was given up"
        tell(f"{why}, and launch {owner} goes on with the trial: a checkpoint was dropped")
        with self._lock:
            if trial in self._launches.carried():
                self._give_up(trial, why)

    def _give_up(self, trial, why: str) -> None:
        self._end(why)

    def should_stop(self, trial) -> bool:
        """Whether the trial is to leave.

        If the target was reported, waits for the verdict, unless none can come any more. Does not
        wait if a signal handler that interrupted this class calls.
        """
        if not self._lock.is_mine():
            with self._lock:
                self._start()
                self._waiters.wait(lambda: self._must_leave(trial) or not awaits_verdict(trial))
        if not self._must_leave(trial):
            return False
        trial._was_cut_short = True
        return True

    def take_more_trials(self) -> None:
        """Says in the next hello that the process can take another trial after this one.

        A connection that exists is closed and made again, so that a new hello is sent.
        """
        with self._lock:
            if not self.takes_more_trials and self._connection is not None:
                self._break()
            self.takes_more_trials = True

    def bundled(self, trial, capacity: int, several_shapes: bool):
        """Returns a BundleClient to use in place of this client, which has not sent anything."""
        from sluice._bundle_client import BundleClient

        return BundleClient(self._socket_path, trial, capacity, several_shapes)

    def fail(self, trial, reason: str) -> None:
        with self._lock:
            self._leave(trial, "failed", {"reason": _printable(reason)})
            self._flush()

    def next_trial(self):
        """Leaves the present trial and waits for the next. Returns None if there are no more."""
        with self._lock:
            self._start()
            for trial in self._launches.carried():
                self._leave(trial, "paused" if _is_to_be_resumed(trial) else "done", {})
            self._ask_for_trial()
            self._waiters.wait(lambda: len(self._launches) or self._is_dismissed or self._ended)
            self._wants_trial = False
            return next(iter(self._launches.carried()), None)

    def close(self) -> None:
        """Waits for acknowledgements as long as they can come. Spools what is not acknowledged.

        Called once, when the process ends.
        """
        with self._lock:
            self._post_postponed()
            self._await_delivery(monotonic() + min(_LONGEST_FAREWELL_S, self._lease_s))
            self._end("the process is at its end")
            self._post_postponed()
            self._note_acks()
            for trial in self._launches.carried():
                if _is_to_be_resumed(trial):
                    _keep(lambda trial=trial: _spool.mark_paused(trial._folder))

    def _say(self, trial, kind: str, content: dict, work=None) -> None:
        """Sends a message of the trial, then the postponed messages. Called without the lock.

        A signal handler whose thread already holds the lock may call too. Its message is then
        postponed until the interrupted method is done.
        """
        if self._lock.is_mine():
            self._postponed.append((trial, kind, content, work))
            self._wake()
            return
        with self._lock:
            self._start()
            self._post(trial, kind, content, work)
            self._flush()
            self._post_postponed()

    def _post(self, trial, kind: str, content: dict, work=None) -> None:
        """Numbers a message, keeps it until it is acknowledged, and adds it to the connection.

        Waits while a whole window of messages is unacknowledged. If `work` is given, it must be
        more than the trial's last reported work. Does nothing for a trial that was refused.
        """
        self._waiters.wait(lambda: self._has_room(trial))
        if trial._is_refused:
            return
        if trial._over:
            raise RuntimeError(f"trial {trial.number} is over: it takes no more {kind}")
        line = trial._outbox.encode(kind, content)
        if work is not None:
            trial._advance(work, content["values"])
        trial._outbox.add(line)
        self._send(line)
        if self._ended:
            self._keep_last_words()
        elif self._connection is None:
            self._keep_if_possible([trial._outbox])

    def _has_room(self, trial) -> bool:
        return len(trial._outbox) < self._window or self._ended is not None

    def _post_postponed(self) -> None:
        """Posts what signal handlers left in `_postponed`, and flushes the connection.

        Never waits, because the background thread calls this method too. What finds no room in
        the window stays postponed.
        """
        while self._postponed and self._has_room(self._postponed[0][0]):
            try:
                self._post(*self._postponed.pop(0))
            except (RuntimeError, ValueError) as error:
                tell(str(error))
        self._flush()

    def _await_delivery(self, deadline: float) -> None:
        """Waits until all messages are acknowledged, or until no controller is likely to do so."""

        def is_settled():
            return self._ended or not (self._launches.has_unacknowledged() or self._postponed)

        while not is_settled() and monotonic() < deadline:
            self._waiters.wait(lambda: is_settled() or not self._may_deliver, deadline)
            if self._may_deliver:
                return
            patience = min(deadline, self._alone_since + _PATIENCE_ALONE_S)
            self._waiters.wait(lambda: is_settled() or self._may_deliver, patience)
            if not self._may_deliver:
                return

    def _leave(self, trial, kind: str, content: dict) -> None:
        if trial._over:
            return
        self._post(trial, kind, content)
        if not trial._over:  # refused while the message waited for room
            self._launches.leave(trial)

    def _must_leave(self, trial) -> bool:
        return bool(trial._over or trial._verdict or self._ended)

    def _ask_for_trial(self) -> None:
        """Sends `ready` if the process has no trial. The answer is `assign` or `exit`."""
        if not len(self._launches) and not self._is_dismissed:
            self._wants_trial = True
            self._send(_READY)
        self._flush()

    def _before_contact(self) -> None:
        for trial in self._launches.carried():
            trial._outbox.open()

    def _greeting(self) -> list:
        lines = [encode(self._hello())]
        for outbox in self._launches.unacknowledged():
            lines += outbox.lines()
        if self._wants_trial:
            lines.append(_READY)
        return lines

    def _hello(self) -> dict:
        fields = {**self._who(1), "reuse": self.takes_more_trials, **self._secret}
        # The controller counts a trial as this worker's until its last message is acknowledged.
        for trial in (self._launches.carried() + self._launches.parting())[:1]:
            fields.update(study=trial.study, trial=trial.number, launch=trial.launch)
        return fields

    def _who(self, version: int) -> dict:
        return {
            "type": "hello",
            "version": version,
            "worker": os.environ.get("SLUICE_WORKER") or f"{os.uname().nodename}:{os.getpid()}",
            "pid": os.getpid(),
            "client": _CLIENT,
        }

    def _hear(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError as error:
            tell(f"the controller is not understood: {error}")
            self._connection.is_broken = True
            return
        kind = message.get("type")
        if kind == "ack":
            self._hear_ack(message)
        elif kind == "welcome":
            self._connection.is_welcome = True
            self._was_welcome = True
            self._alone_since = None
            self._hear_terms(message)
        elif kind == "assign":
            self._hear_assignment(line, message)
        elif kind == "exit":
            self._is_dismissed = True
        elif kind == "refuse":
            self._hear_refusal(message)
        elif kind in ("budget", "pause", "stop"):
            self._hear_verdict(kind, message)
        self._waiters.notify()

    def _hear_ack(self, message: dict) -> None:
        trial = self._launches.speaking_in(message)
        if trial is not None and trial._outbox.acknowledge(message["seq"]):
            self._to_note[trial._outbox] = None
            self._launches.forget_if_settled(trial)

    def _hear_assignment(self, line: bytes, message: dict) -> None:
        if self._wants_trial and not len(self._launches):
            self._launches.join(self._made_of(line, message))

    def _made_of(self, line: bytes, assign: dict) -> Trial:
        trial = Trial(self._session, assign, {})
        trial._line = line
        self._hear_terms(trial._terms)
        return trial

    def _hear_verdict(self, kind: str, message: dict) -> None:
        trial = self._launches.carried_in(message)
        if trial is None:
            return
        if kind == "budget":
            trial.target = message.get("target")
        elif trial._verdict != "stop":
            trial._verdict = kind
            trial._why = message.get("why")

    def _hear_refusal(self, message: dict) -> None:
        self._end(f"the controller refused this launch: {message.get('reason', '')}")

    def _hear_terms(self, terms: dict) -> None:
        self._lease_s = terms.get("lease_ms", self._lease_s * 1000) / 1000
        self._window = max(1, terms.get("window", self._window))

    def _is_idle(self) -> bool:
        return self._launches.are_none()

    def _has_acks_to_note(self) -> bool:
        return bool(self._to_note)

    def _note_acks(self) -> None:
        for outbox in self._to_note:
            outbox.note_acknowledged()
        self._to_note.clear()

    def _keep_last_words(self) -> None:
        """Spools all unacknowledged messages: this process sends nothing to a controller again."""
        outboxes = self._launches.unacknowledged()
        if outboxes:
            tell(f"{self._ended}; results are kept in spool.jsonl")
        for outbox in outboxes:
            _keep(lambda outbox=outbox: outbox.spool(is_synced=True))
            outbox.clear()
        for trial in self._launches.parting():
            self._launches.forget_if_settled(trial)

    def _keep_if_possible(self, outboxes=None) -> None:
        """Spools messages while no controller listens.

        If a write fails, these messages are written again together with the next one.
        """
        for outbox in outboxes or self._launches.unacknowledged():
            try:
                outbox.spool(is_synced=False)
            except OSError:
                pass


def _is_to_be_resumed(trial) -> bool:
    """Whether the trial was told to leave, by a pause or by the loss of the controller."""
    return trial._was_cut_short and trial._verdict != "stop"


def awaits_verdict(trial) -> bool:
    return trial.target is not None and trial._reported >= trial.target


def _printable(text: str) -> str:
    return text[:_LONGEST_REASON].encode(errors="replace").decode()


def _keep(write) -> None:
    try:
        write()
    except OSError as error:
        tell(f"the last messages of a launch are lost: {error}")


def tell(text: str) -> None:
    """Writes a line to standard error.

    It does not use sys.stderr: another thread could hold the lock of that object while the
    interpreter ends.
    """
    try:
        os.write(2, f"sluice: {text}\n".encode(errors="replace"))
    except OSError:
        pass
