"""Point 10: whatever a trial leaves where its files are read, the controller goes on."""

import os
import signal

import pytest
from edges import wait_until

NAMES = ["spool.jsonl", "stdout", "stderr", "paused", "speaks"]
KINDS = ["fifo", "zero", "folder", "loop"]
LIMIT_S = 20  # a study here takes about a second
# A program that hangs in a file that it spoiled itself is ended: only the controller is looked at.
BOUND = "timeouts: {report: 5s, grace: 300ms}"


def ask_evil(edge, trial, kind, *names):
    (edge.witness / f"evil.{trial}").write_text(" ".join([kind, *names]))


def assert_others_complete(edge, evil, trials):
    states = edge.states()
    others = {trial: states.get(trial) for trial in range(1, trials + 1) if trial not in evil}
    assert set(others.values()) == {"complete"}, states
    assert set(states.values()) <= {"complete", "failed"}, states
    edge.assert_never_twice()


@pytest.mark.parametrize("program", ["package", "plain"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_file_of_a_launch(edge, kind, program):
    """Trials 1 to 5 spoil a file each, after their first epoch; 6 and 7 spoil nothing."""
    for trial, name in enumerate(NAMES, 1):
        ask_evil(edge, trial, kind, name)
    edge.study(program, trials=7, retries=0, epochs=1, pause=1, parallelism=2, more=BOUND)
    edge.run("tune", "study.yaml", "-q", seconds=LIMIT_S)
    assert len(edge.notes("evil")) == 5
    assert_others_complete(edge, range(1, 6), 7)
    assert edge.query("SELECT finished FROM studies") == [(1,)]


@pytest.mark.parametrize("kind", KINDS)
def test_all_files_at_once_in_the_middle_of_a_trial(edge, kind):
    """The trial goes on to report after it; another one runs beside it."""
    ask_evil(edge, 1, kind, *NAMES)
    edge.study("package", trials=3, retries=0, epochs=4, parallelism=2, more=BOUND)
    edge.run("tune", "study.yaml", "-q", seconds=LIMIT_S)
    assert_others_complete(edge, [1], 3)


@pytest.mark.parametrize("program", ["package", "plain", "warm"])
@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_controller_that_takes_over(edge, kind, program):
    """A new controller reads what earlier launches left, with and without their programs."""
    edge.study(program, trials=4, retries=0, epochs=3, gates="2:go", parallelism=4, more=BOUND)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(4)
    edge.kill(controller)
    for trial in (1, 2):
        spoil(edge, trial, kind)
    ended = edge.notes("begin", trial=1)[-1][3]
    os.kill(ended, signal.SIGKILL)
    wait_until(
        lambda: not os.path.exists(f"/proc/{ended}") or not edge.processes("launcher"),
        what="the end of trial 1",
    )
    edge.open_gate()
    edge.run("resume", "edge", "-q", seconds=LIMIT_S)
    assert_others_complete(edge, [1, 2], 4)


def spoil(edge, trial, kind):
    """Does to the trial's files what the trial could do itself."""
    folder = edge.files / f"studies/edge/trials/{trial}/launch-1"
    for name in NAMES:
        odd = folder / f"{name}.odd"
        if kind == "fifo":
            os.mkfifo(odd)
        else:
            odd.symlink_to("/dev/zero")
        odd.rename(folder / name)  # in one step: the program may make the file at any moment


@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_failed_trial_whose_last_words_are_looked_for(edge, kind):
    """The note of a failed trial quotes its standard error."""
    ask_evil(edge, 1, kind, "stderr", "stdout")
    edge.study("plain", trials=2, retries=1, epochs=2, parallelism=1, gates="2:go")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("evil")
    os.kill(edge.notes("begin")[-1][3], signal.SIGSEGV)
    edge.open_gate()
    edge.finish(controller, seconds=LIMIT_S)
    assert_others_complete(edge, [1], 2)


@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_interrupt_with_such_files(edge, kind):
    ask_evil(edge, 1, kind, *NAMES)
    edge.study("package", trials=2, epochs=6, gates="3:go", more=BOUND)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("evil")
    edge.interrupt(controller, times=2)
    controller.communicate(timeout=LIMIT_S)
    assert controller.returncode == 130
    edge.open_gate()
    edge.run("resume", "edge", "-q", seconds=LIMIT_S)
    assert_others_complete(edge, [1], 2)


@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_commands_on_such_a_study(edge, kind):
    """Commands that look at such a study, or delete it, come to an end, too."""
    ask_evil(edge, 1, kind, *NAMES)
    edge.study("plain", trials=2, retries=0, epochs=1, pause=1)
    edge.run("tune", "study.yaml", "-q", seconds=LIMIT_S)
    for words in (
        ["status", "edge"],
        ["best", "edge"],
        ["export", "edge", "--reports"],
        ["doctor"],
        ["delete", "edge", "--yes"],
    ):
        edge.run(*words, check=False, seconds=LIMIT_S)
    assert not (edge.files / "studies/edge").exists()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_logs_of_such_a_trial(edge, kind, stream):
    ask_evil(edge, 1, kind, stream)
    edge.study("plain", retries=0, epochs=1, pause=1)
    edge.run("tune", "study.yaml", "-q", seconds=LIMIT_S, check=False)
    more = ["--stderr"] if stream == "stderr" else []
    said = edge.run("logs", 1, *more, check=False, seconds=5)
    assert len(said.stdout) < 1_000_000


@pytest.mark.parametrize("name", ["claim", "program", "exit", "trial.json", "params.json"])
@pytest.mark.parametrize("kind", ["fifo", "zero"])
def test_files_that_are_ours(edge, kind, name):
    """A trial that spoils what the launcher writes harms itself alone."""
    ask_evil(edge, 1, kind, name)
    edge.study("package", trials=3, retries=0, epochs=2, parallelism=2)
    edge.run("tune", "study.yaml", "-q", seconds=LIMIT_S)
    assert_others_complete(edge, [1], 3)


def test_spool_that_cannot_be_written(edge):
    """The spool is no regular file at the moment when it is to be written."""
    ask_evil(edge, 1, "fifo", "spool.jsonl")
    edge.study("package", trials=2, epochs=3, gates="2:go", retries=2, more=BOUND)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("evil", trial=1)
    edge.kill(controller)
    edge.open_gate()
    edge.await_notes("report", 3, trial=2)
    edge.run("resume", "edge", "-q", seconds=LIMIT_S)
    assert_others_complete(edge, [1], 2)
