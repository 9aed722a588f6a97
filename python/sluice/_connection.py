"""A connection to the controller: a socket that never blocks, and what it has not taken yet."""

import os
from select import POLLIN, POLLOUT

# The module `socket` brings in `enum` and `selectors`, some milliseconds for each trial. Its C half
# does all that is needed here.
try:
    from _socket import AF_UNIX, MSG_NOSIGNAL, SOCK_STREAM, socket
except ImportError:
    from socket import AF_UNIX, MSG_NOSIGNAL, SOCK_STREAM, socket

_LONGEST_SOCKET_PATH_BYTES = 107


class Connection:
    """Sends lines in order. Its user takes care that one thread calls at a time."""

    def __init__(self):
        self.is_broken = False  # nothing more is sent or received
        self.is_welcome = False  # the controller has said so
        self._unsent = bytearray()
        self._socket = socket(AF_UNIX, SOCK_STREAM)
        self._socket.setblocking(False)

    def open(self, path) -> None:
        """Raises BlockingIOError if the controller's queue of new connections is full.

        Raises another OSError if no controller listens. A path too long for the system is reached
        through its folder.
        """
        if not path:
            raise OSError("SLUICE_SOCKET is not set")
        if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH_BYTES:
            self._socket.connect(path)
            return
        folder, name = os.path.split(path)
        descriptor = os.open(folder or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._socket.connect(f"/proc/self/fd/{descriptor}/{name}")
        finally:
            os.close(descriptor)

    def fileno(self) -> int:
        return self._socket.fileno()

    def awaited(self) -> int:
        """The events of poll() that the connection waits for."""
        return POLLIN | POLLOUT if self._unsent else POLLIN

    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def add(self, line: bytes) -> None:
        """To be sent by flush()."""
        self._unsent += line

    def flush(self) -> bool:
        """Gives the kernel what it takes now. True if that was all. Raises OSError when broken."""
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent, MSG_NOSIGNAL)]
        except BlockingIOError:
            return False
        return True

    def receive(self) -> bytes:
        """What has come, perhaps nothing."""
        try:
            received = self._socket.recv(1 << 16)
            if not received:
                self.is_broken = True
            return received
        except BlockingIOError:
            return b""
        except OSError:
            self.is_broken = True
            return b""

    def close(self) -> None:
        self._socket.close()
