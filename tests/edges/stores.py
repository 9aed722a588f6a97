"""What the tests of copied, moved and linked stores share."""

import subprocess

import pytest
from edges import IS_SOAK, is_alive, wait_until

soak_only = pytest.mark.skipif(not IS_SOAK, reason="runs with SLUICE_SOAK=1")


def start(edge, kind="package", trials=2, **settings):
    """Two trials that have reported once, and wait."""
    edge.study(kind, trials=trials, gates="2:go", **settings)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(trials)
    return controller


def join(edge, *words):
    """A second command for a study that runs: its controller has heard of it, and it looks on."""
    heard = "SELECT 1 FROM events WHERE kind = 'study_resumed'"
    before = len(edge.query(heard))
    command = edge.start("resume", "edge", "-q", *words)
    wait_until(
        lambda: command.poll() is not None or len(edge.query(heard)) > before,
        what="the controller that has heard of the command",
    )
    assert command.poll() is None, command.communicate()
    return command


def copy_to(edge, other, command=("cp", "-r")):
    """Copies a store, with all that lies beside it, to another house."""
    for path in [*edge.folder.glob("store.db*"), edge.files]:
        # A file that goes while it is copied is no matter: a live store is copied.
        subprocess.run([*command, str(path), str(other.folder)], check=False, capture_output=True)


def pids_of_programs(edge):
    return sorted(process.pid for process in edge.processes("program", "launcher"))


def assert_unharmed(edge, pids):
    assert [pid for pid in pids if not is_alive(pid)] == [], "processes of the original are gone"
    assert set(edge.failures().values()) == {0}, "the original was charged a failure"
