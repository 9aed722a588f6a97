"""Points 5 and 7: what the machine cannot do is no trial's fault, and nothing is lost unseen.

A small disk is a tmpfs that the test mounts on the files folder; the store itself lies outside, so
that it can be written while the files cannot.
"""

import contextlib
import re
import shutil
import subprocess

import pytest
from edges import IS_ROOT, IS_SOAK, can_mount, wait_until
from house import BINARIES

needs_mount = pytest.mark.skipif(
    not can_mount(), reason="no small disk can be mounted here (that needs root)"
)
soak_only = pytest.mark.skipif(not IS_SOAK, reason="runs with SLUICE_SOAK=1")
MANY = 300 if IS_SOAK else 40
ROOM = f"size={4 + MANY // 10}m"  # of a disk that holds them all; a trial takes about 30 KiB


class Fault:
    """Something that keeps files from being made; `come` and `go` switch it."""

    def __init__(self, edge):
        self.edge = edge
        self.prepare()

    def prepare(self):
        pass


class FullDisk(Fault):
    words = "space"

    def prepare(self):
        self.disk = self.edge.disk(self.edge.files, ROOM)

    def come(self):
        self.disk.fill()

    def go(self):
        self.disk.free()


class NoInodes(FullDisk):
    def prepare(self):
        self.disk = self.edge.disk(self.edge.files, f"{ROOM},nr_inodes={10 * MANY + 2000}")

    def come(self):
        self.disk.fill_inodes()


class ReadOnlyDisk(FullDisk):
    words = "[Rr]ead-only"

    def remount(self, how):
        words = ["mount", "-o", f"remount,{how}", str(self.edge.files)]
        # It is refused while a file is open for writing: the controller may be about to exit.
        wait_until(
            lambda: subprocess.run(words, check=False, capture_output=True).returncode == 0,
            what=f"{self.edge.files} to be remounted ({how})",
        )

    def come(self):
        self.remount("ro")

    def go(self):
        self.remount("rw")


class FileInTheWay(Fault):
    """`studies`, or the folder of the study, is a file."""

    words = "cannot|[Nn]ot a directory|exists|expected a folder"

    def come(self):
        studies = self.edge.files / "studies"
        self.place = studies / "edge" if studies.exists() else studies
        if self.place.exists():
            self.place.rename(self.edge.folder / "aside")
        self.place.parent.mkdir(exist_ok=True)
        self.place.write_text("in the way")

    def go(self):
        self.place.unlink()
        if (self.edge.folder / "aside").exists():
            (self.edge.folder / "aside").rename(self.place)


class Immutable(Fault):
    """Nothing can be made in the folders that there are, not even by root."""

    words = "permitted|denied"

    def change(self, folders, flag, mode):
        for folder in folders:
            if not IS_ROOT:
                folder.chmod(mode)
            elif subprocess.run(
                ["chattr", flag, str(folder)], check=False, capture_output=True
            ).returncode:
                pytest.skip("chattr is not possible here, and root needs no permission")

    def folders(self):
        studies = self.edge.files / "studies"
        return [studies, *(path for path in studies.rglob("*") if path.is_dir())]

    def come(self):
        (self.edge.files / "studies").mkdir(parents=True, exist_ok=True)
        self.change(self.folders(), "+i", 0o555)

    def go(self):
        self.change(self.folders(), "-i", 0o755)


FAULTS = [
    pytest.param(FullDisk, marks=needs_mount),
    pytest.param(NoInodes, marks=needs_mount),
    pytest.param(ReadOnlyDisk, marks=needs_mount),
    FileInTheWay,
    Immutable,
]
# A disk on which a file is open for writing cannot be made read-only.
FAULTS_OF_A_RUNNING_STUDY = [
    pytest.param(FullDisk, "plain", marks=needs_mount),
    pytest.param(NoInodes, "package", marks=[needs_mount, soak_only]),
    pytest.param(FileInTheWay, "plain"),
    pytest.param(Immutable, "package"),
    pytest.param(FullDisk, "package", marks=[needs_mount, soak_only]),
    pytest.param(NoInodes, "plain", marks=[needs_mount, soak_only]),
    pytest.param(FileInTheWay, "package", marks=soak_only),
    pytest.param(Immutable, "plain", marks=soak_only),
]


@contextlib.contextmanager
def fault_of(edge, kind):
    fault = kind(edge)
    try:
        yield fault
    finally:
        with contextlib.suppress(OSError, AttributeError, subprocess.CalledProcessError):
            fault.go()


