"""Keeps a process in contact with the controller: connects, sends heartbeats and reconnects."""

from _thread import start_new_thread
from select import POLLIN, poll
from time import monotonic

from sluice._connection import Connection
from sluice._lock import OwnedLock
from sluice._waiting import Waiters, WakeUp
from sluice._wire import encode

_FIRST_BACKOFF_S = 0.02
_LONGEST_BACKOFF_S = 1.0
_BETWEEN_NOTES_S = 0.1  # the least time between two notes of acknowledgements
_HEARTBEATS_PER_LEASE = 4  # the protocol asks for at least three
_PATIENCE_IDLE_S = 3.0  # how long a worker without a trial waits for a controller
_HEARTBEAT = encode({"type": "heartbeat"})


class Contact:
    """The connection and the background thread that reads, sends heartbeats and reconnects.

    The derived class Client decides what is sent, and deals with what is received. It has these
    methods, which this class calls:

    - _before_contact() is called once, before the background thread starts.
    - _greeting() returns the lines that begin a connection.
    - _hear() takes a line that the controller sent.
    - _post_postponed() sends the messages of signal handlers that had to wait.
    - _keep_if_possible() writes unacknowledged messages to the spool and keeps them for sending.
    - _keep_last_words() writes them to the spool and drops them.
    - _is_idle() says whether the process has no trial.
    - _has_acks_to_note() says whether there are acknowledgements that are not written down yet,
      and _note_acks() writes them down.

    All methods are called with the lock held, unless their docstrings say otherwise.
    The background thread imports nothing. If it were the first thread to import `threading`, that
    module would take it for the main thread.
    """

    def __init__(self, socket_path):
        self._socket_path = socket_path
        self._lease_s = 60.0
        # Re-entrant, because a signal handler may report while its thread is in a method here.
        self._lock = OwnedLock()
        self._waiters = Waiters(self._lock)
        self._wake_up = None  # wakes the background thread, once it runs
        self._connection = None
        # When the controller was last known to listen. None: the controller is listening now.
        self._alone_since = None
        self._may_deliver = True  # connected, or no attempt to connect has failed yet
        self._ended = None  # the reason why nothing is sent any more, or None

    def hold(self) -> None:
        """Takes the lock before a fork, so that the child gets the client in a consistent state."""
        self._lock.acquire()

    def let_go(self) -> None:
        """Releases the lock in the parent after a fork."""
        self._lock.release()

    def abandon(self) -> None:
        """Closes the child's copy of the parent's connection. Called in the child after a fork."""
        if self._connection is not None:
            self._connection.close()
        if self._wake_up is not None:
            self._wake_up.close()

    def _start(self) -> None:
        if self._wake_up is not None:
            return
        self._wake_up = WakeUp()
        self._alone_since = monotonic()
        self._before_contact()
        self._connect()
        try:
            start_new_thread(self._run, ())
        except RuntimeError as error:  # the interpreter is shutting down
            self._end(str(error))

    def _connect(self) -> None:
        """Connects and sends the greeting. Never blocks.

        If connecting fails, `_connection` stays None.
        """
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
        for line in self._greeting():
            self._send(line)
        self._flush()

    def _send(self, line: bytes) -> None:
        if self._connection is not None:
            self._connection.add(line)

    def _flush(self) -> None:
        """Sends what the kernel takes without blocking. The background thread sends the rest."""
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
        """What the background thread runs. Called without the lock."""
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
        """Waits before the next attempt to connect. Called without the lock."""
        poller = poll()
        poller.register(self._wake_up, POLLIN)
        until = min(monotonic() + longest_s, self._alone_since + self._patience_s())
        while not self._ended and (left_s := until - monotonic()) > 0:
            if poller.poll(left_s * 1000 + 1):
                self._wake_up.drain()

    def _converse(self) -> bool:
        """Reads and sends until the connection is lost. Called without the lock.

        Returns True if the controller has answered with `welcome`.
        """
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
            has_acks = self._has_acks_to_note()
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
                if self._has_acks_to_note() and now >= next_note:
                    next_note = now + _BETWEEN_NOTES_S
                    self._note_acks()
                if now >= next_heartbeat:
                    last_heartbeat = now
                    self._end_if_alone_too_long()
                    if not connection.has_unsent():
                        self._send(_HEARTBEAT)
                self._post_postponed()
        with self._lock:
            return self._hang_up()

    def _hang_up(self) -> bool:
        """Closes the connection. Returns whether the controller had answered with `welcome`."""
        was_welcome = self._connection.is_welcome
        self._note_acks()
        self._connection.close()
        self._connection = None
        self._may_deliver = False
        self._keep_if_possible()
        if self._alone_since is None:
            self._alone_since = monotonic()
        self._waiters.notify()
        return was_welcome

    def _patience_s(self) -> float:
        """How long the process waits for a controller before it gives up."""
        return min(self._lease_s, _PATIENCE_IDLE_S) if self._is_idle() else self._lease_s

    def _end_if_alone_too_long(self) -> None:
        patience_s = self._patience_s()
        if self._alone_since is not None and monotonic() >= self._alone_since + patience_s:
            self._end(f"the controller was not heard for {patience_s:g} s")

    def _end(self, why: str) -> None:
        """Ends the conversation for good: from now on all messages go to the spool."""
        if self._ended:
            return
        self._ended = why
        self._keep_last_words()
        self._wake()
        self._waiters.notify()
