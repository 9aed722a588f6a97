"""kill -9 of the controller at any instant: no report is lost, none is counted twice."""

import os
import random
import signal
import subprocess

import pytest
from house import python_program, wait_until

KILLS = int(os.environ.get("SLUICE_TEST_KILLS", "12"))
TRIALS = max(24, 2 * KILLS)  # so that a long series finds something to interrupt

# Deterministic: the value at an epoch depends on the parameters and the epoch alone. It writes down
# what it has saved, and from which epoch each launch began.
TRIAL = """
import os, sys, time
import sluice

x = sluice.params()["x"]
number = sluice.trial().number
log = open(os.environ["LOG"] + f".{number}", "a", buffering=1)
saved = sluice.latest_checkpoint()
first = int((saved / "epoch").read_text()) + 1 if saved else 1
print("begin", first, file=log)
for epoch in range(first, 7):
    time.sleep(0.01)
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    print("saved", epoch, file=log)
    sluice.report(epoch, loss=x * 100 + epoch)
    if sluice.should_stop():
        break
"""

STUDY = """
study: crash
program: {program}
space: {{x: {{int: [0, 999]}}}}
objective: {{minimize: loss}}
trials: {trials}
parallelism: {parallelism}
resources: {{cpus: 0.25}}
seed: 11
retries: 0
{more}
"""


def prepare(house, more="", trials=TRIALS, program=TRIAL, parallelism=4):
    script = python_program(house.write("trial.py", program))
    study = STUDY.format(program=script, more=more, trials=trials, parallelism=parallelism)
    house.write("study.yaml", study)


def survive(house, kills, chance):
    """Runs the study to its end under a controller that is killed again and again."""
    words = ["tune", "study.yaml", "-q"]
    for _ in range(kills):
        process = house.start(*words, LOG=str(house.folder / "log"))
        try:
            process.wait(timeout=chance.uniform(0.0, 0.4))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        if process.returncode != -signal.SIGKILL:
            # Finished: in this run, or in the last one just before it was killed.
            assert process.returncode == 0 or "is finished (all trials done)" in said, said
            break
        if house.query("SELECT 1 FROM studies"):
            words = ["resume", "crash", "-q"]
    if process.returncode == -signal.SIGKILL:
        done = house.run(*words, check=False, LOG=str(house.folder / "log"))
        assert done.returncode == 0 or "is finished (all trials done)" in done.stderr, done.stderr


def assert_nothing_lost_or_doubled(house):
    reports = house.reports()
    keys = [(trial, work) for trial, work, _ in reports]
    assert len(keys) == len(set(keys)), "a report was counted twice"
    per_trial = {}
    for trial, work, _ in reports:
        per_trial.setdefault(trial, []).append(work)
    for trial, state in house.states().items():
        works = per_trial.get(trial, [])
        assert works == list(range(1, len(works) + 1)), f"trial {trial} misses a report: {works}"
        if state == "complete":
            assert len(works) == 6
    for log in house.folder.glob("log.*"):
        last_saved = 0
        for word, number in (line.split() for line in log.read_text().splitlines()):
            if word == "begin":
                assert int(number) > last_saved, f"{log.name}: began again before its checkpoint"
            else:
                last_saved = int(number)


# What TPE and BOHB propose depends on the reports so far, so they run one trial at a time.
@pytest.mark.parametrize(
    "sampler, parallelism", [("random", 4), ("grid", 4), ("tpe", 1), ("bohb", 1)]
)
def test_killed_controller_changes_no_result(house, tmp_path_factory, sampler, parallelism):
    more = f"sampler: {sampler}"
    prepare(house, more, parallelism=parallelism)
    chance = random.Random(f"kills {sampler}")
    survive(house, KILLS, chance)
    assert_nothing_lost_or_doubled(house)
    assert set(house.states().values()) == {"complete"}
    assert len(house.states()) == TRIALS

    from house import House

    undisturbed = House(tmp_path_factory.mktemp("undisturbed"))
    prepare(undisturbed, more, parallelism=parallelism)
    undisturbed.run("tune", "study.yaml", "-q", LOG=str(undisturbed.folder / "log"))

    def results(where):
        params = dict(where.query("SELECT trial, params FROM trials"))
        return sorted((params[t], w, m["loss"]) for t, w, m in where.reports())

    assert results(house) == results(undisturbed)


