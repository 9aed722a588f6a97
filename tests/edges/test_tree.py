"""Points 1 and 2: nothing of a launch outlives it, and no launch is started beside another.

The programs here start children in process groups and sessions of their own, as torchrun does.
Every process takes a lock of its launch and notes `twice` where another launch of its trial still
holds one (programs/witness.py).
"""

import contextlib
import glob
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from edges import IS_SOAK, PROGRAMS, is_alive, processes_of, read_bytes, wait_until

# The ways in which a child may escape the end of its launch (programs/rank.py).
SHAPES = ["session", "double", "cleared", "deaf", "group", "stopped", "hopping"]
soak_only = pytest.mark.skipif(not IS_SOAK, reason="runs with SLUICE_SOAK=1")


def some(shapes, always):
    """All shapes in a long run, `always` of them in a normal one."""
    return [
        pytest.param(shape, marks=() if shape in always else soak_only) for shape in shapes
    ]


def start_family(edge, kind="package", ranks=2, shape="session", trials=1, more="", **settings):
    """Starts a study, and waits until the first trial has reported and its children train."""
    edge.study(kind, ranks=ranks, shape=shape, trials=trials, more=more, **settings)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("rank", ranks * min(trials, 4))
    edge.await_reports(1)
    return controller


@pytest.mark.parametrize("shape", SHAPES)
def test_second_interrupt_leaves_no_child(edge, shape):
    controller = start_family(edge, "plain", shape=shape, gates="2:never")
    edge.interrupt(controller, times=2)
    edge.finish(controller, 130)
    edge.assert_nothing_left()
    assert edge.states() == {1: "waiting"}


@pytest.mark.parametrize("kind", ["package", "warm"])
def test_second_interrupt_of_programs_with_the_package(edge, kind):
    controller = start_family(edge, kind, gates="2:never", polite="no", trials=2)
    edge.interrupt(controller, times=2)
    edge.finish(controller, 130)
    edge.assert_nothing_left()
    assert "running" not in edge.states().values()


def test_first_interrupt_leaves_no_child(edge):
    """The program saves and leaves; the children that it forgets are not left to train on."""
    controller = start_family(edge, "package", gates="3:never")
    edge.interrupt(controller)
    edge.finish(controller, 130)
    edge.assert_nothing_left()
    edge.open_gate("never")
    edge.run("resume", "edge", "-q")
    edge.assert_complete()


@pytest.mark.parametrize("kind", ["plain", "package"])
@pytest.mark.parametrize("shape", some(SHAPES, ["session", "double", "cleared", "hopping"]))
def test_program_that_ends_leaves_no_child(edge, kind, shape):
    """Once the end of the trial is on disk, nothing of it runs."""
    controller = start_family(edge, kind, shape=shape, epochs=3)
    wait_until(lambda: edge.states() == {1: "complete"}, what="the end of the trial")
    left = edge.left("rank", "program")
    assert not left, f"the trial is complete, and these run: {left}"
    edge.finish(controller)
    edge.assert_complete(epochs=3)


def test_many_trials_that_leave_daemons(edge):
    """The next trial starts beside no child of the one before; none is left at the end."""
    edge.study("plain", trials=20, ranks=1, shape="double", epochs=1, pause=1)
    edge.run("tune", "study.yaml", "-q")
    edge.assert_nothing_left()
    edge.assert_complete(20, epochs=1)
    assert len(edge.notes("begin")) == 20, "each ran once"


def test_children_of_another_trial_are_left_alone(edge):
    """A launch of one trial ends with its children; the other trial keeps its own to its end."""
    edge.study("package", trials=2, ranks=2, gates="2:go", saves="no")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("rank", 4)
    victim = edge.notes("begin", trial=1)[-1][3]
    others = [note[3] for note in edge.notes("rank", trial=2)]
    os.kill(victim, signal.SIGKILL)
    edge.await_notes("rank", 2, trial=1, launch=2)
    assert all(map(is_alive, others)), "the children of trial 2 went with those of trial 1"
    edge.open_gate()
    edge.finish(controller)
    edge.assert_complete(2)
    assert edge.failures()[2] == 0


def test_bystanders_are_left_alone(edge):
    """A process that knows the store but belongs to no launch is not ours to end."""
    controller = start_family(edge, pause=60)
    bystanders = [
        subprocess.Popen(["sleep", "60"], env=edge.environment(), start_new_session=True),
        subprocess.Popen(
            ["sleep", "60"],
            env=edge.environment(SLUICE_TRIAL="1", SLUICE_LAUNCH="1", SLUICE_STUDY="edge"),
            start_new_session=True,
        ),
    ]
    try:
        edge.kill(controller)
        for launcher in edge.processes("launcher"):
            launcher.signal(signal.SIGKILL)
        edge.run("resume", "edge", "-q")
        edge.assert_complete()
        assert [each.poll() for each in bystanders] == [None, None]
    finally:
        for each in bystanders:
            each.kill()
            each.wait()


