"""The files in a launch's folder that the launch's processes use.

These are the files that they write for the controller, and the secret, which they read.
"""

import os
import stat

_FLAGS = os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def append(folder, lines, is_synced: bool) -> None:
    """Adds messages to spool.jsonl, which the controller reads when the launch has ended.

    When this returns, the messages survive the death of the process. If is_synced, they also
    survive a power failure. Raises OSError.
    """
    _write(folder, "spool.jsonl", b"".join(lines), is_synced)


def mark_paused(folder) -> None:
    """Writes the file that says that the trial was paused, and is not complete."""
    _write(folder, "paused", b"", True)


def next_conversation(folder) -> int:
    """Returns how many processes were counted for the launch before this one. Then counts this one.

    Each process numbers its messages in a range of its own (docs/protocol.md): the controller would
    drop messages whose numbers it has seen. So the count that is known is returned even if this
    process cannot be counted. If nothing is known, this process is taken to be the first.
    """
    if folder is None:
        return 0
    path = os.path.join(folder, "conversations")
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | _FLAGS, 0o644)
    except OSError:  # not writable, or the process may open no more files
        return _size_of(path)
    try:
        return _count_one_more(file)
    except OSError:
        return _size_of(path)
    finally:
        os.close(file)


def _count_one_more(file: int) -> int:
    try:
        os.lockf(file, os.F_LOCK, 0)
    except OSError:  # the file system has no locks; only one process at a time reports anyway
        pass
    before = os.fstat(file).st_size
    try:
        os.write(file, b".")
    except OSError:
        try:
            os.ftruncate(file, before + 1)  # makes it longer, also on a full disk
        except OSError:
            pass
    return before


def _size_of(path: str) -> int:
    """The size of a file that cannot be opened, or 0 if there is none."""
    try:
        facts = os.lstat(path)
    except OSError:
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


def note_acknowledged(folder, seq: int) -> None:
    """Writes to a file the number of the last message that the controller has acknowledged.

    With this file `sluice doctor` detects that an older copy of the store was put back. The file
    is opened for each call: a process may carry more launches than it may have open files.
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
    """The secret that proves to the controller that this process belongs to the worker.

    Returns "" if there is no secret.
    """
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
    """Whether the file ends in the middle of a line.

    That happens if the disk was full or a process was killed.
    """
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"
