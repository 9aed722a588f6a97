"""What a user sees while a study runs: on a terminal, in a pipe, in silence."""

import errno
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import textwrap
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SLUICE_BINARY") or str(
    pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin")) / "sluice"
)
ROWS, COLUMNS = 24, 100
LIMIT_S = 60

pytestmark = pytest.mark.skipif(not os.access(BINARY, os.X_OK), reason=f"{BINARY} is not built")


class Screen:
    """As much of a terminal as a view may use. Anything else is an error."""

    SEQUENCE = re.compile(r"\x1b\[(\?25[hl]|\d*[AKJ]|[\d;]*m)")

    def __init__(self, columns=COLUMNS):
        self.columns = columns
        self.lines = [""]
        self.row = 0
        self.column = 0
        self.cursor_shown = True
        self.hidden = 0

    def feed(self, text):
        position = 0
        while position < len(text):
            character = text[position]
            if character == "\x1b":
                match = self.SEQUENCE.match(text, position)
                assert match, f"unknown sequence {text[position:position + 12]!r}"
                self.obey(match.group(1))
                position = match.end()
                continue
            position += 1
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self.down()
            else:
                assert character.isprintable(), f"control character {character!r}"
                self.put(character)
        return self

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def put(self, character):
        if self.column == self.columns:
            self.down()
            self.column = 0
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + character + line[self.column + 1:]
        self.column += 1

    def obey(self, sequence):
        if sequence == "?25l":
            self.cursor_shown = False
            self.hidden += 1
        elif sequence == "?25h":
            self.cursor_shown = True
        elif sequence.endswith("A"):
            self.row = max(0, self.row - int(sequence[:-1] or 1))
        elif sequence.endswith("K"):
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif sequence.endswith("J"):
            self.lines[self.row] = self.lines[self.row][: self.column]
            del self.lines[self.row + 1:]

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "SLUICE_"))}
    env.pop("NO_COLOR", None)
    env.update(TERM="xterm-256color", LANG="C.UTF-8", **more)
    return env


