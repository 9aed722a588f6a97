"""How the threads of a client wait.

Callers wait until something has changed (Waiters). The background thread polls, and callers wake it
(WakeUp).
"""

import os
from _thread import allocate_lock
from time import monotonic


class Waiters:
    """The threads that wait for a condition. Each releases the lock while it waits."""

    def __init__(self, lock):
        self._lock = lock
        self._waiters = []

    def wait(self, is_ready, deadline=None) -> None:
        """Returns when is_ready() is true or the deadline has passed.

        Called with the lock held, and releases it meanwhile. is_ready() is called with the lock.
        """
        while not is_ready():
            timeout_s = -1 if deadline is None else deadline - monotonic()
            if deadline is not None and timeout_s <= 0:
                return
            waiter = allocate_lock()
            waiter.acquire()
            self._waiters.append(waiter)
            self._lock.release()
            try:
                waiter.acquire(True, timeout_s)
            finally:
                self._lock.acquire()
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def notify(self) -> None:
        """Called with the lock held. Makes every waiting thread check its condition again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.release()


class WakeUp:
    """A pipe by which a thread that polls is woken."""

    def __init__(self):
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def fileno(self) -> int:
        """The descriptor of the pipe's end that the thread polls."""
        return self._reader

    def call(self) -> None:
        try:
            os.write(self._writer, b"w")
        except BlockingIOError:
            pass  # the pipe is full of calls that the polling thread has yet to read

    def drain(self) -> None:
        """Forgets the calls so far. Blocks if there are none, so ask poll() first."""
        os.read(self._reader, 4096)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
