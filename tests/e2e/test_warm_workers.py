"""Workers that run one trial after another, and go wrong in between."""

from adversity import launch_folder, prepare, slow_disk
from house import wait_until


def test_worker_that_was_sentenced_gets_no_other_trial(house):
    """The worker outlives its time-out's SIGTERM: a trial given to it now would be killed too."""
    prepare(
        house,
        """
import os, signal, time
import sluice
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
for trial in sluice.trials():
    if trial.number == 1:
        while not told:
            time.sleep(0.005)
    for epoch in range(1, 40):
        trial.report(epoch, loss=1, pid=os.getpid())
        if trial.number > 1:
            time.sleep(0.02)
""",
        trials=2,
        more="parallelism: 1\nretries: 0\ntimeouts: {trial: 1500ms, grace: 400ms}",
    )
    house.run("tune", "study.yaml", "-q")
    notes = dict(house.query("SELECT trial, note FROM trials"))
    assert house.states() == {1: "failed", 2: "complete"}, notes
    assert "longer than its time-out" in notes[1]


def test_time_out_of_a_warm_worker_fails_the_right_trial(house):
    prepare(
        house,
        """
import sluice, time
for trial in sluice.trials():
    trial.report(1, loss=1)
    while trial.number == 3:
        time.sleep(0.01)
""",
        trials=6,
        more="parallelism: 2\nretries: 0\ntimeouts: {trial: 600ms, grace: 100ms}",
    )
    house.run("tune", "study.yaml", "-q")
    states = house.states()
    assert states.pop(3) == "failed"
    assert set(states.values()) == {"complete"}


def test_warm_worker_that_dies_or_raises_takes_no_other_trial_with_it(house):
    prepare(
        house,
        """
import os, signal, sluice
for trial in sluice.trials():
    with trial:
        trial.report(1, loss=1)
        if trial.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if trial.number == 4:
            raise ValueError("no luck")
        if trial.number == 6:
            os._exit(3)
""",
        trials=8,
        more="parallelism: 2\nretries: 0",
    )
    house.run("tune", "study.yaml", "-q")
    notes = dict(house.query("SELECT trial, note FROM trials WHERE state = 'failed'"))
    assert set(notes) == {2, 4, 6}
    assert (
        "signal 9" in notes[2] and "ValueError: no luck" in notes[4] and "exit code 3" in notes[6]
    )


def test_warm_worker_that_ignores_the_end(house):
    prepare(
        house,
        """
import signal, time, sluice
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for trial in sluice.trials():
    trial.report(1, loss=1)
while True:
    time.sleep(1)
""",
        trials=3,
        more="parallelism: 1\ntimeouts: {grace: 100ms}",
    )
    house.run("tune", "study.yaml", "-q", seconds=20)
    assert set(house.states().values()) == {"complete"}


def test_worker_has_one_launch_at_a_time_on_disk(house):
    """A start that is decided before a worker's last end is on disk does not go to that worker."""
    prepare(
        house,
        """
import os, time, sluice
for trial in sluice.trials():
    trial.report(1, loss=1)
    while trial.number == 1 and not os.path.exists("go"):
        time.sleep(0.002)
""",
        trials=3,
        more="parallelism: 2",
    )
    slow = slow_disk(house, 250)
    process = house.start("tune", "study.yaml", "-q", **slow)
    wait_until(
        lambda: any(trial == 2 for trial, _, _ in house.reports()), what="the report of trial 2"
    )
    # While the end of trial 2, and the start of trial 3, are being written down.
    house.write("go", "")
    wait_until((launch_folder(house, 3) / "claim").exists, what="trial 3 to be given to somebody")
    process.kill()
    process.communicate()
    house.run("resume", "adv", "-q", seconds=15)
    assert house.states() == {1: "complete", 2: "complete", 3: "complete"}
    assert sorted(trial for trial, _, _ in house.reports()) == [1, 2, 3]
