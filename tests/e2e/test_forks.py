"""Population-based training: a fork goes on from its parent's state, with its own parameters."""

import json
import os
import random
import signal

import optuna
import pytest
from adversity import slow_disk
from house import python_program, wait_until
from test_crashes import survive

optuna.logging.set_verbosity(optuna.logging.ERROR)

INTERVAL = 4
LAST = 12
KILLS = int(os.environ.get("SLUICE_TEST_KILLS", "12"))

# Its checkpoint holds which trial trained each epoch with which parameter, and it writes that down
# at every report.
TRIAL = """
import json, os, time
import sluice

trial = sluice.trial()
x = sluice.params()["x"]
log = open(os.environ["LOG"] + f".{trial.number}", "a", buffering=1)
saved = sluice.latest_checkpoint()
history = json.loads((saved / "history").read_text()) if saved else []
print(json.dumps({"begin": len(history), "work": trial.work}), file=log)
for epoch in range(len(history) + 1, 13):
    time.sleep(0.01)
    history.append([trial.number, x])
    with sluice.checkpoint(epoch) as folder:
        (folder / "history").write_text(json.dumps(history))
    print(json.dumps({"epoch": epoch, "history": history}), file=log)
    sluice.report(epoch, loss=sum(each for _, each in history) / epoch)
    if sluice.should_stop():
        break
"""

STUDY = """
study: crash
program: {program}
space: {{x: {{float: [1, 100], log: true}}}}
objective: {{minimize: loss}}
sampler: random
stopper: {{name: {stopper}, interval: 4}}
budget: {{max: 12}}
trials: 8
parallelism: {parallelism}
resources: {{cpus: 0.25}}
seed: 11
retries: 0
"""


# Saves many files in its own way. Copying them takes long where syncs are slow; saving does not.
MANY_FILES = """
import json, os, time
import sluice

trial = sluice.trial()
x = sluice.params()["x"]
log = open(os.environ["LOG"] + f".{trial.number}", "a", buffering=1)
folder = sluice.checkpoint_dir()
saved = folder / "history"
history = json.loads(saved.read_text()) if saved.exists() else []
print(json.dumps({"begin": len(history), "work": trial.work}), file=log)
for part in range(30):
    (folder / f"part-{part}").touch()
for epoch in range(len(history) + 1, 13):
    time.sleep(0.1)
    history.append([trial.number, x])
    (folder / "new").write_text(json.dumps(history))
    os.replace(folder / "new", saved)
    sluice.saved(epoch)
    print(json.dumps({"epoch": epoch, "history": history}), file=log)
    sluice.report(epoch, loss=sum(each for _, each in history) / epoch)
    if sluice.should_stop():
        break
"""


def prepare(house, stopper, parallelism=4, program=TRIAL):
    script = python_program(house.write("trial.py", program))
    house.write(
        "study.yaml",
        STUDY.format(program=script, stopper=stopper, parallelism=parallelism),
    )