@pytest.mark.parametrize("stopper", ["asha", "asha-promotion", "sha", "hyperband"])
def test_killed_controller_with_early_stopping(house, stopper):
    prepare(house, f"stopper: {stopper}\nbudget: {{min: 1, max: 6, eta: 2}}")
    survive(house, KILLS, random.Random(f"kills {stopper}"))
    assert_nothing_lost_or_doubled(house)
    assert len(house.states()) == TRIALS
    assert "running" not in house.states().values()
    assert "waiting" not in house.states().values()
    assert stopper == "asha-promotion" or "paused" not in house.states().values()


SLOW = """
import os, sys, time
import sluice

print("begin", os.getpid(), flush=True)
for epoch in range(1, 5):
    while not os.path.exists(os.environ["GO"] + f".{epoch}"):
        time.sleep(0.005)
    sluice.report(epoch, loss=epoch)
"""


def test_trials_go_on_without_a_controller_and_are_adopted(house):
    prepare(house, trials=1, program=SLOW)
    go = house.folder / "go"
    controller = house.start("tune", "study.yaml", "-q", GO=str(go))
    house.write("go.1", "")
    wait_until(lambda: len(house.reports()) == 1, what="the first report")
    controller.kill()
    controller.communicate()
    house.write("go.2", "")  # reported while no controller listens
    house.write("go.3", "")
    resumed = house.start("resume", "crash", "-q", GO=str(go))
    wait_until(lambda: len(house.reports()) == 3, what="the reports made in between")
    house.write("go.4", "")
    resumed.communicate(timeout=60)
    assert resumed.returncode == 0
    assert [work for _, work, _ in house.reports()] == [1, 2, 3, 4]
    output = house.files / "studies/crash/trials/1"
    assert [path.name for path in output.glob("launch-*")] == ["launch-1"], "it ran once"
    assert (output / "launch-1/stdout").read_text().count("begin") == 1


def test_trial_that_ended_without_a_controller_is_not_run_again(house):
    prepare(house, trials=1, program=SLOW)
    go = house.folder / "go"
    controller = house.start("tune", "study.yaml", "-q", GO=str(go))
    house.write("go.1", "")
    wait_until(lambda: len(house.reports()) == 1, what="the first report")
    controller.kill()
    controller.communicate()
    for epoch in (2, 3, 4):
        house.write(f"go.{epoch}", "")
    launch = house.files / "studies/crash/trials/1/launch-1"
    wait_until(lambda: (launch / "exit").exists(), what="the end of the trial")
    house.run("resume", "crash", "-q", GO=str(go))
    assert [work for _, work, _ in house.reports()] == [1, 2, 3, 4]
    assert house.states() == {1: "complete"}
    assert not launch.with_name("launch-2").exists()


PLAIN = r"""
for e in 1 2 3 4 5 6; do echo "{{\"epoch\": $e, \"loss\": $e}}"; sleep 0.02; done
"""


def test_plain_programs_survive_too(house):
    house.write(
        "study.yaml",
        f"""
study: crash
program: [sh, -c, '{PLAIN.strip()}', "{{x}}"]
space: {{x: {{int: [0, 9]}}}}
objective: {{minimize: loss}}
trials: 12
seed: 1
retries: 0
parallelism: 4
resources: {{cpus: 0.25}}
""",
    )
    survive(house, KILLS, random.Random("plain"))
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert sorted(keys) == [(trial, work) for trial in range(1, 13) for work in range(1, 7)]


WARM = """
import os, time
import sluice

for trial in sluice.trials():
    for epoch in range(1, 4):
        time.sleep(0.004)
        trial.report(epoch, loss=trial.params["x"] * 100 + epoch)
"""


def test_warm_workers_survive_too(house):
    prepare(house, trials=60, program=WARM)
    survive(house, KILLS, random.Random("warm"))
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert sorted(keys) == [(trial, work) for trial in range(1, 61) for work in range(1, 4)]
    assert set(house.states().values()) == {"complete"}


def test_replay_gives_the_same_state(house):
    prepare(house, "stopper: asha-promotion\nbudget: {min: 1, max: 6, eta: 2}", trials=12)
    survive(house, 4, random.Random("replay"))
    checks = {
        check["check"]: check for check in house.json("doctor", "--replay", "crash")["checks"]
    }
    assert checks["replay"]["state"] == "ok", checks["replay"]
    assert "replays to the same state" in checks["replay"]["found"]
