"""A re-entrant lock that knows whether the calling thread holds it."""

from _thread import RLock, get_ident


class OwnedLock:
    """For an object that signal handlers call too, perhaps in the middle of one of its methods.

    A handler may run between two lines here, on the thread that is about to hold the lock or has
    just let go of it. Then is_mine() is False and the handler takes the lock itself, which is
    right: the thread is not in the middle of anything yet, or not any more.
    """

    def __init__(self):
        self._lock = RLock()
        self._depth = 0
        self._owner = None

    def is_mine(self) -> bool:
        return self._owner == get_ident()

    def acquire(self) -> None:
        self._lock.acquire()
        self._depth += 1
        self._owner = get_ident()

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
        self._lock.release()

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()