def logs_of(house, trial):
    path = house.folder / f"log.{trial}"
    if not path.exists():
        return [], {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    begins = [line for line in lines if "begin" in line]
    return begins, {line["epoch"]: line["history"] for line in lines if "epoch" in line}


def assert_forks_are_right(house):
    """Every fork began from its parent's state at the epoch it was forked at. Gives the forks."""
    rows = house.query("SELECT trial, params, attributes, work, best_work, note FROM trials")
    parents = {}
    for trial, params, attributes, work, best_work, _ in rows:
        lineage = json.loads(attributes)
        begins, histories = logs_of(house, trial)
        for epoch, history in histories.items():
            assert len(history) == epoch
            assert history[-1] == [trial, json.loads(params)["x"]], "parameters never change"
        if "parent" not in lineage:
            assert all(owner == trial for history in histories.values() for owner, _ in history)
            continue
        parent, forked_at = lineage["parent"], lineage["forked_at"]
        parents[trial] = parent
        if not begins:
            continue  # made, and never started
        first = begins[0]["begin"]
        assert first == forked_at and begins[0]["work"] == forked_at
        _, before = logs_of(house, parent)
        # With pbt-async a parent can be done before it hears that it is to save.
        assert forked_at > 0 or 12 in before, "these programs save at every epoch"
        for epoch, history in histories.items():
            if forked_at > 0:
                assert history[:first] == before[first], "it goes on from its parent's state"
            assert all(owner == trial for owner, _ in history[first:])
            assert epoch > forked_at
        assert best_work == 0 or best_work > forked_at, "its parent's results are not its own"
        assert work >= forked_at
    return parents


def assert_reports_are_unique(house):
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert len(keys) == len(set(keys)), "a report was counted twice"


@pytest.mark.parametrize("stopper", ["pbt", "pbt-async"])
def test_forks_go_on_from_their_parents(house, stopper):
    prepare(house, stopper)
    house.run("tune", "study.yaml", "-q", LOG=str(house.folder / "log"))
    parents = assert_forks_are_right(house)
    assert_reports_are_unique(house)
    states = house.states()
    assert len(parents) >= 2
    assert len(states) == 8 + len(parents), "forks come on top of the trials"
    assert list(states.values()).count("complete") == 8, "every place runs to the end"
    assert list(states.values()).count("stopped") == len(parents)
    notes = dict(house.query("SELECT trial, note FROM trials WHERE state = 'stopped'"))
    for fork, parent in parents.items():
        assert f"replaced by trial {fork}, a fork of trial {parent}" in notes.values()
    house.run("doctor", "--replay", "crash")
    if stopper == "pbt":
        # Of eight, two lose at each of the two intervals; parents have saved there.
        assert len(parents) == 4
        forked = house.query("SELECT attributes FROM trials WHERE trial > 8")
        assert sorted(json.loads(each)["forked_at"] for (each,) in forked) == [
            4,
            4,
            8,
            8,
        ]


@pytest.mark.parametrize("stopper", ["pbt", "pbt-async"])
def test_forks_survive_a_killed_controller(house, stopper):
    prepare(house, stopper)
    survive(house, KILLS, random.Random(f"forks {stopper}"))
    parents = assert_forks_are_right(house)
    assert_reports_are_unique(house)
    states = house.states()
    assert len(states) == 8 + len(parents)
    assert set(states.values()) == {"complete", "stopped"}
    assert list(states.values()).count("complete") == 8
    house.run("doctor", "--replay", "crash")
    assert not list(house.files.glob("studies/crash/trials/*/checkpoint.copying"))
    if stopper == "pbt":
        assert len(parents) == 4


def test_a_long_copy_holds_up_neither_other_trials_nor_the_end(house):
    prepare(house, "pbt-async", program=MANY_FILES)
    log = str(house.folder / "log")
    controller = house.start("tune", "study.yaml", "-q", LOG=log, **slow_disk(house, 200))

    def copies():
        return {*house.files.glob("studies/crash/trials/*/checkpoint.copying")}

    (copy, *_) = wait_until(copies, what="a copy")
    before = len(house.reports())
    wait_until(lambda: len(house.reports()) > before + 5, what="reports of other trials")
    assert copy in copies(), "it still goes on"
    controller.send_signal(signal.SIGINT)
    _, errors = controller.communicate(timeout=10)
    assert controller.returncode == 130, errors
    assert not copies()
    house.run("resume", "crash", "-q", LOG=log)
    parents = assert_forks_are_right(house)
    assert_reports_are_unique(house)
    assert list(house.states().values()).count("complete") == 8
    assert len(parents) >= 1
    house.run("doctor", "--replay", "crash")


def test_a_killed_controller_does_not_change_who_is_forked(house, tmp_path_factory):
    """What synchronous PBT does follows from the values alone."""
    from house import House

    prepare(house, "pbt")
    survive(house, KILLS, random.Random("forks again"))
    other = House(tmp_path_factory.mktemp("undisturbed"))
    prepare(other, "pbt", parallelism=8)
    other.run("tune", "study.yaml", "-q", LOG=str(other.folder / "log"))

    def shape(where):
        rows = where.query("SELECT params, best_value FROM trials WHERE state = 'complete'")
        return sorted((json.loads(params)["x"], value) for params, value in rows)

    # A fork's number, and so its draw, depends on the order of the losers alone.
    assert shape(house) == shape(other)


NEVER_SAVES = """
import sluice
x = sluice.params()["x"]
for epoch in range(1, 13):
    sluice.report(epoch, loss=x)
    if sluice.should_stop():
        break
"""


def test_without_checkpoints_forks_train_from_scratch_and_say_so(house):
    prepare(house, "pbt-async", program=NEVER_SAVES)
    house.run("tune", "study.yaml", "-q")
    forks = house.query(
        "SELECT trial, note FROM trials WHERE state = 'complete' AND attributes LIKE '%parent%'"
    )
    assert forks
    firsts = {trial: work for trial, work, _ in reversed(house.reports())}
    for trial, note in forks:
        assert "trains from scratch" in note and "has no checkpoint" in note
        assert firsts[trial] == 1


def test_forks_go_to_optuna_with_their_lineage(house):
    prepare(house, "pbt")
    house.run("tune", "study.yaml", "-q", LOG=str(house.folder / "log"))
    house.run("export", "crash", "--format", "optuna", "-o", "optuna.db")
    study = optuna.load_study(study_name="crash", storage=f"sqlite:///{house.folder / 'optuna.db'}")
    assert len(study.trials) == 12
    forks = [trial for trial in study.trials if "parent" in trial.user_attrs]
    assert len(forks) == 4
    for trial in forks:
        assert trial.user_attrs["forked_at"] in (4, 8)
        assert min(trial.intermediate_values) > trial.user_attrs["forked_at"]
    rows = house.run("export", "crash", "--format", "jsonl").stdout.splitlines()
    lineages = [json.loads(row)["attributes"] for row in rows]
    assert sum("parent" in lineage for lineage in lineages) == 4
    assert "attributes_parent" in house.run("export", "crash").stdout.splitlines()[0]
    best = house.json("best", "crash")
    assert study.best_value == pytest.approx(
        best["best"]["value"] if "best" in best else best["value"]
    )
