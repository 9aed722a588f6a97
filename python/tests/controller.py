"""A small controller for the tests of the client: the controller's side of docs/protocol.md."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
LIMIT_S = 20
CONVERSATION = 1 << 40


def _follows(seq, last):
    """Whether message `seq` may come after message `last`.

    It may if it is the next message of the same process, or the first one of a later process.
    """
    begins = (seq - 1) % CONVERSATION == 0 and seq // CONVERSATION > last // CONVERSATION
    return seq == last + 1 or begins


class Controller:
    """Listens in threads of its own. Tests set how it answers, and can send messages through it.

    `welcomes` says whether it answers a hello, `acks` whether it acknowledges numbered messages.
    `heard` has all messages of all connections. `results` has the committed messages:
    (trial, launch) -> {seq: message}.
    """

    def __init__(self, path, lease_ms=10_000, window=1024):
        self.path = str(path)
        self.terms = {"lease_ms": lease_ms, "window": window}
        self.welcomes = True
        self.acks = True
        # work, or (trial, work) -> message to answer its report with
        self.verdicts = {}
        # Given to a worker that sends `ready`, or to a bundle that has room. When the list is
        # empty, the answer is `exit`.
        self.assignments = []
        self.refusal = None  # the reason with which every hello is refused, if there is one
        self.refused_versions = ()
        self.dismisses = True  # whether an empty bundle gets `exit` when no assignment is left
        self.carried = set()  # the launches of the bundle
        self.capacity = 0  # the capacity of the bundle; 0: the worker speaks version 1
        # The controller gives the bundle no more trials than this at a time, whatever its capacity.
        self.most = 4096
        self.changed = threading.Condition()
        self.heard = []
        self.results = {}
        self.repeated = 0
        self.gaps = []
        self.connections = 0
        self.closed = 0
        self._connection = None
        self._unsent = None  # lines that are held back, to be sent together
        self._listener = None
        self.listen()

    def listen(self):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def go_away(self):
        """Stops listening and breaks the connection, as if the controller had died."""
        listener, self._listener = self._listener, None
        if listener is not None:
            os.unlink(self.path)
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.drop()

    def drop(self):
        with self.changed:
            if self._connection is not None:
                self._connection.shutdown(socket.SHUT_RDWR)

    def send(self, **message):
        with self.changed:
            self._connection.sendall(json.dumps(message).encode() + b"\n")

    def wait(self, condition, limit_s=LIMIT_S):
        with self.changed:
            assert self.changed.wait_for(condition, limit_s), self.heard[-5:]

    def of_type(self, kind):
        return [message for message in list(self.heard) if message["type"] == kind]

    def kinds(self, trial=7, launch=1):
        """The types of a launch's messages, in order."""
        results = self.results.get((trial, launch), {})
        return [results[seq]["type"] for seq in sorted(results)]

    def works(self, trial=7, launch=1):
        results = self.results.get((trial, launch), {})
        return [results[seq]["work"] for seq in sorted(results) if "values" in results[seq]]

    def ack_all(self):
        with self.changed:
            self.acks = True
            for (trial, launch), results in self.results.items():
                self._answer(type="ack", trial=trial, launch=launch, seq=max(results))

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.changed:
                self.connections += 1
                self._connection = connection
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        try:
            for line in connection.makefile("rb"):
                assert len(line) <= 1 << 20
                with self.changed:
                    self._hear(json.loads(line, parse_constant=_no_bare_constants))
                    self.changed.notify_all()
        except OSError:
            pass
        with self.changed:
            self.closed += 1
            if self._connection is connection:
                self._connection = None
            connection.close()
            self.changed.notify_all()

    def _hear(self, message):
        self.heard.append(message)
        kind = message["type"]
        if kind == "hello":
            self._greet(message)
        elif kind == "ready":
            self._answer(**(self.assignments.pop(0) if self.assignments else {"type": "exit"}))
        elif kind == "capacity":
            self.capacity = message["capacity"]
            self.fill()
        elif "seq" in message:
            self._commit(message)

    def _greet(self, hello):
        version = hello["version"]
        if version in self.refused_versions:
            reason = f"expected version 1 of the protocol, found {version}: update the package"
            self._answer(type="refuse", reason=reason)
        elif self.refusal:
            self._answer(type="refuse", reason=self.refusal)
        elif self.welcomes:
            self._unsent = b""  # the welcome and the first assignments are sent in one piece
            self._answer(type="welcome", version=version, **self.terms)
            if version == 2:
                self.capacity = hello["capacity"]
                self.carried = {(each["trial"], each["launch"]) for each in hello["launches"]}
                self.fill()
            unsent, self._unsent = self._unsent, None
            self._send(unsent)

    def fill(self):
        """Assigns as many launches to the bundle as it has room for."""
        while self.assignments and len(self.carried) < min(self.capacity, self.most):
            assign = self.assignments.pop(0)
            self.carried.add((assign["trial"], assign["launch"]))
            self._answer(**{**assign, **self.terms})
        if not self.carried and not self.assignments and self.dismisses and self.capacity:
            self._answer(type="exit")

    def _commit(self, message):
        trial, launch, seq = message["trial"], message["launch"], message["seq"]
        results = self.results.setdefault((trial, launch), {})
        if seq in results:
            assert results[seq] == message
            self.repeated += 1
        elif not _follows(seq, max(results, default=0)):
            self.gaps.append(message)
            return
        results[seq] = message
        names = {"trial": trial, "launch": launch} if self.capacity else {"launch": launch}
        if self.acks:
            self._answer(type="ack", **names, seq=max(results))
        if message["type"] == "report":
            work = message["work"]
            verdict = self.verdicts.get((trial, work)) or self.verdicts.get(work)
            if verdict:
                self._answer(**names, **verdict)
        if self.capacity and message["type"] in ("done", "paused", "failed", "released"):
            self.carried.discard((trial, launch))
            self.fill()

    def _answer(self, **message):
        line = json.dumps(message).encode() + b"\n"
        if self._unsent is None:
            self._send(line)
        else:
            self._unsent += line

    def _send(self, lines):
        if self._connection is not None:
            try:
                self._connection.sendall(lines)
            except OSError:
                pass


