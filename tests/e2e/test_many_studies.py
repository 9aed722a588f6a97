"""Several studies on one store, side by side: one controller runs them."""

import random
import signal
import sqlite3
import sys
import time

import pytest
from house import IS_SOAK, wait_until
from many_studies import await_reports, await_state, prepare, reports_of, state_of


def assert_whole(house, name, trials):
    """Each trial reported each epoch once, and the events tell the whole state."""
    keys = sorted((trial, work) for trial, work, _ in reports_of(house, name))
    rows = house.json("trials", name)
    assert all(row["state"] == "complete" for row in rows), rows
    assert keys == [(trial, work) for trial in range(1, trials + 1) for work in (1, 2, 3)]
    replay = house.json("doctor", "--replay", name)["checks"][-1]
    assert replay["state"] == "ok", replay
    assert "replays to the same state" in replay["found"]


def test_two_studies_run_side_by_side(house):
    """One controller, which is gone with the last of them."""
    processes = []
    for name in ("one", "two"):
        prepare(house, name)
        processes.append(house.start("tune", f"{name}.yaml", "-q"))
    await_reports(house, "one", "two")
    rows = house.json("studies")
    assert [row["state"] for row in rows] == ["running", "running"]
    assert {row["pid"] for row in rows} == {house.controller()}
    [beside] = [line for line in house.run("status", "one").stdout.splitlines() if "beside" in line]
    assert beside.split()[2] == "two"
    [other] = house.json("status", "one")["beside"]
    assert other == {**other, "name": "two", "state": "running", "reason": None, "total": 4}
    assert 0 <= other["done"] <= 4
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    wait_until(lambda: house.controller() is None, what="the end of the controller")
    assert not (house.files / "run/controller.sock").exists()
    for name in ("one", "two"):
        assert_whole(house, name, 4)


def test_each_has_its_own_world(house):
    """PATH, a virtual environment and the GPUs are those of the command that handed it over."""
    said = "import os, sys, sluice; open(sys.argv[1], 'w').write(' '.join("
    said += "os.environ.get(name, '-') for name in ('WHO', 'PATH', 'VIRTUAL_ENV')));"
    said += "sluice.report(1, loss=int(sys.argv[2]))"
    processes = []
    for name in ("one", "two"):
        file = str(house.folder / f"{name}.said")
        prepare(house, name, trials=1, program=[sys.executable, "-c", said, file, "{x}"])
        own = {"WHO": name, "PATH": f"/{name}:/usr/bin:/bin", "VIRTUAL_ENV": f"/env/{name}"}
        processes.append(
            house.start("tune", f"{name}.yaml", "-q", CUDA_VISIBLE_DEVICES=name, **own)
        )
    for name, process in zip(("one", "two"), processes, strict=True):
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        text = (house.folder / f"{name}.said").read_text()
        assert text == f"{name} /{name}:/usr/bin:/bin /env/{name}"


def test_one_is_paused_and_the_other_goes_on(house):
    for name in ("one", "two"):
        prepare(house, name, trials=6)
    first = house.start("tune", "one.yaml", "-q")
    second = house.start("tune", "two.yaml", "-q")
    await_reports(house, "one", "two")
    first.send_signal(signal.SIGINT)
    assert first.wait(30) == 130
    assert state_of(house, "one") == "paused" and state_of(house, "two") == "running"
    said = house.run("pause", "one", check=False)
    assert said.returncode == 1 and "'one' does not run: there is nothing to pause" in said.stderr
    house.run("resume", "one", "--detach")
    assert state_of(house, "one") == "running"
    assert second.wait(60) == 0
    await_state(house, "one", "finished")
    for name in ("one", "two"):
        assert_whole(house, name, 6)


def test_what_a_running_study_can_be_asked(house):
    """All verbs work on any study while the controller runs."""
    prepare(house, "runs", trials=60, seconds=0.3)
    prepare(house, "rests", trials=1)
    house.run("tune", "rests.yaml", "-q")
    said = house.run("tune", "runs.yaml", "--detach").stdout
    assert said == "runs runs: 'sluice watch runs' shows it, 'sluice pause runs' pauses it\n"
    for name, at_once in (("runs", True), ("rests", False)):
        enqueued = house.json("enqueue", name, "x=7")
        assert enqueued["at_once"] == at_once
        house.run("stop", name, "--trial", "1", check=False)
        wait_until(
            lambda name=name: house.json("trials", name)[0]["state"] in ("stopped", "complete")
        )
    assert house.json("retry", "1", "--study", "runs")["at_once"]
    assert house.json("resume", "runs", "--trials", "61", "--detach")["detached"]
    assert house.json("status", "runs")["trials"]["wanted"] == 61
    house.run("delete", "rests", "--yes")
    assert state_of(house, "rests") is None
    house.run("stop", "runs")
    await_state(house, "runs", "finished")
    prepare(house, "gone", trials=60)
    house.run("tune", "gone.yaml", "--detach")
    house.run("delete", "gone", "--yes")
    assert state_of(house, "gone") is None and not (house.files / "studies/gone").exists()
    wait_until(lambda: house.controller() is None, what="the end of the controller")


