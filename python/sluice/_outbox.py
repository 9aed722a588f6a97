"""The messages that the controller has not acknowledged yet, and their numbers."""

from sluice import _spool
from sluice._wire import encode

_CONVERSATION = 1 << 40  # message numbers that each process of a launch has for itself


class Outbox:
    """Numbers messages and keeps them, in the order of sending, until they are acknowledged.

    Its user takes care that one thread calls at a time.
    """

    def __init__(self):
        self._waiting = []  # (trial, seq, line)
        self._heard = {}  # trial -> last acknowledged seq, not noted in its folder yet

    def __len__(self) -> int:
        return len(self._waiting)

    def lines(self) -> list:
        return [line for _, _, line in self._waiting]

    def encode(self, trial, kind: str, content: dict) -> bytes:
        """The line of the trial's next message. Raises ValueError if it is too long."""
        open_conversation(trial)
        names = {"type": kind, "trial": trial.number, "launch": trial.launch}
        return encode({**names, "seq": trial._seq + 1, **content})

    def add(self, trial, line: bytes) -> None:
        """The line that encode() has just made for the trial."""
        trial._seq += 1
        self._waiting.append((trial, trial._seq, line))

    def hear_ack(self, message: dict) -> None:
        """An ack is about the oldest trial that waits for one: the controller keeps the order."""
        waiting = self._waiting
        if not waiting or not is_about(message, waiting[0][0]):
            return
        count = 0
        while (
            count < len(waiting)
            and waiting[count][0] is waiting[0][0]
            and waiting[count][1] <= message["seq"]
        ):
            count += 1
        if count:
            trial, seq, _ = waiting[count - 1]
            self._heard[trial] = seq
            del waiting[:count]

    def has_acks_to_note(self) -> bool:
        return bool(self._heard)

    def note_acks(self) -> None:
        """Writes down in the folders of the trials how far their messages are acknowledged."""
        for trial, seq in self._heard.items():
            trial._acknowledged.note(seq)
        self._heard.clear()

    def spool(self, is_synced: bool) -> None:
        """Writes what is not in the spool yet, and if synced, syncs all of it. Raises OSError."""
        left = {}
        for trial, seq, line in self._waiting:
            lines = left.setdefault(trial, [])
            if seq > trial._spooled:
                lines.append(line)
        for trial, lines in left.items():
            if trial._folder is None:
                raise OSError("the launch has no folder")
            if lines or is_synced:
                _spool.append(trial._folder, lines, is_synced)
            trial._spooled = trial._seq

    def clear(self) -> None:
        self._waiting.clear()


def open_conversation(trial) -> None:
    """Settles which numbers this process gives to the trial's messages."""
    if trial._seq is None:
        trial._seq = _spool.next_conversation(trial._folder) * _CONVERSATION
        trial._spooled = trial._seq
        trial._acknowledged = _spool.Acknowledged(trial._folder)


def is_about(message: dict, trial) -> bool:
    is_launch = message.get("launch") == trial.launch
    return is_launch and message.get("trial", trial.number) == trial.number