class Launch:
    """A script that runs in the environment in which a controller would start it."""

    def __init__(self, home, controller, script, assign=None, **environment):
        self.home = Path(home)
        self.folder = self.home / "launch"
        self.folder.mkdir(exist_ok=True)
        self.assign = assignment(self.home, **(assign or {}))
        self.assign.update(controller.terms if controller else {})
        trial_file = self.home / "trial.json"
        trial_file.write_text(json.dumps(self.assign))
        self.process = subprocess.Popen(
            [sys.executable, "-c", script],
            env={
                **clean_environment(),
                "SLUICE_TRIAL_FILE": str(trial_file),
                "SLUICE_SOCKET": controller.path if controller else str(self.home / "nobody"),
                **environment,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def kill(self):
        """Kills the script and all its children: a living child would keep the pipes open."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate(timeout=LIMIT_S)

    def say(self, text="go"):
        """Writes a line to the script's standard input, so that its input() returns."""
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self, status=0, limit_s=LIMIT_S):
        """Waits until the script ends. Returns the lines that it has printed."""
        out, self.errors = self.process.communicate(timeout=limit_s)
        assert self.process.returncode == status, out + self.errors
        return out.splitlines()

    def wait_until(self, condition):
        """Waits for changes that the script makes to its files."""
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.005)

    def is_marked_paused(self):
        return (self.folder / "paused").exists()

    def spooled(self, folder=None):
        path = (folder or self.folder) / "spool.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def member(home, trial, launch=1, **more):
    """The assignment of a launch that joins a bundle. The launch gets a folder of its own."""
    folder = Path(home) / f"{trial}.{launch}"
    folder.mkdir(exist_ok=True)
    return assignment(home, trial, launch, folder=str(folder), **more)


def assignment(home, trial=7, launch=1, **more):
    home = Path(home)
    return {
        "type": "assign",
        "study": "s",
        "trial": trial,
        "launch": launch,
        "params": {"lr": 0.1, "layers": 3, "name": "é"},
        "work": 0,
        "checkpoint_dir": str(home / "checkpoints" / str(trial)),
        "folder": str(home / "launch"),
        "seed": 42,
        "unit": "epoch",
        "objective": "accuracy",
        **more,
    }


def clean_environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    return {**kept, "PYTHONPATH": str(PACKAGE)}


def run_outside(script, status=0, cwd=None, limit_s=LIMIT_S, **environment):
    """Runs a script without a controller. Returns the lines that it has printed."""
    done = subprocess.run(
        [os.path.abspath(sys.executable), "-c", script],
        cwd=cwd,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=limit_s,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout.splitlines()


def _no_bare_constants(name):
    raise AssertionError(f"{name} is not JSON")