def assert_paused(edge, done, words):
    """The study waits, says why, and no trial has paid for it."""
    said = edge.unplaced(done.stdout + done.stderr)
    assert done.returncode != 0, f"exit 0: {said}"
    assert re.search(words, said), f"the reason is not said: {said}"
    assert set(edge.failures().values()) <= {0}, edge.failures()
    assert "failed" not in edge.states().values(), edge.states()
    assert edge.query("SELECT finished FROM studies") in ([(0,)], []), "the study is not at its end"


def again(edge):
    """The command that goes on: the study may not even be in the store."""
    return ["resume", "edge"] if edge.query("SELECT 1 FROM studies") else ["tune", "study.yaml"]


@pytest.mark.parametrize("kind", FAULTS)
def test_study_that_cannot_start_its_first_trial(edge, kind):
    edge.study("plain", trials=MANY, retries=0, epochs=1, pause=1)
    with fault_of(edge, kind) as fault:
        fault.come()
        done = edge.run("tune", "study.yaml", "-q", check=False, seconds=30)
        assert_paused(edge, done, fault.words)
        fault.go()
        edge.run(*again(edge), "-q", seconds=30 + MANY)
    edge.assert_complete(MANY, epochs=1)
    assert set(edge.failures().values()) == {0}


@pytest.mark.parametrize("kind, program", FAULTS_OF_A_RUNNING_STUDY)
def test_study_that_can_start_no_further_trial(edge, kind, program):
    """The fault comes while one trial runs. It is not charged to the trials that cannot start.

    The controller may also wait for the running trial, whose end cannot be written down either.
    """
    edge.study(program, trials=12, retries=0, epochs=1, pause=1, gates="2:go", parallelism=1)
    with fault_of(edge, kind) as fault:
        controller = edge.start("tune", "study.yaml", "-q")
        edge.await_reports(1)
        fault.come()
        edge.open_gate()
        try:
            out, err = controller.communicate(timeout=9)
            assert controller.returncode != 0, f"exit 0: {edge.states()} {out}{err}"
            assert edge.query("SELECT finished FROM studies") == [(0,)]
            fault.go()
            edge.run("resume", "edge", "-q", check=False)
            edge.run("retry", "1", check=False)
            edge.run("resume", "edge", "-q", check=False)
        except subprocess.TimeoutExpired:
            fault.go()
            edge.finish(controller)
    states, failures = edge.states(), edge.failures()
    others = range(2, 13)  # trial 1 lost its files: how it ended is not judged
    assert [trial for trial in others if states.get(trial) != "complete"] == [], states
    assert [trial for trial in others if failures[trial]] == [], failures
    edge.assert_never_twice()


@pytest.mark.parametrize("kind", FAULTS)
def test_study_that_cannot_be_resumed_yet(edge, kind):
    """The study is interrupted, resumed while the machine can start nothing, and resumed again."""
    edge.study("plain", trials=3, retries=0, epochs=2, pause=1, gates="1:go")
    with fault_of(edge, kind) as fault:
        controller = edge.start("tune", "study.yaml", "-q")
        edge.await_notes("begin", 1)
        edge.interrupt(controller, times=2)
        edge.finish(controller, 130)
        before = edge.failures()
        fault.come()
        done = edge.run("resume", "edge", "-q", check=False, seconds=30)
        assert_paused(edge, done, fault.words)
        fault.go()
        edge.open_gate()
        edge.run("resume", "edge", "-q")
    assert edge.failures() == before
    edge.assert_complete(3, epochs=2)


def test_status_of_a_paused_study(edge):
    """A paused study is not finished, and can be asked for its state."""
    edge.study("plain", trials=3, retries=0, epochs=1)
    with fault_of(edge, FileInTheWay) as fault:
        fault.come()
        edge.run("tune", "study.yaml", "-q", check=False, seconds=30)
        if edge.query("SELECT 1 FROM studies"):
            assert "finished" not in edge.run("status", "edge").stdout
        fault.go()


def test_launcher_that_is_not_there(edge):
    """A broken installation is the machine's fault, too."""
    binaries = edge.folder / "bin"
    binaries.mkdir()
    shutil.copy(BINARIES / "sluice", binaries / "sluice")
    edge.study(["sh", "-c", 'echo "{{\\"loss\\": {x}}}"'], trials=5, retries=0)
    words = [str(binaries / "sluice"), "tune", "study.yaml", "-q"]
    where = {"cwd": edge.folder, "env": edge.environment(), "capture_output": True, "text": True}
    done = subprocess.run(words, timeout=30, check=False, **where)
    assert_paused(edge, done, "launcher")
    edge.run(*again(edge), "-q")
    assert set(edge.states().values()) == {"complete"} and len(edge.states()) == 5


