"""What the end-to-end tests share: the real binary, a store for each test, ways to look into it."""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin"))
SLUICE = str(BINARIES / "sluice")
READING = "check studies status watch trials best logs export doctor".split()
CHANGING = "tune resume pause controller enqueue retry stop delete import".split()
VERBS = [*READING, *CHANGING, *"plan simulate model data".split()]
SHIM = str(BINARIES.parent / "lib/libfault_shim.so")
IS_SOAK = os.environ.get("SLUICE_SOAK") == "1"


def wait_until(condition, seconds=30.0, what="the condition"):
    """Waits for a condition, with a limit: the only way tests here wait."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.005)
    raise AssertionError(f"{what} did not come true within {seconds} s")


class Command(subprocess.Popen):
    """A command that was started, and looks on at a study that the store's controller runs."""

    def __init__(self, house, words, **options):
        self.house = house
        super().__init__(words, **options)

    def send_signal(self, sig):
        """Signals that a process cannot hear are meant for the controller.

        kill -9 is for both, the command first: so nothing starts another controller.
        """
        if sig in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(self.house.controller(), sig)
            return
        super().send_signal(sig)
        if sig == signal.SIGKILL:
            self.wait()
            self.house.kill_controller()


class House:
    """A folder with a store, study files and the command line on them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.store = self.folder / "store.db"
        self.files = self.folder / "store.files"
        self.started = []

    def environment(self, **more):
        return {
            **os.environ,
            "SLUICE_STORE": str(self.store),
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        }

    def run(self, *words, check=True, code=0, seconds=120, **environment):
        done = subprocess.run(
            [SLUICE, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=seconds,
            cwd=self.folder,
            env=self.environment(**environment),
            check=False,
        )
        if check:
            assert done.returncode == code, (
                f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def json(self, *words, **options):
        return json.loads(self.run(*words, "--json", **options).stdout)

    def start(self, *words, **environment):
        process = Command(
            self,
            [SLUICE, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment(**environment),
        )
        self.started.append(process)
        return process

    def controller(self):
        """The pid of the controller of the store; None if none lives."""
        for lock in self.files.glob("run/lock-*"):
            with contextlib.suppress(OSError, ValueError):
                pid, _, purpose = lock.read_text().partition(" ")
                if purpose.strip() == "running studies" and is_controller(int(pid)):
                    return int(pid)
        return None

    def kill_controller(self):
        """kill -9 of the controller. Returns once it is gone, and whether there was one."""
        pid = self.controller()
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_controller(pid), what="the end of the controller")
        return True

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def query(self, sql, *values):
        """The rows, or none if the store or the table is not there yet."""
        if not self.store.exists():
            return []
        try:
            return self._query("ro", sql, values)
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error) and "unable to open" not in str(error):
                raise
        return self._query("rw", sql, values)  # a store that has to be recovered first

    def _query(self, mode, sql, values):
        address = f"file:{self.store}?mode={mode}"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10)) as database:
            try:
                return database.execute(sql, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise

    def reports(self):
        """(trial, work, metrics) of every report, in the order they were written down."""
        rows = self.query("SELECT trial, work, metrics FROM reports ORDER BY seq")
        return [(trial, work, json.loads(metrics)) for trial, work, metrics in rows]

    def states(self):
        return dict(self.query("SELECT trial, state FROM trials"))

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.kill_controller()
        for folder in self.files.glob("studies/*/trials/*/launch-*"):
            for name in ("program", "claim"):
                kill_if_alive(folder / name)


def is_controller(pid):
    """Whether this process is a sluice that runs."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        # The leader of its threads may be gone before the others.
        is_over = fields[0] in "ZX" and len(os.listdir(f"/proc/{pid}/task")) <= 1
        return not is_over and words[1:2] in ([b"controller"], [])
    except (OSError, IndexError):
        return False


def pid_if_alive(record):
    """The process that the record in a launch's folder names, if it runs; else None."""
    try:
        pid, start = record.read_text().split()[:2]
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(pid) if fields[19] == start and fields[0] not in "ZX" else None
    except (OSError, ValueError, IndexError):
        return None


def kill_if_alive(record):
    """Kills the process that the record names. Returns whether there was one."""
    try:
        pid = pid_if_alive(record)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        return pid is not None
    except ProcessLookupError:
        return False


def python_program(script):
    return json.dumps([sys.executable, str(script)])
