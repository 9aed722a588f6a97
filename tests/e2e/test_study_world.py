"""The programs of a study get the environment, the umask and the limits of the `tune` or `resume`
that handed the study over, and the store keeps them to itself."""

import os
import resource
import signal
import stat
import subprocess

import pytest
from house import SLUICE, Command, wait_until

STUDY = """
study: {name}
program: [tool, "{{envvar:COLOUR}}", "{{x}}"]
space: {{x: {{int: [0, 99]}}}}
objective: {{minimize: loss}}
trials: {trials}
retries: 0
seed: 3
"""

# Each tool says its name, so that it is seen which PATH was searched.
TOOL = """#!/bin/sh
limits="$(umask) $(ulimit -Sn) $(ulimit -Hn) $(ulimit -Sc)"
echo "{name} $1 $limits $VIRTUAL_ENV ${{HIP_VISIBLE_DEVICES-none}}"
echo "{{\\"loss\\": $2}}"
while test -e "$WAIT_WHILE"; do sleep 0.05; done
"""

SECRET = "hunter2-of-the-environment"


class Terminal:
    """Where a user types: an environment with a virtual environment, a umask and limits."""

    def __init__(self, house, name, umask=0o022, files=(200, 300), dumps=False, **variables):
        self.house = house
        self.umask = umask
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        core = most if dumps else 0
        self.limits = {resource.RLIMIT_NOFILE: files, resource.RLIMIT_CORE: (core, most)}
        virtual = house.folder / name
        (virtual / "bin").mkdir(parents=True)
        tool = virtual / "bin" / "tool"
        tool.write_text(TOOL.format(name=name))
        tool.chmod(0o755)
        self.variables = {
            "PATH": f"{virtual}/bin:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(virtual),
            "COLOUR": name,
            **variables,
        }
        # Other users can never write to what programs make, whatever the umask is.
        mask = f"{umask | stat.S_IWOTH:04o}"
        blocks = "unlimited" if core == resource.RLIM_INFINITY else core // 512
        devices = variables.get("HIP_VISIBLE_DEVICES", "none")
        self.says = f"{name} {name} {mask} {files[0]} {files[1]} {blocks} {virtual} {devices}"

    def _set_limits(self):
        for number, limits in self.limits.items():
            resource.setrlimit(number, limits)

    def start(self, *words):
        process = Command(
            self.house,
            [SLUICE, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.house.folder,
            env=self.house.environment(**self.variables),
            umask=self.umask,
            preexec_fn=self._set_limits,
        )
        self.house.started.append(process)
        return process

    def run(self, *words, code=0):
        process = self.start(*words)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == code, out + errors
        return errors


def prepare(house, name="run", trials=1):
    house.write(f"{name}.yaml", STUDY.format(name=name, trials=trials))


def said(house, name="run", trial=1):
    """What the tool said of its world."""
    output = house.files / f"studies/{name}/trials/{trial}/launch-1/stdout"
    return output.read_text().splitlines()[0]


def world_file(house, name="run"):
    return house.files / f"studies/{name}/world"


def leave_running(house, terminal):
    """A study whose controller was killed while its trial runs on."""
    prepare(house)
    terminal.variables["WAIT_WHILE"] = str(house.write("waits", ""))
    process = terminal.start("tune", "run.yaml", "-q")
    wait_until(lambda: house.reports(), what="a report")
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_each_study_has_its_own_world(house):
    one = Terminal(house, "one", umask=0o027, files=(200, 300), HIP_VISIBLE_DEVICES="0")
    two = Terminal(house, "two", umask=0o077, files=(150, 400), dumps=True, HIP_VISIBLE_DEVICES="1")
    for terminal, name in ((one, "first"), (two, "second")):
        prepare(house, name)
        terminal.run("tune", f"{name}.yaml", "-q")
        assert said(house, name) == terminal.says
    # The launcher's own files have the modes that they always had.
    launch = house.files / "studies/first/trials/1/launch-1"
    assert stat.S_IMODE((launch / "exit").stat().st_mode) == 0o640


def test_resume_takes_the_new_world(house):
    prepare(house)
    first, then = Terminal(house, "first"), Terminal(house, "then", umask=0o077, files=(111, 222))
    first.run("tune", "run.yaml", "-q")
    assert b"COLOUR=first\0" in world_file(house).read_bytes()
    then.run("resume", "run", "--trials", 2, "-q")
    assert said(house, trial=1) == first.says
    assert said(house, trial=2) == then.says
    assert b"COLOUR=then\0" in world_file(house).read_bytes()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids="{:03o}".format)
