"""Messages that could not be delivered, left in the launch's folder for the next controller."""

import os


def append(folder: str, lines) -> None:
    """On disk when it returns. Raises OSError, with nothing or a part of it written."""
    os.makedirs(folder, exist_ok=True)
    file = os.open(
        os.path.join(folder, "spool.jsonl"),
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,
        0o644,
    )
    try:
        rest = memoryview(b"".join(lines))
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        os.close(file)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(place)
    finally:
        os.close(place)