# What is killed with kill -9, in this order. A study whose controller is killed is resumed.
VICTIMS = [
    "launcher",
    "program",
    "launcher program",
    "program launcher",
    "controller launcher",
    "launcher controller",
    "controller launcher program",
    "controller program launcher",
]


def kill_in_turn(edge, controller, victims):
    if "controller" in victims:
        edge.hold(controller)
    for role in victims.split():
        for process in edge.processes(role):
            process.signal(signal.SIGKILL)
    if "controller" in victims:
        edge.kill(controller)


def survive(edge, controller, victims, **complete):
    """Kills in the middle of a trial, and expects its end as if nothing had been."""
    kill_in_turn(edge, controller, victims)
    if "controller" in victims:
        edge.run("resume", "edge", "-q")
    else:
        edge.finish(controller)
    edge.assert_nothing_left()
    edge.assert_complete(**complete)


@pytest.mark.parametrize("victims", VICTIMS)
def test_killed_launch_is_gone_before_the_next(edge, victims):
    survive(edge, start_family(edge, pause=60), victims)


@pytest.mark.parametrize("victims", ["launcher", "controller launcher"])
@pytest.mark.parametrize("shape", some(SHAPES[1:], ["double", "deaf"]))
def test_killed_launch_with_children_of_all_shapes(edge, victims, shape):
    if shape == "cleared" and "controller" in victims:
        pytest.skip("out of reach: no living parent of ours, and no environment to know it by")
    survive(edge, start_family(edge, shape=shape, pause=60), victims)


@pytest.mark.parametrize("victims", ["launcher", "controller launcher"])
@pytest.mark.parametrize("kind", ["plain", "warm"])
def test_killed_launch_of_other_programs(edge, kind, victims):
    controller = start_family(edge, kind, pause=60, trials=2)
    survive(edge, controller, victims, trials=2)


def test_warm_worker_on_a_later_trial(edge):
    """The worker was started for trial 1, and is found although it runs a later trial."""
    edge.study("warm", trials=4, ranks=1, parallelism=1, pause=30)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("report", 2, trial=3)
    survive(edge, controller, "controller launcher", trials=4)


@pytest.mark.parametrize("verb", ["stop", "delete"])
@pytest.mark.parametrize("victims", ["controller", "controller launcher"])
def test_stop_and_delete_end_all_that_still_runs(edge, verb, victims):
    more = "timeouts: {grace: 300ms}"
    controller = start_family(edge, gates="2:never", polite="no", more=more)
    kill_in_turn(edge, controller, victims)
    edge.run(verb, "edge", *(["--yes"] if verb == "delete" else []))
    edge.assert_nothing_left()
    if verb == "stop":
        assert edge.states() == {1: "stopped"}


@pytest.mark.parametrize("limit", ["trial: 700ms", "report: 700ms"])
def test_time_out_takes_the_children_along(edge, limit):
    more = f"timeouts: {{{limit}, grace: 100ms}}"
    start = dict(gates="2:never", shape="deaf", retries=1, more=more)
    controller = start_family(edge, "plain", **start)
    edge.await_notes("rank", 2, launch=2)
    wait_until(lambda: edge.states() == {1: "failed"}, what="the end of the trial")
    assert not edge.left("rank", "program")
    edge.finish(controller, 1)
    edge.assert_never_twice()


def test_trial_past_its_budget_takes_the_children_along(edge):
    more = "budget: {max: 3}\ntimeouts: {grace: 200ms}"
    controller = start_family(edge, "plain", epochs=1000, more=more)
    edge.finish(controller)
    edge.assert_nothing_left()
    assert edge.states() == {1: "complete"}
    edge.assert_never_twice()


def test_adopted_trial_that_ends_leaves_no_child(edge):
    """The launch of an earlier controller ends under a later one."""
    controller = start_family(edge, gates="2:go")
    edge.kill(controller)
    resumed = edge.start("resume", "edge", "-q")
    edge.await_controller(resumed)
    edge.open_gate()
    edge.finish(resumed)
    edge.assert_nothing_left()
    edge.assert_complete()
    assert edge.launches() == [1], "it was adopted"


def test_trial_that_ends_without_a_controller_leaves_no_child(edge):
    controller = start_family(edge, gates="2:go")
    edge.kill(controller)
    edge.open_gate()
    edge.await_notes("end")
    launch = edge.files / "studies/edge/trials/1/launch-1"
    wait_until((launch / "exit").exists, what="the launcher's word of the end")
    assert not edge.left("rank", "program"), "the end is on disk, and these run"
    edge.run("resume", "edge", "-q")
    edge.assert_complete()


# The real torchrun. It starts each rank in a session of its own.

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed here"
)


def start_torchrun(edge, backend="", **settings):
    pairs = {"backend": backend, **settings}
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    rank = [str(PROGRAMS / "torch_rank.py"), *(f"{key}={value}" for key, value in pairs.items())]
    edge.study([*run, *rank], more="timeouts: {grace: 1s}")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_notes("rank", 2, seconds=90)
    edge.await_reports(1)
    return controller


