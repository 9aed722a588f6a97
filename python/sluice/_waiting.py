"""How threads wait for each other: callers for news, the background thread for callers."""

import os
from _thread import allocate_lock
from time import monotonic


class Waiters:
    """Threads that release a lock until something has happened."""

    def __init__(self, lock):
        self._lock = lock
        self._waiters = []

    def wait(self, is_ready, deadline=None) -> None:
        """Called with the lock held. Releases it until is_ready() or the deadline."""
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
        """Of the end to poll."""
        return self._reader

    def call(self) -> None:
        try:
            os.write(self._writer, b"w")
        except BlockingIOError:
            pass  # the pipe is full of calls that the polling thread has yet to read

    def drain(self) -> None:
        """To be called when poll() says that there are calls."""
        os.read(self._reader, 4096)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
