"""Last words of a launch, left in its folder for the controller."""

import os


def append(folder: str, lines) -> None:
    """Messages that could not be delivered. On disk when it returns; raises OSError."""
    _write(folder, "spool.jsonl", b"".join(lines))


def mark_paused(folder: str) -> None:
    """Says that the end of the process is not the end of the trial."""
    _write(folder, "paused", b"")


def _write(folder: str, name: str, content: bytes) -> None:
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        rest = memoryview(content)
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