def test_a_controller_that_is_killed_is_followed_by_another(house):
    prepare(house, "one", trials=8)
    process = house.start("tune", "one.yaml", "--plain")
    wait_until(lambda: reports_of(house, "one"), what="a report")
    first = house.controller()
    assert house.kill_controller()
    wait_until(lambda: house.controller() not in (None, first), what="another controller")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"has died (process {first} was killed): another one takes over" in out
    assert_whole(house, "one", 8)


def test_after_three_deaths_nothing_is_tried_again(house):
    prepare(house, "one", trials=200)
    process = house.start("tune", "one.yaml", "-q")
    wait_until(lambda: reports_of(house, "one"), what="a report")
    for death in range(3):
        wait_until(house.controller, what=f"controller {death + 1}")
        wait_until((house.files / "run/controller.sock").exists, what="its socket")
        time.sleep(0.3)  # so that the command looks on at it
        assert house.kill_controller()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "has died 3 times within a minute: process" in err
    assert "'sluice resume one' goes on" in err
    assert state_of(house, "one") == "interrupted"
    assert house.controller() is None


def test_interrupted_studies_are_taken_up_together(house):
    """With nobody looking on, studies wait; the next command that needs a controller helps all."""
    for name in ("one", "two"):
        prepare(house, name, trials=5)
        house.run("tune", f"{name}.yaml", "--detach")
    await_reports(house, "one", "two")
    house.kill_controller()
    assert [state_of(house, name) for name in ("one", "two")] == ["interrupted"] * 2
    prepare(house, "three", trials=2)
    house.run("tune", "three.yaml", "-q")
    for name, trials in (("one", 5), ("two", 5), ("three", 2)):
        await_state(house, name, "finished")
        assert_whole(house, name, trials)


def core_seconds(house, name):
    [(busy,)] = house.query(
        "SELECT coalesce(sum(busy_us), 0) FROM trials JOIN studies ON id = study WHERE name = ?",
        name,
    )
    return busy / 1e6


@pytest.mark.parametrize("policy", ["fifo", "confluence"])
def test_weights_divide_the_cores(house, policy):
    """Weights 2 and 1: while both have work, two thirds of the core-seconds are the first's."""
    trials = 100 if IS_SOAK else 24
    for name, weight in (("heavy", 2), ("light", 1)):
        more = f"policy: {policy}"
        program = ["sh", "-c", "sleep 0.5; echo '{{\"loss\": {x}}}'"]
        prepare(house, name, trials=trials, weight=weight, more=more, program=program)
        house.run("tune", f"{name}.yaml", "--detach")
    await_state(house, "heavy", "finished", seconds=300)
    heavy, light = core_seconds(house, "heavy"), core_seconds(house, "light")
    least, most = (0.62, 0.72) if IS_SOAK else (0.57, 0.76)
    assert least <= heavy / (heavy + light) <= most, (heavy, light)
    await_state(house, "light", "finished", seconds=300)


def test_a_study_that_is_added_starts_on_the_next_free_device(house):
    program = ["sh", "-c", "sleep 0.5; echo '{{\"loss\": {x}}}'"]
    prepare(house, "busy", trials=40, program=program)
    house.run("tune", "busy.yaml", "--detach")
    wait_until(lambda: house.query("SELECT 1 FROM trials WHERE state = 'complete'"), what="trials")
    prepare(house, "added", trials=1, program=program)
    asked = time.time()
    house.run("tune", "added.yaml", "-q")
    [(started,)] = house.query(
        "SELECT started_us FROM trials JOIN studies ON id = study WHERE name = 'added'"
    )
    # The devices are busy for at most half a second.
    assert started / 1e6 - asked < 1.5
    house.run("stop", "busy")
    await_state(house, "busy", "finished")


def test_kill_9_with_three_studies(house):
    """Nothing is lost and nothing happens twice, whenever the controller is killed."""
    chance = random.Random(29)
    trials = 40 if IS_SOAK else 6
    kills = 100 if IS_SOAK else 8
    names = ("one", "two", "three")
    for number, name in enumerate(names):
        prepare(house, name, trials=trials, weight=number + 1, seconds=0.05)
        house.run("tune", f"{name}.yaml", "--detach")
    done = 0
    while done < kills:
        time.sleep(0.4 * chance.random())
        done += house.kill_controller()
        unfinished = [name for name in names if state_of(house, name) != "finished"]
        if not unfinished:
            break
        time.sleep(0.1 * chance.random())
        house.run("resume", chance.choice(unfinished), "--detach")
    for name in names:
        await_state(house, name, "finished")
        assert_whole(house, name, trials)
    assert done >= kills / 4
    with sqlite3.connect(house.store) as database:
        [(check,)] = database.execute("PRAGMA integrity_check").fetchall()
    assert check == "ok"
