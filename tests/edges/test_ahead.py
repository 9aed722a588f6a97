"""Point 6: a checkpoint is never ahead of what was reported.

The controller is killed, the trial trains on, reports and saves, and is killed too. The next
launch goes on from the checkpoint; every epoch must be among the reports all the same.
"""

import random
import signal
import time

import pytest
from edges import IS_SOAK, Edge, wait_until

BUDGET = "budget: {max: 12}"


def kill_trial(edge, victims="program"):
    for role in victims.split():
        for process in edge.processes(role):
            process.signal(signal.SIGKILL)
    wait_until(lambda: not edge.children(), what="the end of the launch")


def train_alone(edge, kind, last, kill=None, trials=1, **settings):
    """Epochs 1 and 2 with a controller; 3 to `last` without; then the trial is killed."""
    gates = f"3:alone,{last + 1}:together"
    edge.study(kind, epochs=12, pause=5, gates=gates, trials=trials, **settings)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(2 * trials)
    (kill or edge.kill)(controller)
    edge.open_gate("alone")
    word = "saved" if settings.get("saves") != "no" else "report"
    edge.await_notes(word, last * trials)
    edge.await_notes("report", last * trials)
    return controller


@pytest.mark.parametrize("last", [5, 10, 12])
@pytest.mark.parametrize("order", ["report", "save"])
@pytest.mark.parametrize("more", [BUDGET, ""], ids=["budget", "endless"])
def test_trial_killed_while_no_controller_lives(edge, last, order, more):
    """In either order of reporting and saving, with an end that the study knows or not."""
    train_alone(edge, "package", last, order=order, more=more)
    kill_trial(edge)
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(epochs=12)
    [(work,)] = edge.query("SELECT work FROM trials")
    assert work == 12


@pytest.mark.parametrize("victims", ["launcher program", "program launcher"])
def test_trial_and_launcher_killed(edge, victims):
    train_alone(edge, "package", 8, more=BUDGET)
    kill_trial(edge, victims)
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(epochs=12)


@pytest.mark.parametrize("last", [8, 12])
def test_program_that_saves_in_its_own_way(edge, last):
    """The program calls `saved`; its folder is its own, and nothing puts it back."""
    train_alone(edge, "package", last, saves="own", more=BUDGET)
    kill_trial(edge)
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(epochs=12)


def test_program_that_saves_nothing(edge):
    train_alone(edge, "package", 8, saves="no", more=BUDGET)
    kill_trial(edge)
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(epochs=12)


@pytest.mark.parametrize("last", [8, 12])
def test_warm_worker_killed_while_no_controller_lives(edge, last):
    train_alone(edge, "warm", last, trials=2, parallelism=2, more=BUDGET)
    kill_trial(edge)
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(2, epochs=12)


@pytest.mark.parametrize("last", [8, 12])
def test_controller_that_hangs_and_is_killed(edge, last):
    """The controller lives, but reads nothing: what was sent to it is lost with it."""
    stop = lambda process: process.send_signal(signal.SIGSTOP)  # noqa: E731
    controller = train_alone(edge, "package", last, kill=stop, more=BUDGET)
    for process in edge.processes("program"):
        process.signal(signal.SIGKILL)
    edge.kill(controller)
    wait_until(lambda: not edge.children(), what="the end of the launch")
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(epochs=12)


@pytest.mark.parametrize("seed", range(12 if IS_SOAK else 1))
def test_killed_again_and_again(edge, seed):
    """Controller, then trial, at random instants: each launch trains a little alone."""
    chance = random.Random(f"again and again {seed}")
    edge.study("package", epochs=60, pause=4, retries=100, more="budget: {max: 60}")
    words = ["tune", "study.yaml", "-q"]
    for begun in range(8):
        controller = edge.start(*words)
        wait_until(
            lambda c=controller, n=begun: c.poll() is not None or len(edge.notes("begin")) > n,
            what="the next launch",
        )
        time.sleep(chance.uniform(0, 0.03))
        edge.kill(controller)
        words = ["resume", "edge", "-q"]
        if edge.states() == {1: "complete"}:
            break
        time.sleep(chance.uniform(0, 0.08))
        kill_trial(edge)
    edge.run(*words, check=False)
    edge.assert_complete(epochs=60)


@pytest.mark.parametrize("seed", range(8 if IS_SOAK else 1))
def test_hyperband_finds_the_same_best(edge, tmp_path_factory, seed):
    """What a study comes to does not depend on where its controller and trials were killed."""
    more = "stopper: hyperband\nbudget: {min: 1, max: 9, eta: 3}"
    settings = dict(epochs=9, pause=3, trials=12, retries=100, parallelism=3, more=more)
    edge.study("package", **settings)
    chance = random.Random(f"hyperband {seed}")
    words = ["tune", "study.yaml", "-q"]
    for _ in range(8):
        controller = edge.start(*words)
        wait_until(
            lambda c=controller: c.poll() is not None or edge.processes("program"),
            what="a program",
        )
        time.sleep(chance.uniform(0.02, 0.15))
        edge.kill(controller)
        if edge.query("SELECT 1 FROM studies"):
            words = ["resume", "edge", "-q"]
        time.sleep(chance.uniform(0, 0.05))
        kill_trial(edge)
    edge.run(*words, check=False)
    calm = Edge(tmp_path_factory.mktemp("calm"))
    calm.study("package", **settings)
    calm.run("tune", "study.yaml", "-q")

    def results(where):
        params = dict(where.query("SELECT trial, params FROM trials"))
        states = where.states()
        kept = [(params[t], work, m["loss"]) for t, work, m in where.reports()]
        return sorted(kept), sorted((params[t], state) for t, state in states.items())

    edge.assert_never_twice()
    assert results(edge) == results(calm)
    assert edge.json("best", "edge")["params"] == calm.json("best", "edge")["params"]


def test_notes_of_the_programs_agree_with_the_reports(edge):
    """The second launch goes on from a checkpoint, at most one epoch past what was reported."""
    train_alone(edge, "package", 10, more=BUDGET)
    kill_trial(edge)
    edge.open_gate("together")
    edge.run("resume", "edge", "-q")
    edge.assert_complete(epochs=12)
    begun = [int(note[4]) for note in edge.notes("begin")]
    assert begun[0] == 1 and len(begun) == 2 and 2 <= begun[1] <= 11, begun
