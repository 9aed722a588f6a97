"""What the tests of the edges share: a house that sees every process of its store."""

import contextlib
import dataclasses
import errno
import functools
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from house import IS_SOAK, House, wait_until  # noqa: E402, F401
from peer import Peer  # noqa: E402

PROGRAMS = HERE / "programs"
IS_ROOT = os.geteuid() == 0

STUDY = """
study: {name}
program: {program}
space: {{x: {{int: [0, 999]}}}}
objective: {{minimize: loss}}
sampler: random
trials: {trials}
parallelism: {parallelism}
resources: {{cpus: 0.25}}
seed: 5
retries: {retries}
backoff: 1ms
{more}
"""


@dataclasses.dataclass(frozen=True)
class Process:
    """A process as /proc shows it; zombies are not shown."""

    pid: int
    role: str  # controller, command, launcher, program, rank
    words: str

    def signal(self, word):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, word)

    def __repr__(self):
        return f"<{self.role} {self.pid}: {' '.join(self.words.split()[1:])[-90:]}>"


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def is_alive(pid):
    """Whether a process runs; one that has ended and was not waited for does not."""
    text = read_bytes(f"/proc/{pid}/stat")
    return bool(text) and text.rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")


def role_of(pid, words):
    try:
        binary = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:  # the process is at its end: what it was called is still known
        binary = os.path.basename(words.split(" ", 1)[0])
    binary = binary.removesuffix(" (deleted)")
    if binary == "sluice":
        return "controller" if words.split()[1:2] == ["controller"] else "command"
    if binary == "sluice-launcher":
        return "launcher"
    return "rank" if "/rank.py" in words or "/torch_rank.py" in words else "program"


def processes_of(folder):
    """Every living process whose environment or arguments name something below the folder."""
    name = os.fsencode(str(folder)) + b"/"
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        words = read_bytes(f"/proc/{entry}/cmdline")
        if name in words or name in read_bytes(f"/proc/{entry}/environ"):
            if is_alive(entry):
                text = words.replace(b"\0", b" ").decode(errors="replace")
                found.append(Process(int(entry), role_of(entry, text), text))
    return found


def variable_of(pid, name):
    """A variable of a process's environment, or None."""
    for pair in read_bytes(f"/proc/{pid}/environ").split(b"\0"):
        key, _, value = pair.partition(b"=")
        if key == name.encode():
            return value.decode()
    return None


