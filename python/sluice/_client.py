"""The connection to the controller (docs/protocol.md, the worker's side)."""

import os
from _thread import start_new_thread
from select import POLLIN, poll
from time import monotonic

from sluice import _spool
from sluice._connection import Connection
from sluice._lock import OwnedLock
from sluice._outbox import Outbox, is_about, open_conversation
from sluice._waiting import Waiters, WakeUp
from sluice._wire import decode, encode

_VERSION = 1
_CLIENT = "python 0.1.0"
_FIRST_BACKOFF_S = 0.02
_LONGEST_BACKOFF_S = 1.0
_LONGEST_FAREWELL_S = 30.0
_PATIENCE_ALONE_S = 0.5  # at the end of the process, for a connection that just broke
_BETWEEN_NOTES_S = 0.1  # the least time between two notes of acknowledgements
_HEARTBEATS_PER_LEASE = 4  # the protocol asks for at least three
_LONGEST_REASON = 4000
_PATIENCE_IDLE_S = 3.0  # without a controller, for a worker that has no trial
_PATIENCE_TO_SAVE_S = 5.0  # for acknowledgements, where messages cannot be spooled
_HEARTBEAT = encode({"type": "heartbeat"})
_READY = encode({"type": "ready"})


class Client:
    """Delivers the trial's messages, in order and until acknowledged, and reads the answers.

    Any thread may call. The calling thread sends its message, so a report has been handed to the
    kernel when report() returns. A background thread reads, sends heartbeats and reconnects.
    While no controller listens, messages go to the launch's spool.jsonl at once, so that they
    outlive the process. Messages that are not acknowledged are written there before a checkpoint
    counts, and by the time close() returns.

    Methods without an underscore take the lock. Those with one are called with the lock held,
    unless their docstrings say otherwise.
    The background thread imports nothing. If it were the first to import `threading`, that module
    would take it for the main thread.
    """

    silent = False
    has_connection = True
    keeps_checkpoints = True

    def __init__(self, socket_path, trial):
        self.takes_more_trials = False
        self._socket_path = socket_path
        self._trial = trial
        self._secret = _spool.read_secret()
        self._lease_s = 60.0
        self._window = 1024
        self._hear_terms(trial._terms)
        # Re-entrant for signal handlers that report while their thread is in here.
        self._lock = OwnedLock()
        self._waiters = Waiters(self._lock)
        self._postponed = []  # messages of such handlers
        self._outbox = Outbox()
        self._wake_up = None  # wakes the background thread, once it runs
        self._connection = None
        self._alone_since = None  # when the controller was last known to listen; None: it does
        self._may_deliver = True  # connected, or no attempt to connect has failed yet
        self._wants_trial = False
        self._assigned = None
        self._is_dismissed = False
        self._ended = None  # why nothing is sent any more

    def report(self, trial, work: int, metrics: dict) -> None:
        self._say(trial, "report", {"work": work, "values": metrics}, work)

    def set_attributes(self, trial, attributes: dict) -> None:
        self._say(trial, "attributes", {"attributes": attributes})

    def saved(self, trial, work: int, size_bytes: int) -> None:
        self._say(trial, "saved", {"work": work, "bytes": size_bytes})

    def secure(self, trial) -> None:
        """Makes all messages so far outlive the process and the machine. Raises OSError."""
        with self._lock:
            self._post_postponed()
            if not self._outbox:
                return
            try:
                self._outbox.spool(is_synced=True)
            except OSError:
                deadline = monotonic() + _PATIENCE_TO_SAVE_S
                self._waiters.wait(lambda: not self._outbox, deadline)
                if self._outbox:
                    raise

    def give_up(self, trial, owner: int) -> None:
        """A newer launch of the trial saves now: this one leaves, as if it had been refused."""
        why = f"launch {trial.launch} of trial {trial.number} was given up"
        _tell(f"{why}, and launch {owner} goes on with the trial: a checkpoint was dropped")
        with self._lock:
            if trial is self._trial:
                self._end(why)

    def should_stop(self, trial) -> bool:
        """Waits for the verdict if the target was reported, as long as one can still come."""
        if not self._lock.is_mine():
            with self._lock:
                self._start()
                self._waiters.wait(lambda: self._must_leave(trial) or not _awaits_verdict(trial))
        if not self._must_leave(trial):
            return False
        trial._was_cut_short = True
        return True

    def take_more_trials(self) -> None:
        """Takes effect with the next hello, so an existing connection is made again."""
        with self._lock:
            if not self.takes_more_trials and self._connection is not None:
                self._break()
            self.takes_more_trials = True

    def fail(self, trial, reason: str) -> None:
        with self._lock:
            self._leave(trial, "failed", {"reason": _printable(reason)})
            self._flush()

    def next_assignment(self):
        """Leaves the trial and waits for another: (line, assign), or None when there is none."""
        with self._lock:
            self._start()
            trial = self._trial
            self._leave(trial, "paused" if _is_to_be_resumed(trial) else "done", {})
            if not self._is_dismissed:
                self._wants_trial = True
                self._send(_READY)
                self._flush()
                self._waiters.wait(lambda: self._assigned or self._is_dismissed or self._ended)
                self._wants_trial = False
            assigned, self._assigned = self._assigned, None
            return assigned

    def begin(self, trial) -> None:
        with self._lock:
            self._outbox.note_acks()
            if self._trial._acknowledged is not None:
                self._trial._acknowledged.close()
            self._trial = trial
            self._hear_terms(trial._terms)

    def close(self) -> None:
        """Waits for acknowledgements while they can come, and spools what is left."""
        with self._lock:
            self._post_postponed()
            self._await_delivery(monotonic() + min(_LONGEST_FAREWELL_S, self._lease_s))
            self._end("the process is at its end")
            self._post_postponed()
            self._outbox.note_acks()
            if _is_to_be_resumed(self._trial) and not self._trial._over:
                self._keep(_spool.mark_paused, self._trial._folder)

    def hold(self) -> None:
        """Before a fork, so that the child finds the client in a consistent state."""
        self._lock.acquire()

    def let_go(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()

    def abandon(self) -> None:
        """After a fork, in the child: closes its copy of the parent's connection."""
        if self._connection is not None:
            self._connection.close()
        if self._wake_up is not None:
            self._wake_up.close()

    def _say(self, trial, kind: str, content: dict, work=None) -> None:
        """Called without the lock, or by a signal handler whose thread already holds it."""
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
        """Waits for room in the window. `work`, where given, must rise."""
        self._waiters.wait(self._has_room)
        if trial._over:
            raise RuntimeError(f"trial {trial.number} is over: it takes no more {kind}")
        line = self._outbox.encode(trial, kind, content)
        if work is not None:
            trial._advance(work, content["values"])
        self._outbox.add(trial, line)
        self._send(line)
        if self._ended:
            self._spool()
        elif self._connection is None:
            self._keep_if_possible()

    def _has_room(self) -> bool:
        return len(self._outbox) < self._window or self._ended is not None

    def _post_postponed(self) -> None:
        """Never waits, because the background thread calls it too. Also flushes the connection."""
        while self._postponed and self._has_room():
            try:
                self._post(*self._postponed.pop(0))
            except (RuntimeError, ValueError) as error:
                _tell(str(error))
        self._flush()

    def _await_delivery(self, deadline: float) -> None:
        """Waits until all is acknowledged, or until that is no longer likely."""

        def is_settled():
            return self._ended or not (self._outbox or self._postponed)

        while not is_settled() and monotonic() < deadline:
            self._waiters.wait(lambda: is_settled() or not self._may_deliver, deadline)
            if self._may_deliver:
                return
            patience = min(deadline, self._alone_since + _PATIENCE_ALONE_S)
            self._waiters.wait(lambda: is_settled() or self._may_deliver, patience)
            if not self._may_deliver:
                return

    def _leave(self, trial, kind: str, content: dict) -> None:
        if not trial._over:
            self._post(trial, kind, content)
            trial._over = True

    def _must_leave(self, trial) -> bool:
        return bool(trial._over or trial._verdict or self._ended)

    def _start(self) -> None:
        if self._wake_up is not None:
            return
        self._wake_up = WakeUp()
        self._alone_since = monotonic()
        open_conversation(self._trial)  # before there are two threads that take turns
        self._connect()
        try:
            start_new_thread(self._run, ())
        except RuntimeError as error:  # the interpreter is shutting down
            self._end(str(error))

    def _connect(self) -> None:
        """Leaves the connection None where it fails. Never blocks."""
        connection = Connection()
        try:
            connection.open(self._socket_path)
        except BlockingIOError:
            connection.close()
            return
        except OSError:
            connection.close()
            self._may_deliver = False
            self._waiters.notify()
            return
        self._connection = connection
        self._may_deliver = True
        self._waiters.notify()
        self._send(self._hello())
        for line in self._outbox.lines():
            self._send(line)
        if self._wants_trial:
            self._send(_READY)
        self._flush()

    def _hello(self) -> bytes:
        fields = {
            "type": "hello",
            "version": _VERSION,
            "worker": os.environ.get("SLUICE_WORKER") or f"{os.uname().nodename}:{os.getpid()}",
            "pid": os.getpid(),
            "client": _CLIENT,
            "reuse": self.takes_more_trials,
        }
        if self._secret:
            fields["secret"] = self._secret
        trial = self._trial
        # To the controller, the trial is this worker's until its last message is acknowledged.
        if not trial._over or self._outbox:
            fields.update(study=trial.study, trial=trial.number, launch=trial.launch)
        return encode(fields)

    def _send(self, line: bytes) -> None:
        if self._connection is not None:
            self._connection.add(line)

    def _flush(self) -> None:
        """Gives the kernel what it takes now; the background thread sees to the rest."""
        if self._connection is None:
            return
        try:
            if not self._connection.flush():
                self._wake()
        except OSError:
            self._break()
            self._keep_if_possible()

    def _break(self) -> None:
        self._connection.is_broken = True
        self._wake()

    def _wake(self) -> None:
        if self._wake_up is not None:
            self._wake_up.call()

    def _run(self) -> None:
        """The background thread; takes the lock itself."""
        try:
            backoff_s = _FIRST_BACKOFF_S
            while not self._ended:
                if self._connection is not None and self._converse():
                    backoff_s = _FIRST_BACKOFF_S
                with self._lock:
                    self._end_if_alone_too_long()
                if self._ended:
                    return
                self._rest(backoff_s)
                backoff_s = min(2 * backoff_s, _LONGEST_BACKOFF_S)
                with self._lock:
                    if not self._ended:
                        self._post_postponed()
                        self._connect()
        except BaseException as error:
            with self._lock:
                self._end(f"the client failed: {error!r}")
            raise

    def _rest(self, longest_s: float) -> None:
        """Without the lock."""
        poller = poll()
        poller.register(self._wake_up, POLLIN)
        until = min(monotonic() + longest_s, self._alone_since + self._patience_s())
        while not self._ended and (left_s := until - monotonic()) > 0:
            if poller.poll(left_s * 1000 + 1):
                self._wake_up.drain()

    def _converse(self) -> bool:
        """Without the lock, until the connection is lost. True if the controller said welcome."""
        poller = poll()
        connection, wake_up = self._connection, self._wake_up
        poller.register(wake_up, POLLIN)
        poller.register(connection, POLLIN)
        heard = b""
        last_heartbeat = monotonic()
        next_note = last_heartbeat
        while not (connection.is_broken or self._ended):
            poller.modify(connection, connection.awaited())
            next_heartbeat = last_heartbeat + self._lease_s / _HEARTBEATS_PER_LEASE
            has_acks = self._outbox.has_acks_to_note()
            wake_at = min(next_heartbeat, next_note) if has_acks else next_heartbeat
            ready = dict(poller.poll(max(0, wake_at - monotonic()) * 1000 + 1))
            if ready.pop(wake_up.fileno(), 0):
                wake_up.drain()
            with self._lock:
                if ready:
                    *lines, heard = (heard + connection.receive()).split(b"\n")
                    for line in lines:
                        self._hear(line)
                now = monotonic()
                if self._outbox.has_acks_to_note() and now >= next_note:
                    next_note = now + _BETWEEN_NOTES_S
                    self._outbox.note_acks()
                if now >= next_heartbeat:
                    last_heartbeat = now
                    self._end_if_alone_too_long()
                    if not connection.has_unsent():
                        self._send(_HEARTBEAT)
                self._post_postponed()
        with self._lock:
            return self._hang_up()

    def _hang_up(self) -> bool:
        was_welcome = self._connection.is_welcome
        self._outbox.note_acks()
        self._connection.close()
        self._connection = None
        self._may_deliver = False
        self._keep_if_possible()
        if self._alone_since is None:
            self._alone_since = monotonic()
        self._waiters.notify()
        return was_welcome

    def _hear(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError as error:
            _tell(f"the controller is not understood: {error}")
            self._connection.is_broken = True
            return
        kind = message.get("type")
        if kind == "ack":
            self._outbox.hear_ack(message)
        elif kind == "welcome":
            self._connection.is_welcome = True
            self._alone_since = None
            self._hear_terms(message)
        elif kind == "assign":
            if self._wants_trial:
                self._assigned = line, message
        elif kind == "exit":
            self._is_dismissed = True
        elif kind == "refuse":
            self._end(f"the controller refused this launch: {message.get('reason', '')}")
        elif kind in ("budget", "pause", "stop") and is_about(message, self._trial):
            if kind == "budget":
                self._trial.target = message.get("target")
            elif self._trial._verdict != "stop":
                self._trial._verdict = kind
                self._trial._why = message.get("why")
        self._waiters.notify()

    def _hear_terms(self, terms: dict) -> None:
        self._lease_s = terms.get("lease_ms", self._lease_s * 1000) / 1000
        self._window = max(1, terms.get("window", self._window))

    def _patience_s(self) -> float:
        is_idle = self._wants_trial and not self._outbox
        return min(self._lease_s, _PATIENCE_IDLE_S) if is_idle else self._lease_s

    def _end_if_alone_too_long(self) -> None:
        patience_s = self._patience_s()
        if self._alone_since is not None and monotonic() >= self._alone_since + patience_s:
            self._end(f"the controller was not heard for {patience_s:g} s")

    def _end(self, why: str) -> None:
        """Ends the conversation for good: from now on all messages go to the spool."""
        if self._ended:
            return
        self._ended = why
        self._spool()
        self._wake()
        self._waiters.notify()

    def _spool(self) -> None:
        if not self._outbox:
            return
        _tell(f"{self._ended}; results are kept in spool.jsonl")
        try:
            self._outbox.spool(is_synced=True)
        except OSError as error:
            _tell(f"the launch's last words are lost: {error}")
        self._outbox.clear()

    def _keep_if_possible(self) -> None:
        """Spools while no controller listens. A failed write is repeated with the next message."""
        try:
            self._outbox.spool(is_synced=False)
        except OSError:
            pass

    def _keep(self, write, folder, *what) -> None:
        try:
            if folder is None:
                raise OSError("the launch has no folder")
            write(folder, *what)
        except OSError as error:
            _tell(f"the launch's last words are lost: {error}")


def _is_to_be_resumed(trial) -> bool:
    """Whether the trial was told to leave, by a pause or by the loss of the controller."""
    return trial._was_cut_short and trial._verdict != "stop"


def _awaits_verdict(trial) -> bool:
    return trial.target is not None and trial._reported >= trial.target


def _printable(text: str) -> str:
    return text[:_LONGEST_REASON].encode(errors="replace").decode()


def _tell(text: str) -> None:
    """Writes past sys.stderr: another thread could hold its lock as the interpreter ends."""
    try:
        os.write(2, f"sluice: {text}\n".encode(errors="replace"))
    except OSError:
        pass
