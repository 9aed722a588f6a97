"""Plays the controller of a recorded conversation (tests/conversations/README.md)."""

import json
import os
import pathlib
import queue
import select
import socket
import subprocess
import threading
import time

LIMIT_S = 20
ANY = "*"
SCENE = ("version", "trial", "terms", "given")
LEFT_BY_A_LAUNCH = {"spool": "spool.jsonl"}  # names in a conversation, where the file has another


class Mismatch(AssertionError):
    """The client did something else than the conversation says."""


class Conversation:
    """A file of steps: (line number, key, rest)."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.scene = {"trial": "{}", "terms": "{}"}
        self.given = []
        self.steps = []
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            key, colon, rest = line.partition(": ")
            if not colon:
                raise ValueError(f"{self.path.name}:{number}: expected 'KEY: REST', found {line}")
            if key == "given":
                self.given.append(rest)
            elif key in SCENE:
                self.scene[key] = rest
            else:
                self.steps.append((number, key, rest))
        if "version" not in self.scene:
            raise ValueError(f"{self.path.name}: expected a line 'version: 1' or 'version: 2'")

    @property
    def version(self):
        return int(self.scene["version"])


class Player:
    """Starts the driver, and takes the controller's part."""

    def __init__(self, conversation, driver, home, environment):
        self._conversation = conversation
        self._home = pathlib.Path(home)
        self._terms = {"lease_ms": 10_000, "window": 1024}
        self._terms.update(json.loads(conversation.scene["terms"]))
        self._assign = self._filled({"type": "assign", "trial": 7, "launch": 1,
                                     **json.loads(conversation.scene["trial"])})
        self._worker = f"{self._assign['trial']}.{self._assign['launch']}"
        self._socket_path = str(self._home / "controller.sock")
        self._command = [*driver, str(conversation.version)]
        self._environment = environment
        self._driver = None
        self._answers = queue.Queue()
        self._listener = None
        self._connection = None
        self._heard = b""
        self._at = 0  # the step that is played

    def play(self):
        for each in self._conversation.given:
            self._give(each)
        self._listen()
        try:
            while self._at < len(self._conversation.steps):
                number, key, rest = self._conversation.steps[self._at]
                try:
                    self._at += getattr(self, f"_play_{key}")(rest)
                except (Mismatch, OSError, ValueError) as error:
                    where = f"{self._conversation.path.name}:{number}: {key}: {rest}"
                    raise Mismatch(f"{where}\n{error}\n{self._stderr()}") from None
        finally:
            self._clear_away()

    # What each line does; the number of steps that it took.

    def _play_program(self, step):
        if self._driver is None:
            self._start_driver()
        self._driver.stdin.write(step + "\n")
        self._driver.stdin.flush()
        for _, key, _ in self._conversation.steps[self._at + 1:]:
            if key == "answer":
                return 1
            if key == "program":
                break
        self._expect_answer("ok")
        return 1

    def _play_answer(self, expected):
        self._expect_answer(expected)
        return 1

    def _play_controller(self, message):
        self._connection.sendall(_line(self._filled(json.loads(message))))
        return 1

    def _play_worker(self, _):
        expected = []
        for _, key, rest in self._conversation.steps[self._at:]:
            if key != "worker":
                break
            expected.append(self._expected(json.loads(rest)))
        waiting = list(expected)
        while waiting:
            message = self._hear()
            if message is None:
                raise Mismatch(f"expected {waiting[0]}\nfound that the worker hung up")
            candidates = _that_may_be_next(waiting)
            found = next((each for each in candidates if _matches(each, message)), None)
            if found is not None:
                waiting.remove(found)
            elif message["type"] != "heartbeat":
                raise Mismatch(f"expected {' or '.join(map(str, candidates))}\nfound    {message}")
        return len(expected)

    def _play_socket(self, event):
        if event == "accept":
            self._hang_up()
            if not select.select([self._listener], [], [], LIMIT_S)[0]:
                raise Mismatch("the worker did not connect")
            self._connection, _ = self._listener.accept()
            self._connection.settimeout(LIMIT_S)
        elif event == "close":
            self._hang_up()
        elif event == "gone":
            self._listener.close()
            os.unlink(self._socket_path)
            self._listener = None
            self._hang_up()
        elif event == "back":
            self._listen()
        elif event == "closed":
            while (message := self._hear()) is not None:
                if message["type"] != "heartbeat":
                    raise Mismatch(f"found another message: {message}")
            self._hang_up()
        else:
            raise ValueError("expected accept, close, gone, back or closed")
        return 1

    def _play_process(self, event):
        if event == "kill":
            self._driver.kill()
            self._driver.wait(LIMIT_S)
            return 1
        status = int(event.removeprefix("exit "))
        self._driver.stdin.close()
        try:
            found = self._driver.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Mismatch("the driver did not end") from None
        if found != status:
            raise Mismatch(f"the driver ended with status {found}")
        return 1

    def _play_folder(self, rest):
        """What is to be there may take a moment, while the driver runs."""
        taken = [rest]
        launch, *words = rest.split(" ", 2)
        if words[0] == "spool":
            for _, key, more in self._conversation.steps[self._at + 1:]:
                if key != "folder" or not more.startswith(f"{launch} spool "):
                    break
                taken.append(more)
            words[1] = [json.loads(each.split(" ", 2)[2]) for each in taken]
        deadline = time.monotonic() + LIMIT_S
        while (found := self._found_in_folder(launch, *words)) is not None:
            has_ended = self._driver is None or self._driver.poll() is not None
            if has_ended or time.monotonic() > deadline or words[0] == "no":
                raise Mismatch(f"found {found}")
            time.sleep(0.01)
        return len(taken)

    # The parts of a line

    def _found_in_folder(self, launch, name, expected=None):
        """What is there, if it is not what was expected."""
        wanted = expected if name == "no" else name
        path = self._home / launch / LEFT_BY_A_LAUNCH.get(wanted, wanted)
        content = path.read_bytes() if path.exists() else None
        if name == "no":
            return content
        if content is None:
            return f"no file {path.name}"
        if name == "spool":
            found = list(_messages(content))
            is_same = len(found) == len(expected) and all(map(_matches, expected, found))
            return None if is_same else found
        if name == "acknowledged":
            # The file is empty for a moment after it was made.
            return None if content and int(content) == int(expected) else repr(content)
        if name == "conversations":
            return None if len(content) == int(expected) else content
        return None

    def _give(self, what):
        launch, name, content = what.split(" ", 2)
        folder = self._home / launch
        folder.mkdir(exist_ok=True)
        text = "." * int(content) if name == "conversations" else content
        (folder / LEFT_BY_A_LAUNCH.get(name, name)).write_text(text)

    def _filled(self, message):
        """The message with what every message of its kind has."""
        if message["type"] == "welcome":
            return {"version": self._conversation.version, **self._terms, **message}
        if message["type"] != "assign":
            return message
        folder = self._home / f"{message['trial']}.{message['launch']}"
        folder.mkdir(exist_ok=True)
        return {
            "study": "s",
            "params": {"lr": 0.1},
            "work": 0,
            "checkpoint_dir": str(self._home / "checkpoints" / str(message["trial"])),
            "folder": str(folder),
            "seed": 42,
            "unit": "epoch",
            "objective": "loss",
            "direction": "minimize",
            "of": "best",
            **self._terms,
            **message,
        }

    def _expected(self, message):
        if message["type"] != "hello":
            return message
        hello = {"worker": self._worker, "pid": self._driver.pid, "client": ANY, "secret": "5f5f"}
        if message["version"] >= 2:
            hello.update(study="s", several_shapes=False)
        elif "trial" in message:
            hello["study"] = "s"
        return {**hello, **message}

    def _expect_answer(self, expected):
        try:
            answer = self._answers.get(timeout=LIMIT_S)
        except queue.Empty:
            raise Mismatch(f"expected the answer '{expected}', and none came") from None
        is_right = answer == expected
        if expected.split(" ")[0] == "error":
            is_right = answer.startswith("error ") and expected[6:] in answer
        if not is_right:
            raise Mismatch(f"expected the answer '{expected}'\nfound               '{answer}'")

    def _start_driver(self):
        folder = pathlib.Path(self._assign["folder"])
        (folder / "trial.json").write_text(json.dumps(self._assign))
        (folder / "secret").write_text("5f5f")
        self._driver = subprocess.Popen(
            self._command,
            env={
                **self._environment,
                "SLUICE_TRIAL_FILE": str(folder / "trial.json"),
                "SLUICE_SOCKET": self._socket_path,
                "SLUICE_WORKER": self._worker,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=open(self._home / "stderr", "wb"),
            text=True,
        )
        threading.Thread(target=self._read_answers, daemon=True).start()

    def _read_answers(self):
        for line in self._driver.stdout:
            self._answers.put(line.rstrip("\n"))
        self._answers.put("(the driver has ended)")

    def _hear(self):
        """The worker's next message, or None when it has hung up."""
        if self._connection is None:
            return None
        while b"\n" not in self._heard:
            try:
                received = self._connection.recv(1 << 16)
            except TimeoutError:
                raise Mismatch("the worker said nothing more") from None
            except ConnectionError:
                received = b""
            if not received:
                return None
            self._heard += received
        line, self._heard = self._heard.split(b"\n", 1)
        return json.loads(line)

    def _listen(self):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._socket_path)
        self._listener.listen()

    def _hang_up(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._heard = b""

    def _stderr(self):
        path = self._home / "stderr"
        return path.read_text(errors="replace") if path.exists() else ""

    def _clear_away(self):
        self._hang_up()
        if self._listener is not None:
            self._listener.close()
        if self._driver is not None:
            self._driver.kill()
            self._driver.wait(LIMIT_S)


def _line(message):
    return json.dumps(message).encode() + b"\n"


def _messages(spool):
    """Lines that are not messages are skipped."""
    for line in spool.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            pass


def _launch_of(message):
    return (message["trial"], message["launch"]) if "seq" in message else None


def _that_may_be_next(waiting):
    """The first message of each launch, up to the first message that names no launch."""
    found = {}
    for each in waiting:
        launch = _launch_of(each)
        if launch is None:
            return list(found.values()) or [each]
        found.setdefault(launch, each)
    return list(found.values())


def _matches(expected, found):
    if expected == ANY:
        return True
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            _matches(expected[key], found[key]) for key in expected)
    if isinstance(expected, list) and isinstance(found, list):
        return sorted(map(str, expected)) == sorted(map(str, found))
    return expected == found and isinstance(expected, bool) == isinstance(found, bool)