def kill_all(folder, seconds=5.0):
    """Ends every process of the folder, also those that appear meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = processes_of(folder)
        if not found:
            return
        for process in found:
            process.signal(signal.SIGKILL)
        time.sleep(0.005)


class Disk:
    """A small file system of its own, that can be filled and freed."""

    def __init__(self, place, options="size=4m"):
        self.place = pathlib.Path(place)
        self.place.mkdir(exist_ok=True)
        # tmpfs keeps a page for a moment on each core; so much is never really free.
        words = ["mount", "-t", "tmpfs", "-o", f"{options},mode=0755", "tmpfs", str(place)]
        subprocess.run(words, check=True, capture_output=True)
        self.filler = self.place / ".filler"

    def fill(self):
        with open(self.filler, "ab", buffering=0) as file:
            for size in (65536, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def fill_inodes(self):
        self.filler.mkdir()
        count = 0
        try:
            while True:
                (self.filler / str(count)).touch()
                count += 1
        except OSError as error:
            assert error.errno == errno.ENOSPC, error

    def free(self):
        if self.filler.is_dir():
            for path in self.filler.iterdir():
                path.unlink()
            self.filler.rmdir()
        else:
            self.filler.unlink(missing_ok=True)

    def close(self):
        subprocess.run(["umount", "-l", str(self.place)], check=False, capture_output=True)


@functools.cache
def can_mount():
    with tempfile.TemporaryDirectory() as place:
        try:
            disk = Disk(place)
        except (OSError, subprocess.CalledProcessError):
            return False
        disk.close()
        return True


class Edge(House):
    """A house that writes studies of the programs here and sees what runs for its store."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder)
        self.witness = folder / "witness"
        self.witness.mkdir(exist_ok=True)
        self.disks = []

    def environment(self, **more):
        return super().environment(**{"WITNESS": str(self.witness), **more})

    def run(self, *words, seconds=40, **options):
        """As in any house, but a hanging command is told sooner: the studies here are short."""
        return super().run(*words, seconds=seconds, **options)

    def study(self, kind, trials=1, parallelism=4, retries=20, more="", name="edge", **settings):
        """Writes study.yaml: a program of programs/ (or a list of words) with its settings."""
        if isinstance(kind, str):
            kind = [sys.executable, str(PROGRAMS / f"{kind}.py")]
            kind += [f"{key}={value}" for key, value in settings.items()]
        text = STUDY.format(
            name=name,
            program=json.dumps(kind),
            trials=trials,
            parallelism=parallelism,
            retries=retries,
            more=more,
        )
        return self.write("study.yaml", text)

    def disk(self, place, options="size=4m"):
        """Mounts a small disk, gone with the house."""
        self.disks.append(Disk(place, options))
        return self.disks[-1]

    def open_gate(self, name="go"):
        (self.witness / name).touch()

    def notes(self, word=None, trial=None, launch=None):
        """(word, trial, launch, pid, more...) of what the programs noted."""
        lines = read_bytes(self.witness / "notes").decode().splitlines()
        rows = [line.split(" ") for line in lines]
        return [
            (row[0], int(row[1]), int(row[2]), int(row[3]), *row[4:])
            for row in rows
            if word in (None, row[0])
            and (trial is None or int(row[1]) == trial)
            and (launch is None or int(row[2]) == launch)
        ]

    def await_notes(self, word, count=1, seconds=30.0, **which):
        wait_until(
            lambda: len(self.notes(word, **which)) >= count,
            seconds,
            f"{count} notes of '{word}' {which or ''}",
        )
        return self.notes(word, **which)

    def await_reports(self, count, seconds=30.0):
        wait_until(lambda: len(self.reports()) >= count, seconds, f"{count} reports")

    def await_controller(self, process):
        """Waits until the process runs the study."""
        wait_until(
            lambda: process.poll() is not None
            or (
                f"(pid {self.controller()})" in self.run("status", "edge", check=False).stdout
                and self.is_answered()
            ),
            what="the controller",
        )
        assert process.poll() is None, process.communicate()

    def processes(self, *roles):
        return [each for each in processes_of(self.folder) if not roles or each.role in roles]

    def children(self):
        """Everything of the launches: the launchers, their programs and what those started."""
        return self.processes("launcher", "program", "rank")

    def left(self, *roles):
        """What runs, seen in several looks: a process that forks and ends can escape one."""
        return [each for _ in range(4) for each in self.processes(*roles)]

    def wait_gone(self, seconds):
        """What still runs after so long; returns at once when nothing does."""
        end = time.monotonic() + seconds
        while True:
            left = self.left()
            if not left or time.monotonic() > end:
                return sorted(set(left), key=lambda each: each.pid)
            time.sleep(0.01)

    def socket(self):
        """The controller's socket: the one that programs are told, or the one in the folder."""
        for process in self.processes("program"):
            path = variable_of(process.pid, "SLUICE_SOCKET")
            if path and os.path.exists(path):
                return path
        for path in (self.files / "run").rglob("*"):
            if stat.S_ISSOCK(path.lstat().st_mode):
                return str(path)
        raise AssertionError("there is no socket of a controller")

    def is_answered(self):
        """Whether a controller listens at the socket of the store."""
        with contextlib.suppress(OSError, AssertionError):
            Peer(self.socket()).close()
            return True
        return False

    def kill(self, process):
        """kill -9 of a command that this house started, and of the controller of its store."""
        process.kill()
        process.communicate(timeout=10)

    def hold(self, process):
        """Stops a command, so that it starts no other controller when the test kills this one."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)  # its own pid: not what `send_signal` does

    def finish(self, process, code=0, seconds=40):
        out, err = process.communicate(timeout=seconds)
        assert process.returncode == code, f"exit {process.returncode}\n{out}{err}"
        return out + err

    def interrupt(self, process, times=1):
        """Ctrl-C, and again once the first was heard."""
        process.send_signal(signal.SIGINT)
        if times > 1:
            drains = "SELECT 1 FROM events WHERE kind = 'study_pause_asked'"
            before = process.poll
            wait_until(lambda: before() is not None or self.query(drains), what="draining")
            if process.poll() is None:
                process.send_signal(signal.SIGINT)

    def unplaced(self, text):
        """A text without the paths of this house, in which any word may occur."""
        return text.replace(str(self.folder), "HOUSE")

    def failures(self):
        return dict(self.query("SELECT trial, failures FROM trials"))

    def launches(self, trial=1):
        folder = self.files / f"studies/edge/trials/{trial}"
        return sorted(int(path.name.split("-")[1]) for path in folder.glob("launch-*"))

    def assert_never_twice(self):
        """No two launches of a trial at work at once; no report twice."""
        twice = self.notes("twice")
        assert not twice, f"two launches of one trial at once: {twice}"
        keys = [(trial, work) for trial, work, _ in self.reports()]
        doubled = sorted({key for key in keys if keys.count(key) > 1})
        assert not doubled, f"reports counted twice: {doubled}"

    def assert_complete(self, trials=1, epochs=6):
        """Each trial is complete, with the right value of each epoch, once."""
        states = self.states()
        notes = self.query("SELECT trial, state, failures, note FROM trials")
        assert states == dict.fromkeys(range(1, trials + 1), "complete"), notes
        params = {
            trial: json.loads(text)["x"]
            for trial, text in self.query("SELECT trial, params FROM trials")
        }
        found = sorted((trial, work, metrics["loss"]) for trial, work, metrics in self.reports())
        wanted = [
            (trial, epoch, params[trial] * 100 + epoch)
            for trial in range(1, trials + 1)
            for epoch in range(1, epochs + 1)
        ]
        self.assert_never_twice()
        missing = sorted(set(wanted) - set(found))
        strange = sorted(set(found) - set(wanted))
        assert not missing and not strange, f"missing {missing}, not theirs {strange}"

    def assert_nothing_left(self, seconds=0.5):
        """Nothing of the store runs. What was killed may take a moment to be gone."""
        left = self.wait_gone(seconds)
        assert not left, f"still running: {left}"

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
        kill_all(self.folder)
        for process in self.started:
            process.communicate()
        for disk in self.disks:
            disk.close()
