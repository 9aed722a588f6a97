"""A re-entrant lock that knows whether the calling thread is inside."""

from _thread import RLock, get_ident


class OwnedLock:
    """For an object that signal handlers call too, perhaps while one of its methods runs.

    A handler may run between any two lines here. A thread therefore counts as inside from before
    it takes the lock until after it has released it. A handler that runs in between must not take
    the lock a second time: it could then wait for another thread while it keeps that thread out.
    """

    def __init__(self):
        self._lock = RLock()
        self._depths = {}  # by thread; each thread changes its own

    def is_mine(self) -> bool:
        return get_ident() in self._depths

    def acquire(self) -> None:
        me = get_ident()
        self._depths[me] = self._depths.get(me, 0) + 1
        try:
            self._lock.acquire()
        except BaseException:  # of a signal handler
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