@pytest.fixture
def study(tmp_path):
    """Writes a study of four trials of three epochs of the given length; x = 4 is the best."""

    def write(epoch_s=0.1, name="tiny", fail=""):
        program = (
            f"for e in 1 2 3; do sleep {epoch_s}; "
            f'echo "{{{{\\"epoch\\": $e, \\"score\\": $0.$e}}}}"; done; {fail}'
        )
        (tmp_path / f"{name}.yaml").write_text(
            textwrap.dedent(f"""\
                study: {name}
                program: [sh, -c, '{program}', '{{x}}']
                space: {{x: {{int: [1, 4]}}}}
                sampler: grid
                objective: {{maximize: score}}
                parallelism: 2
                resources: {{cpus: 0.1}}
                retries: 0
                """)
        )
        return tmp_path / f"{name}.yaml"

    return write


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, arguments, cwd, env=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.settings = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [BINARY, *arguments], cwd=cwd, env=env or environment(), stdin=slave, stdout=slave,
            stderr=slave, start_new_session=True,
        )
        self.slave = slave
        self.bytes = b""

    def read_until(self, done, limit_s=LIMIT_S):
        """Reads until `done(text)`, which must come to pass, and returns the text so far."""
        end = time.monotonic() + limit_s
        while not done(self.text):
            assert time.monotonic() < end, f"waited in vain; the screen was\n{self.text[-4000:]}"
            self.read(0.1)
        return self.text

    def read(self, wait_s):
        ready, _, _ = select.select([self.master], [], [], wait_s)
        if not ready:
            return
        try:
            self.bytes += os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise

    def wait(self, limit_s=LIMIT_S):
        """Reads all until the process has ended, and returns its exit status."""
        self.read_until(lambda _: self.process.poll() is not None, limit_s)
        while select.select([self.master], [], [], 0.1)[0]:
            self.read(0)
        return self.process.returncode

    @property
    def text(self):
        return self.bytes.decode("utf-8", errors="replace")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(*arguments, env=None):
        opened.append(Terminal(arguments, tmp_path, env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def run(tmp_path, *arguments, **more):
    return subprocess.run(
        [BINARY, *arguments], cwd=tmp_path, env=environment(), capture_output=True,
        timeout=LIMIT_S, check=False, **more,
    )


def bars(text):
    return re.findall(r"[█░]{5,}", text)


def test_the_region_is_redrawn_in_place(study, terminal):
    view = terminal("tune", str(study()), "--store", "s.db")
    assert view.wait() == 0, view.text
    assert len(bars(view.text)) > 2, "there were frames"
    screen = Screen().feed(view.text)
    assert len(bars(screen.text)) == 1, screen.text
    assert bars(screen.text)[0].strip("█") == "", "the bar is full"
    assert re.search(r"4/4 trials +100%", screen.text), screen.text
    assert re.search(r"best +score 4\.3 \(trial \d, epoch 3\) +x=4", screen.text), screen.text
    assert not re.search(r"^#\d", screen.text, re.MULTILINE), "nothing runs any more"


def test_the_cursor_is_hidden_within_a_frame_only(study, terminal):
    view = terminal("tune", str(study()), "--store", "s.db")
    assert view.wait() == 0
    screen = Screen().feed(view.text)
    assert screen.hidden > 2
    assert screen.cursor_shown
    assert view.text.count("\x1b[?25l") == view.text.count("\x1b[?25h")
    frames = view.text.split("\x1b[?25l")[1:]
    assert all("\x1b[?25h" in frame for frame in frames), "killed between, it is there"


def test_at_most_ten_frames_a_second(study, terminal):
    view = terminal("tune", str(study(epoch_s=0.05)), "--store", "s.db")
    begin = time.monotonic()
    assert view.wait() == 0
    assert view.text.count("\x1b[?25l") <= (time.monotonic() - begin) * 10.6 + 3


def test_what_runs_is_shown(study, terminal):
    view = terminal("tune", str(study(epoch_s=0.5)), "--store", "s.db")
    view.read_until(lambda text: re.search(r"#1.*epoch 1.*score \d\.1.*x=\d", text))
    screen = Screen().feed(view.text)
    assert len(bars(screen.text)) == 1
    assert len(re.findall(r"^#\d", screen.text, re.MULTILINE)) <= 2


def test_a_failed_trial_is_told_above_the_region(study, terminal):
    view = terminal("tune", str(study(fail='test "$0" != 2')), "--store", "s.db")
    view.wait()
    screen = Screen().feed(view.text)
    lines = screen.text.splitlines()
    told = [i for i, line in enumerate(lines) if re.match(r"trial 2 failed", line)]
    bar = [i for i, line in enumerate(lines) if bars(line)]
    assert len(told) == 1 and len(bar) == 1 and told[0] < bar[0], screen.text
    assert "1 failed" in lines[bar[0] + 2]


def test_lines_follow_the_width_of_the_terminal(study, terminal):
    view = terminal("tune", str(study(epoch_s=0.4)), "--store", "s.db")
    view.read_until(bars)
    fcntl.ioctl(view.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 30, 0, 0))
    length = len(view.text)
    assert view.wait() == 0
    last_frame = view.text[length:].split("\x1b[?25l")[-1].split("\x1b[?25h")[0]
    assert all(len(line) < 30 for line in Screen(1000).feed(last_frame).lines), last_frame


def test_ctrl_c_leaves_the_terminal_as_it_was(study, terminal):
    view = terminal("tune", str(study(epoch_s=5)), "--store", "s.db")
    view.read_until(lambda text: "#1" in text)
    view.process.send_signal(signal.SIGINT)
    assert view.wait() == 130, view.text
    screen = Screen().feed(view.text)
    assert screen.cursor_shown
    assert len(bars(screen.text)) == 1, screen.text
    assert termios.tcgetattr(view.slave) == view.settings
    assert "sluice resume tiny" in screen.text


def test_a_killed_controller_leaves_the_cursor(study, terminal):
    view = terminal("tune", str(study(epoch_s=1)), "--store", "s.db")
    view.read_until(bars)
    view.process.kill()
    view.wait()
    assert Screen().feed(view.text).cursor_shown
    assert termios.tcgetattr(view.slave) == view.settings


def test_ascii_where_the_locale_is(study, terminal):
    view = terminal("tune", str(study()), "--store", "s.db", env=environment(LC_ALL="C"))
    assert view.wait() == 0
    assert view.text.isascii()
    assert re.search("#{5,}", Screen().feed(view.text).text)


def test_no_escapes_where_there_is_no_terminal(study, tmp_path):
    result = run(tmp_path, "tune", str(study()), "--store", "s.db")
    assert result.returncode == 0, result.stderr
    assert b"\x1b" not in result.stdout + result.stderr
    assert b"\r" not in result.stdout
    text = result.stdout.decode()
    assert re.search(r"(?m)^\[\d+m?s\] trial \d complete at epoch 3: score \d\.3", text), text
    assert "new best: score" in text
    assert re.search(r"4/4 trials \(100%\), 4 complete", text)
    assert result.stderr == b"", "no log noise"


def test_no_escapes_on_a_terminal_that_cannot(study, terminal):
    view = terminal("tune", str(study()), "--store", "s.db", env=dict(environment(), TERM="dumb"))
    assert view.wait() == 0
    assert "\x1b" not in view.text


def test_no_region_on_a_terminal_of_unknown_kind(study, terminal):
    env = environment()
    del env["TERM"]
    view = terminal("tune", str(study()), "--store", "s.db", env=env)
    assert view.wait() == 0
    assert "\x1b[?25l" not in view.text
    assert "new best" in view.text


def test_plain_on_demand(study, terminal):
    env = environment(NO_COLOR="1")
    view = terminal("tune", str(study()), "--store", "s.db", "--plain", env=env)
    assert view.wait() == 0
    assert "\x1b" not in view.text
    assert "new best" in view.text


def test_quiet_shows_the_outcome_only(study, tmp_path):
    result = run(tmp_path, "tune", str(study()), "--store", "s.db", "-q")
    assert result.returncode == 0, result.stderr
    text = result.stdout.decode()
    assert "new best" not in text
    assert "complete at epoch" not in text
    assert not bars(text)
    assert result.stderr == b""


def test_json_is_an_object_a_line(study, tmp_path):
    result = run(tmp_path, "tune", str(study(epoch_s=0.4)), "--store", "s.db", "--json")
    assert result.returncode == 0, result.stderr
    objects = [json.loads(line) for line in result.stdout.decode().splitlines()]
    progress = [one for one in objects if one["event"] == "progress"]
    assert len(progress) >= 2
    last = progress[-1]
    assert last["state"] == "finished"
    assert last["trials"]["complete"] == 4
    assert last["best"]["value"] == 4.3
    assert last["best"]["params"] == {"x": 4}
    assert result.stderr == b""


def test_a_reader_that_leaves_does_not_end_the_study(study, tmp_path):
    command = f'"{BINARY}" tune "{study()}" --store s.db | true'
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True,
                   timeout=LIMIT_S, check=False)
    result = run(tmp_path, "watch", "tiny", "--store", "s.db")
    assert b"4/4 trials (100%)" in result.stdout, result.stdout + result.stderr