def test_program_that_is_not_there_is_charged(edge):
    """Only what the machine lacks is the machine's fault: a program that ends badly is charged."""
    edge.study(["sh", "-c", "exit 3"], trials=2, retries=1)
    edge.run("tune", "study.yaml", "-q", code=1)
    assert edge.failures() == {1: 2, 2: 2}
    assert edge.states() == {1: "failed", 2: "failed"}


@needs_mount
def test_everything_on_the_full_disk(edge):
    """Store and files together: nothing can be written down, so nothing is."""
    place = edge.folder / "small"
    disk = edge.disk(place, "size=8m")
    edge.store, edge.files = place / "store.db", place / "store.files"
    edge.study("package", trials=4, retries=0, epochs=6, pause=30, saves="no", parallelism=2)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(3)
    disk.fill()
    out, err = controller.communicate(timeout=40)
    disk.free()
    assert controller.returncode not in (0, -11, -6), out + err
    assert "sluice: " in err, err
    edge.run("resume", "edge", "-q")
    edge.assert_complete(4)


# Point 7: a program without the package, and a disk that is full for a moment.


def assert_told(edge, epochs):
    """All reports, or a trial that is not complete and says why."""
    [(state, note)] = edge.query("SELECT state, note FROM trials")
    works = [work for _, work, _ in edge.reports()]
    if works == list(range(1, epochs + 1)):
        edge.assert_never_twice()
        return
    assert state != "complete", f"complete with the reports {works}, note {note!r}"
    assert note, f"{state}, with the reports {works}, and no word about it"


@needs_mount
@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize(
    "window", [(8, 20), (8, 31), pytest.param((2, 5), marks=soak_only)], ids=str
)
def test_output_in_a_short_disk_full(edge, window, retries):
    """Reports 9 to 20 are printed while the disk is full; or all from 9 on."""
    begin, end = window
    disk = edge.disk(edge.files)
    gates = f"{begin + 1}:full,{end + 1}:free"
    more = "budget: {max: 30}" if retries else ""
    edge.study("plain", epochs=30, pause=5, padding=1500, gates=gates, retries=retries, more=more)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("report", begin)
    edge.await_reports(begin)
    disk.fill()
    edge.open_gate("full")
    edge.await_notes("report", min(end, 30))
    disk.free()
    edge.open_gate("free")
    controller.communicate(timeout=40)
    edge.run("resume", "edge", "-q", check=False)
    assert_told(edge, 30)


@needs_mount
def test_output_in_a_disk_full_that_outlasts_the_program(edge):
    disk = edge.disk(edge.files)
    edge.study("plain", epochs=12, pause=5, padding=1500, gates="5:full", retries=0)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(4)
    disk.fill()
    edge.open_gate("full")
    edge.await_notes("end")
    wait_until(lambda: not edge.processes("program"), what="the end of the program")
    with contextlib.suppress(AssertionError):  # the trial may also wait until the disk has room
        wait_until(lambda: edge.states() != {1: "running"}, seconds=2)
    disk.free()
    controller.communicate(timeout=40)
    edge.run("resume", "edge", "-q", check=False)
    assert_told(edge, 12)


@needs_mount
def test_output_in_a_short_disk_full_without_a_controller(edge):
    """The launcher alone knows what it dropped, and tells the next controller."""
    disk = edge.disk(edge.files)
    edge.study("plain", epochs=12, pause=5, padding=1500, gates="5:full,9:free", retries=0)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(4)
    edge.kill(controller)
    disk.fill()
    edge.open_gate("full")
    edge.await_notes("report", 8)
    disk.free()
    edge.open_gate("free")
    edge.await_notes("end")
    wait_until(lambda: not edge.processes(), what="the end of the launch")
    edge.run("resume", "edge", "-q", check=False)
    assert_told(edge, 12)


@needs_mount
def test_output_beyond_the_cap_is_no_loss(edge):
    """What is dropped because of `output_cap` is no report: the trial is complete."""
    edge.disk(edge.files)
    text = 'head -c 200000 /dev/zero | tr "\\0" x; echo; echo "{{\\"loss\\": 1}}"'
    edge.study(["sh", "-c", text], retries=0, more="output_cap: 20kB")
    edge.run("tune", "study.yaml", "-q")
    assert edge.states() == {1: "complete"}
    assert [work for _, work, _ in edge.reports()] == [1]


def test_reason_names_the_place(edge):
    edge.study("plain", trials=2, retries=0, epochs=1)
    with fault_of(edge, FileInTheWay) as fault:
        fault.come()
        done = edge.run("tune", "study.yaml", "-q", check=False, seconds=30)
        lines = (done.stdout + done.stderr).splitlines()
        told = [line for line in lines if str(edge.files) in line and re.search(fault.words, line)]
        assert told, lines
        fault.go()