def torch_backends():
    return ["", pytest.param("gloo", marks=soak_only)]


@needs_torch
@pytest.mark.parametrize("backend", torch_backends())
def test_torchrun_leaves_no_rank_after_a_second_interrupt(edge, backend):
    controller = start_torchrun(edge, backend, gates="3:never")
    edge.interrupt(controller, times=2)
    edge.finish(controller, 130)
    edge.assert_nothing_left()


@needs_torch
@pytest.mark.parametrize("backend", torch_backends())
@pytest.mark.parametrize(
    "victims",
    ["controller launcher"]
    + [pytest.param(each, marks=soak_only) for each in VICTIMS if each != "controller launcher"],
)
def test_torchrun_that_is_killed_is_gone_before_the_next(edge, victims, backend):
    controller = start_torchrun(edge, backend, pause=200)
    survive(edge, controller, victims)


@needs_torch
@soak_only
def test_torchrun_that_ends_by_itself(edge):
    edge.finish(start_torchrun(edge, "gloo"))
    edge.assert_nothing_left()
    edge.assert_complete()


@needs_torch
@soak_only
@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_torchrun_is_ended_by_stop_and_delete(edge, verb):
    controller = start_torchrun(edge, gates="3:never")
    kill_in_turn(edge, controller, "controller launcher")
    edge.run(verb, "edge", *(["--yes"] if verb == "delete" else []))
    edge.assert_nothing_left()


# Point 2, coarsely: launchers that die at any instant of their first milliseconds.


def new_launchers(controller, seen):
    """Children of the controller that were not there before; much quicker than all of /proc."""
    fresh = []
    for path in glob.glob(f"/proc/{controller}/task/*/children"):
        fresh += [int(pid) for pid in read_bytes(path).split() if int(pid) not in seen]
    seen.update(fresh)
    return fresh


def rest_us(microseconds):
    """Waits without sleeping, which would take longer."""
    end = time.perf_counter() + microseconds / 1e6
    while time.perf_counter() < end:
        pass


def kill_launchers(edge, command, chance, part=0.6, most_us=4000):
    """Kills launchers a random time after they appear, until the study ends."""
    seen, killed, controller = set(), 0, None
    while command.poll() is None:
        controller = controller or edge.controller()
        for pid in new_launchers(controller, seen):
            if chance.random() < part:
                rest_us(chance.uniform(0, most_us))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
    return killed


@pytest.mark.parametrize("kind", ["package", "plain"])
def test_launchers_killed_at_random_instants(edge, kind):
    trials = 120 if IS_SOAK else 10
    chance = random.Random(f"launchers {kind}")
    edge.study(kind, trials=trials, retries=100, ranks=1, epochs=2, pause=5)
    command = edge.start("tune", "study.yaml", "-q")
    killed = kill_launchers(edge, command, chance)
    edge.finish(command)
    edge.assert_nothing_left()
    edge.assert_complete(trials, epochs=2)
    assert killed > trials / 4, "the test killed next to nothing"


@pytest.mark.parametrize("seed", range(20 if IS_SOAK else 2))
def test_controller_and_launcher_killed_at_random_instants(edge, seed):
    """The launcher outlives its controller by less than a millisecond, or the other way round."""
    chance = random.Random(f"controller and launcher {seed}")
    edge.study("package", trials=6, retries=100, ranks=1, epochs=4, pause=15, parallelism=2)
    words = ["tune", "study.yaml", "-q"]
    for _ in range(10):
        command = edge.start(*words)
        seen, controller = set(), None
        while command.poll() is None and not new_launchers(controller, seen):
            controller = controller or edge.controller()
        edge.hold(command)
        rest_us(chance.choice([400, 4000, 40000, 400000]) * chance.random())
        both = [controller, *seen] if controller else []
        chance.shuffle(both)
        for pid in both:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        edge.kill(command)
        if command.returncode == 0:
            break
        if edge.query("SELECT 1 FROM studies"):
            words = ["resume", "edge", "-q"]
    done = edge.run(*words, check=False)
    assert done.returncode == 0 or "is finished (all trials done)" in done.stderr, done.stderr
    edge.assert_nothing_left()
    edge.assert_complete(6, epochs=4)


def test_nothing_of_these_tests_is_left(tmp_path_factory):
    """The check itself sees processes by their environment and by their arguments."""
    folder = tmp_path_factory.mktemp("seen")
    for words, environment in (
        (["sleep", "60"], {"PLACE": f"{folder}/x"}),
        ([sys.executable, "-c", "import time; time.sleep(60)", f"{folder}/x"], {}),
    ):
        process = subprocess.Popen(words, env=environment)
        wait_until(lambda p=process: [e for e in processes_of(folder) if e.pid == p.pid])
        process.kill()
        wait_until(lambda: not processes_of(folder))
        process.wait()