def test_watch_follows_a_study_of_another_process(study, tmp_path, terminal):
    path = study(epoch_s=0.5)
    tune = subprocess.Popen([BINARY, "tune", str(path), "--store", "s.db", "-q"], cwd=tmp_path,
                            env=environment(), stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + LIMIT_S
        while run(tmp_path, "status", "tiny", "--store", "s.db").returncode != 0:
            assert time.monotonic() < end, "the study appears in its store"
        view = terminal("watch", "tiny", "--store", "s.db")
        assert view.wait() == 0, view.text
        screen = Screen().feed(view.text)
        assert screen.cursor_shown
        assert len(bars(screen.text)) == 1, screen.text
        assert re.search(r"best +score 4\.3 \(trial \d, epoch 3\) +x=4", screen.text), screen.text
        assert tune.wait(LIMIT_S) == 0
    finally:
        if tune.poll() is None:
            tune.kill()
            tune.wait()


def test_watch_ends_with_ctrl_c_and_the_study_goes_on(study, tmp_path, terminal):
    tune = terminal("tune", str(study(epoch_s=0.7)), "--store", "s.db")
    tune.read_until(bars)
    view = terminal("watch", "tiny", "--store", "s.db")
    view.read_until(bars)
    view.process.send_signal(signal.SIGINT)
    assert view.wait() == 0, view.text
    assert Screen().feed(view.text).cursor_shown
    assert termios.tcgetattr(view.slave) == view.settings
    assert tune.wait() == 0


def test_watch_says_that_nobody_runs_it(study, tmp_path, terminal):
    tune = terminal("tune", str(study(epoch_s=5)), "--store", "s.db")
    tune.read_until(lambda text: "#1" in text)
    tune.process.send_signal(signal.SIGINT)
    tune.wait()
    result = run(tmp_path, "watch", "tiny", "--store", "s.db")
    assert result.returncode == 0
    assert b"not running: sluice resume tiny" in result.stdout
    assert b"\x1b" not in result.stdout


def test_watch_all_shows_a_line_for_each_study(study, tmp_path, terminal):
    for name, epoch_s in (("tiny", 0.1), ("other", 0.5)):
        run(tmp_path, "tune", str(study(epoch_s, name)), "--store", "s.db", "--detach")
    view = terminal("watch", "--all", "--store", "s.db")
    assert view.wait() == 0, view.text
    screen = Screen().feed(view.text)
    assert screen.cursor_shown
    assert termios.tcgetattr(view.slave) == view.settings
    lines = screen.text.split("\n")
    assert lines.pop() == "" and len(lines) in (1, 2), "the first may have ended before"
    assert re.match(r"other +finished +4/4 trials +score 4\.3 \(trial \d, epoch 3\)", lines[-1])
    bare = re.sub(r"\x1b\[[\d;]*m", "", view.text)
    assert re.search(r"other +running +\d/4 trials +[12] running", bare), view.text
