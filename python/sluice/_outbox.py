"""The messages of a launch that the controller has not acknowledged yet, and their numbers."""

from _collections import deque

from sluice import _spool
from sluice._wire import encode

_CONVERSATION = 1 << 40  # the size of the range of message numbers that each process has


class Outbox:
    """Numbers the messages of one launch and keeps them, in order, until they are acknowledged.

    The caller makes sure that only one thread calls at a time.
    """

    def __init__(self, trial: int, launch: int, folder):
        self._names = {"trial": trial, "launch": launch}
        self._folder = folder
        self._waiting = deque()  # lines; the last line has the number `_last`
        self._last = None  # the number of the newest message; None until open() sets the first
        self._spooled = 0  # the number of the last message in the spool

    def __len__(self) -> int:
        return len(self._waiting)

    def lines(self):
        return self._waiting

    def open(self) -> None:
        """Chooses the range of numbers that this process gives to the launch's messages."""
        if self._last is None:
            self._last = _spool.next_conversation(self._folder) * _CONVERSATION
            self._spooled = self._last

    def encode(self, kind: str, content: dict) -> bytes:
        """The line of the launch's next message. Raises ValueError if it is too long."""
        self.open()
        return encode({"type": kind, **self._names, "seq": self._last + 1, **content})

    def add(self, line: bytes) -> None:
        """Adds the line that encode() has just made."""
        self._last += 1
        self._waiting.append(line)

    def acknowledge(self, seq: int) -> bool:
        """Drops the messages up to this number. Returns False if there were none to drop."""
        count = min(len(self._waiting), max(0, seq - self._first() + 1)) if self._waiting else 0
        for _ in range(count):
            self._waiting.popleft()
        return count > 0

    def note_acknowledged(self) -> None:
        """Writes down in the launch's folder how far its messages are acknowledged."""
        _spool.note_acknowledged(self._folder, self._first() - 1)

    def spool(self, is_synced: bool) -> None:
        """Writes the messages that are not in the spool yet. Raises OSError.

        If is_synced, all messages in the spool are on disk afterwards.
        """
        if not self._waiting:
            return
        unspooled = self._last - max(self._spooled, self._first() - 1)
        if unspooled or is_synced:
            first = len(self._waiting) - unspooled
            lines = [self._waiting[place] for place in range(first, len(self._waiting))]
            _spool.append(self._folder, lines, is_synced)
        self._spooled = self._last

    def clear(self) -> None:
        self._waiting.clear()

    def _first(self) -> int:
        """The number of the oldest message that waits."""
        return self._last - len(self._waiting) + 1
