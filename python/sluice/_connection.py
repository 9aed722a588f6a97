"""A connection to the controller: a socket that never blocks, and the bytes still to be sent."""

import os
from select import POLLIN, POLLOUT

# The module `socket` imports `enum` and `selectors`, which costs each trial some milliseconds. Its
# part in C, `_socket`, has all that is needed here.
try:
    from _socket import AF_UNIX, MSG_NOSIGNAL, SOCK_STREAM, socket
except ImportError:
    from socket import AF_UNIX, MSG_NOSIGNAL, SOCK_STREAM, socket

_LONGEST_SOCKET_PATH_BYTES = 107


class Connection:
    """Sends lines in order. The caller makes sure that only one thread calls at a time."""

    def __init__(self):
        self.is_broken = False  # nothing more is sent or received
        self.is_welcome = False  # the controller has answered with `welcome`
        self._unsent = bytearray()
        self._socket = socket(AF_UNIX, SOCK_STREAM)
        self._socket.setblocking(False)

    def open(self, path) -> None:
        """Connects to the controller's socket.

        Raises BlockingIOError if the controller's queue of new connections is full, and another
        OSError if no controller listens. If the path is too long for the operating system, a
        descriptor of the socket's folder is used.
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
        """The events that the caller's poll() is to wait for on this connection."""
        return POLLIN | POLLOUT if self._unsent else POLLIN

    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def add(self, line: bytes) -> None:
        """Adds a line that the next flush() sends."""
        self._unsent += line

    def flush(self) -> bool:
        """Sends as much as the kernel takes without blocking. Returns True if nothing is left.

        Raises OSError if the connection is broken.
        """
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent, MSG_NOSIGNAL)]
        except BlockingIOError:
            return False
        return True

    def receive(self) -> bytes:
        """Returns the bytes that have arrived, possibly none. Sets is_broken if it is closed."""
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
