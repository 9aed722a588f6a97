"""A study file that was edited after its study began."""

import signal

from first_study import ONE_REPORT, edit, prepare
from house import wait_until


def test_an_edited_file_is_shown_by_tune(house):
    prepare(house, ONE_REPORT, trials=2)
    house.run("tune", "study.yaml", "-q")
    same = house.run("tune", "study.yaml", code=1).stderr
    assert "go on with it by 'sluice resume first'" in same and "--replace" in same
    edit(house, "trials: 2", "trials: 4")
    message = house.run("tune", "study.yaml", code=1).stderr
    assert "  - trials: 2" in message and "  + trials: 4" in message
    assert "'sluice resume study.yaml' goes on with these changes" in message
    edit(house, "minimize", "maximize")
    message = house.run("tune", "study.yaml", code=1).stderr
    assert "objective cannot change in it" in message
    house.run("tune", "study.yaml", "--replace", "-q")
    assert len(house.states()) == 4
    assert house.json("status")["direction"] == "maximize"


def test_resume_takes_what_can_change(house):
    space = "{x: {float: [0, 1]}, n: {int: [1, 4]}}"
    prepare(house, ONE_REPORT, trials=2, more="parallelism: 1\npolicy: fifo", space=space)
    house.run("tune", "study.yaml", "-q")
    edit(house, "trials: 2", "trials: 5")
    edit(house, "parallelism: 1", "parallelism: 2\nretries: 3\ntimeouts: {grace: 2s}")
    edit(house, "policy: fifo", "policy: lpt\nbudget: {max: 1}")
    refused = house.run("resume", "study.yaml", code=2).stderr
    assert "budget cannot change in a study that has begun" in refused
    assert "  + budget: {max: 1}" in refused
    edit(house, "\nbudget: {max: 1}", "\nshape: [n]")
    refused = house.run("resume", "study.yaml", code=2).stderr
    assert "shape cannot change in a study that has begun" in refused
    edit(house, "\nshape: [n]", "\nbackoff: 2s")
    edit(house, "policy: lpt", "policy: fifo")
    house.run("resume", "./study.yaml", "-q")
    assert len(house.states()) == 5
    assert set(house.states().values()) == {"complete"}
    house.run("doctor", "--replay", "first")
    unchanged = house.run("resume", "study.yaml", code=1).stderr
    assert "is finished (all trials done)" in unchanged
    edit(house, "trials: 5", "trials: 3")
    fewer = house.run("resume", "study.yaml", code=2).stderr
    assert "expected at least 5, since so many were made, found 3" in fewer


def test_resume_by_name_tells_of_an_edited_file(house):
    prepare(house, ONE_REPORT, trials=2)
    house.run("tune", "study.yaml", "-q")
    edit(house, "trials: 2", "trials: 4")
    done = house.run("resume", "first", "--trials", 3, "--plain")
    assert "study.yaml was edited since (trials): 'sluice resume" in done.stderr
    assert len(house.states()) == 3


def test_a_changed_policy_survives_a_restart(house):
    script = """
import time, sluice
trial = sluice.trial()
for epoch in range(1, 100):
    trial.report(epoch, loss=1)
    if trial.should_stop(): break
    time.sleep(0.02)
"""
    prepare(house, script, trials=3, more="parallelism: 1\npolicy: fifo\nbudget: {max: 20}")
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: house.reports(), what="a report")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    edit(house, "policy: fifo", "policy: lpt")
    process = house.start("resume", "study.yaml", "-q")
    wait_until(lambda: len(house.states()) > 1, what="another trial")
    process.kill()
    process.wait()
    house.run("resume", "first", "-q")
    assert set(house.states().values()) == {"complete"}
    house.run("doctor", "--replay", "first")
    house.run("doctor")
