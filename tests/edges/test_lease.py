"""Point 12: short leases, a controller that loses time, and workers whose controller is gone."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest
from edges import IS_SOAK, Edge, is_alive
from house import SHIM, SLUICE

LEASE = "timeouts: {{lease: {lease}, grace: 500ms}}"


def rest(seconds):
    """Time that the promise is about, not a wait for something."""
    time.sleep(seconds)


def start(edge, kind="package", lease="1s", trials=3, **settings):
    edge.study(
        kind, trials=trials, retries=0, pause=60, epochs=30, more=LEASE.format(lease=lease),
        **settings,
    )
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(2 * trials)
    return controller


def assert_all_well(edge, trials=3):
    edge.assert_complete(trials, epochs=30)
    assert set(edge.failures().values()) == {0}


@pytest.mark.parametrize("kind", ["package", "warm"])
@pytest.mark.parametrize(
    "lease, stop_s, times",
    [("1s", 1.5, 1), ("1s", 0.9, 2), ("1s", 3.0, 1)],
)
def test_controller_that_loses_time(edge, kind, lease, stop_s, times):
    controller = start(edge, kind, lease)
    for _ in range(times):
        controller.send_signal(signal.SIGSTOP)
        rest(stop_s)
        controller.send_signal(signal.SIGCONT)
        rest(0.1)
    edge.finish(controller)
    assert_all_well(edge)


@pytest.mark.parametrize("first", ["controller", "workers"])
def test_machine_that_sleeps(edge, first):
    """All stop at once, as under a lid that is closed; the workers come back a little later."""
    command = start(edge, lease="1s")
    controller = edge.controller()
    everything = [process.pid for process in edge.processes()]
    assert controller in everything
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    rest(1.6)
    order = sorted(everything, key=lambda pid: (pid == controller) == (first == "workers"))
    for pid in order:
        os.kill(pid, signal.SIGCONT)
        rest(0.1 if pid == controller else 0)
    edge.finish(command)
    assert_all_well(edge)


def slow_disk(edge, sync_ms):
    """The controller's syncs take so long; those of the programs do not (see `more`)."""
    if not pathlib.Path(SHIM).exists():
        pytest.skip("the fault shim is not built")
    return {
        "LD_PRELOAD": SHIM,
        "SLUICE_FAULT_UNDER": str(edge.folder),
        "SLUICE_FAULT_SYNC_MS": str(sync_ms),
    }


@pytest.mark.skipif(not IS_SOAK, reason="runs with SLUICE_SOAK=1")
def test_slow_disk_is_not_the_silence_of_workers(edge):
    more = LEASE.format(lease="600ms") + '\nenvironment: {LD_PRELOAD: ""}'
    edge.study("package", trials=1, retries=0, epochs=4, pause=300, saves="no", more=more)
    edge.finish(edge.start("tune", "study.yaml", "-q", **slow_disk(edge, sync_ms=500)))
    edge.assert_complete(epochs=4)
    assert edge.failures() == {1: 0}


def test_controller_that_is_stopped_as_it_adopts(edge):
    """The workers have something to say just then: they wait at a gate for the controller."""
    edge.kill(start(edge, lease="1s", gates="20:go"))
    resumed = edge.start("resume", "edge", "-q")
    edge.await_controller(resumed)
    edge.open_gate()
    resumed.send_signal(signal.SIGSTOP)
    rest(1.5)
    resumed.send_signal(signal.SIGCONT)
    edge.finish(resumed)
    assert_all_well(edge)


def test_controller_whose_starter_is_gone_before_it_is_ready(edge):
    """It has nobody left to tell that it is ready, and goes on with the study."""
    edge.kill(start(edge, trials=2))
    reading, writing = os.pipe()
    os.close(reading)
    words = [SLUICE, "controller", "--log", str(edge.folder / "log")]
    controller = subprocess.Popen(
        words, stdout=writing, stderr=subprocess.DEVNULL, env=edge.environment()
    )
    os.close(writing)
    edge.started.append(controller)
    assert controller.wait(timeout=40) == 0
    assert_all_well(edge, 2)


def test_hung_worker_still_loses_its_lease(edge):
    """The controller forgives its own time, not that of a worker which stays silent after it."""
    controller = start(edge, lease="1s", trials=2)
    victim = edge.notes("begin", trial=1)[0][3]
    os.kill(victim, signal.SIGSTOP)
    controller.send_signal(signal.SIGSTOP)
    rest(1.5)
    controller.send_signal(signal.SIGCONT)
    edge.finish(controller)
    notes = dict(edge.query("SELECT trial, note FROM trials"))
    assert edge.states() == {1: "failed", 2: "complete"}, notes
    assert "lease" in notes[1]


# A controller that is killed right after the end.


def signal_to(pid, word):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, word)


def run_in_slices(edge, process, slice_us):
    """Lets the controller run a little at a time; returns when the end of the study is on disk.

    It is stopped then, a few steps after that commit: most often before it has told its workers.
    """
    controller = edge.controller()
    database = sqlite3.connect(f"file:{edge.store}?mode=ro", uri=True, timeout=0)
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None and is_alive(controller):
        with contextlib.suppress(sqlite3.OperationalError):  # stopped while it held a lock
            if database.execute("SELECT finished FROM studies").fetchall() == [(1,)]:
                break
        signal_to(controller, signal.SIGCONT)
        until = time.perf_counter() + slice_us / 1e6
        while time.perf_counter() < until:
            pass
        signal_to(controller, signal.SIGSTOP)
        slice_us *= 1.0005  # so that it comes to an end on a busy machine, too
    database.close()


@pytest.mark.parametrize("slice_us", [20, 100, 300])
def test_workers_of_a_controller_killed_at_the_end(tmp_path, slice_us):
    """Idle workers do not wait out a lease of a minute for a study that has ended."""
    rounds, trials = (20 if IS_SOAK else 3), 4
    houses = [Edge(tmp_path / str(number)) for number in range(rounds)]
    try:
        for edge in houses:
            edge.study("warm", trials=trials, epochs=1, pause=1, parallelism=2)
            controller = edge.start("tune", "study.yaml", "-q")
            edge.await_reports(trials - 1)
            run_in_slices(edge, controller, slice_us)
            edge.kill(controller)
            assert edge.query("SELECT finished FROM studies") == [(1,)]
        left = [edge.wait_gone(6) for edge in houses]
        assert not any(left), [each for each in left if each]
        for edge in houses:
            edge.assert_complete(trials, epochs=1)
    finally:
        for edge in houses:
            edge.close()


def test_idle_workers_of_a_controller_killed_before_the_end(edge):
    """The workers wait for the next controller. It finds them or starts others: nothing twice."""
    edge.study("warm", trials=4, epochs=4, parallelism=4, gates="4:go", more="")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(12)
    edge.kill(controller)
    edge.open_gate()
    edge.await_notes("end", 4)
    edge.run("resume", "edge", "-q")
    edge.assert_nothing_left(3)
    edge.assert_complete(4, epochs=4)
