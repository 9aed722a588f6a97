"""What a launch leaves in its folder for the controller, and finds there."""

import os

_FLAGS = os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def append(folder, lines, is_synced: bool) -> None:
    """Adds messages that may not reach a controller. Raises OSError.

    When this returns they outlive the process, and if synced, the machine.
    """
    _write(folder, "spool.jsonl", b"".join(lines), is_synced)


def mark_paused(folder) -> None:
    """Says that the end of the process is not the end of the trial."""
    _write(folder, "paused", b"", True)


def next_conversation(folder) -> int:
    """How many processes have sent messages for the launch before; counts this one.

    Each process numbers its messages from a range of its own (docs/protocol.md). If nothing can be
    written, this process counts as the first.
    """
    if folder is None:
        return 0
    try:
        path = os.path.join(folder, "conversations")
        file = os.open(path, os.O_RDWR | os.O_APPEND | _FLAGS, 0o644)
    except OSError:
        return 0
    try:
        os.lockf(file, os.F_LOCK, 0)
        before = os.fstat(file).st_size
        os.write(file, b".")
        return before
    except OSError:
        return 0
    finally:
        os.close(file)


def note_acknowledged(folder, seq: int) -> None:
    """Notes up to which message the controller has said that the messages are on disk.

    With this file `sluice doctor` detects that an older copy of the store was put back. It is not
    kept open: a process may carry more launches than it may open files.
    """
    if folder is None:
        return
    try:
        file = os.open(os.path.join(folder, "acknowledged"), os.O_WRONLY | _FLAGS, 0o644)
    except OSError:
        return
    try:
        os.pwrite(file, b"%020d\n" % seq, 0)
    except OSError:
        pass
    finally:
        os.close(file)


def read_secret() -> str:
    """The secret that proves to the controller that this is a process of the worker; "" if none."""
    trial_file = os.environ.get("SLUICE_TRIAL_FILE", "")
    path = os.path.join(os.path.dirname(trial_file), "secret")
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return os.read(file, 200).decode(errors="replace")
    finally:
        os.close(file)


def _write(folder, name: str, content: bytes, is_synced: bool) -> None:
    if folder is None:
        raise OSError("the launch has no folder")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    file = os.open(path, os.O_RDWR | os.O_APPEND | _FLAGS, 0o644)
    try:
        rest = memoryview(b"\n" + content if _is_torn(file) else content)
        while rest:
            rest = rest[os.write(file, rest) :]
        if is_synced:
            os.fsync(file)
    finally:
        os.close(file)
    if not is_synced:
        return
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _is_torn(file: int) -> bool:
    """Whether it ends in the middle of a line: the disk was full, or a process was killed."""
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"