def test_only_the_user_can_read_the_file(house, umask):
    prepare(house)
    terminal = Terminal(house, "bin", umask=umask)
    for words in (("tune", "run.yaml"), ("resume", "run", "--trials", 2)):
        terminal.run(*words, "-q")
        assert stat.S_IMODE(world_file(house).stat().st_mode) == 0o600
        assert [path.name for path in world_file(house).parent.glob("world*")] == ["world"]


def test_values_of_any_bytes_reach_the_program(house):
    prepare(house)
    terminal = Terminal(house, "bin", ODD=os.fsdecode(b"two\nlines \xff\x80="))
    tool = house.folder / "bin/bin/tool"
    tool.write_text('#!/bin/sh\nprintf %s "$ODD" > odd\necho "{\\"loss\\": $2}"\n')
    terminal.run("tune", "run.yaml", "-q")
    assert (house.folder / "odd").read_bytes() == b"two\nlines \xff\x80="


def test_values_are_in_no_other_file_and_no_export(house):
    prepare(house)
    terminal = Terminal(house, "bin", WANDB_API_KEY=SECRET)
    leave_running(house, terminal)  # SQLite's other files are there too
    holders = [
        path
        for path in [*house.folder.glob("store.db*"), *house.files.rglob("*")]
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert holders == [world_file(house)]
    (house.folder / "waits").unlink()
    terminal.run("resume", "run", "-q")
    exports = [("export", "run", "--format", kind) for kind in ("csv", "jsonl")]
    exports.append(("export", "run", "--format", "optuna", "--output", "run.optuna"))
    for words in (*exports, ("doctor",), ("doctor", "--replay", "run"), ("status", "run")):
        done = house.run(*words)
        assert SECRET not in done.stdout + done.stderr
    assert SECRET.encode() not in (house.folder / "run.optuna").read_bytes()
    assert house.json("doctor")["ok"]
    house.run("delete", "run", "--yes")
    assert not world_file(house).parent.exists()


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"cut"])
def test_a_damaged_file_hinders_neither_stop_nor_resume(house, damage):
    terminal = Terminal(house, "bin")
    leave_running(house, terminal)
    whole = world_file(house).read_bytes()
    world_file(house).write_bytes(whole[: len(whole) // 2] if damage == b"cut" else damage)
    house.run("stop", "run")
    assert house.query("SELECT ending, finished FROM studies") == [("stopped", 1)]
    (house.folder / "waits").unlink()
    terminal.run("resume", "run", "-q")
    assert world_file(house).read_bytes() == whole


def test_a_link_is_not_followed(house):
    terminal = Terminal(house, "bin")
    leave_running(house, terminal)
    other = house.folder / "other"
    world_file(house).rename(other)
    world_file(house).symlink_to(other)
    before = other.read_bytes()
    resuming = terminal.start("resume", "run", "-q")
    wait_until(lambda: not world_file(house).is_symlink(), what="a world of its own")
    (house.folder / "waits").unlink()
    _, errors = resuming.communicate(timeout=60)
    assert resuming.returncode == 0, errors
    assert other.read_bytes() == before
    assert not world_file(house).is_symlink()


def test_a_study_without_the_file_is_stopped(house):
    """As studies of earlier versions are."""
    leave_running(house, Terminal(house, "bin"))
    world_file(house).unlink()
    house.run("stop", "run")
    assert house.query("SELECT ending, finished FROM studies") == [("stopped", 1)]


def test_stop_with_the_file_that_was_kept(house):
    leave_running(house, Terminal(house, "bin"))
    kept = world_file(house).read_bytes()
    house.run("stop", "run", COLOUR="another")
    assert house.query("SELECT ending, finished FROM studies") == [("stopped", 1)]
    assert world_file(house).read_bytes() == kept


def test_a_folder_that_cannot_be_written_is_told(house):
    prepare(house)
    terminal = Terminal(house, "bin")
    (house.files / "studies").mkdir(parents=True)
    folder = world_file(house).parent
    folder.symlink_to(house.folder / "scratch")  # a disk that is not there now
    refused = terminal.run("tune", "run.yaml", "-q", code=1)
    assert f"{world_file(house)}: cannot keep the environment" in refused, refused
    assert not house.query("SELECT 1 FROM studies")
    folder.unlink()
    terminal.run("tune", "run.yaml", "-q")
    assert set(house.states().values()) == {"complete"}
    world_file(house).unlink()
    world_file(house).mkdir()
    refused = terminal.run("resume", "run", "--trials", 2, "-q", code=1)
    assert f"{world_file(house)}: cannot keep the environment" in refused, refused
    assert len(house.states()) == 1
