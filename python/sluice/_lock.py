"""A re-entrant lock that knows whether the calling thread holds it."""

from _thread import RLock, get_ident


class OwnedLock:
    """A lock for an object that signal handlers call too, perhaps while one of its methods runs.

    A handler may run between any two lines here. So is_mine() is true from just before the thread
    takes the lock until just after the thread has released it. A handler that finds is_mine() true
    must not take the lock: it could then wait for a thread that waits for the handler's thread.
    """

    def __init__(self):
        self._lock = RLock()
        # For each thread that holds the lock, how often. A thread changes only its own entry.
        self._depths = {}

    def is_mine(self) -> bool:
        return get_ident() in self._depths

    def acquire(self) -> None:
        me = get_ident()
        self._depths[me] = self._depths.get(me, 0) + 1
        try:
            self._lock.acquire()
        except BaseException:  # raised by a signal handler
            self._leave(me)
            raise

    def release(self) -> None:
        self._lock.release()
        self._leave(get_ident())

    def _leave(self, me: int) -> None:
        depth = self._depths[me] - 1
        if depth:
            self._depths[me] = depth
        else:
            del self._depths[me]

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()
