"""Studies go to Optuna, with the real package on the other side."""

import os
import time
import warnings

import optuna
import pytest
from house import ROOT, House, python_program
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from optuna_files import STATES, copy, curves, load, refused, same, storage

STUDY = """\
study: kinds
program: PROGRAM
space:
  lr: {float: [1.0e-4, 1.0], log: true}
  momentum: {float: [0.0, 0.95], step: 0.1}
  drop: {float: [0.0, 0.5]}
  width: {int: [16, 128], log: true}
  layers: {int: [1, 9], step: 2}
  optimizer: {choice: [sgd, 7, 2.5, true]}
  size: {ordinal: [small, medium, large]}
objective: {minimize: loss}
stopper: asha
budget: {max: 9}
trials: 24
parallelism: 1
retries: 0
seed: 3
environment: {PYTHONPATH: PACKAGE}
"""

SCRIPT = """\
import sluice
params = sluice.params()
number = sluice.trial().number
if number == 5:
    raise SystemExit("trial 5 never works")
sluice.set_attribute("host", "here")
for epoch in range(1, 10):
    loss = 1 / epoch + abs(params["lr"] - 0.1) + params["drop"]
    if epoch == 2:
        loss = float("nan")
    if epoch == 9:
        loss += 0.5  # the best was before
    sluice.report(epoch, loss=loss, accuracy=1 - loss / 4)
    if sluice.should_stop():
        break
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A house with a study that has every kind of parameter and of trial, and its export."""
    house = House(tmp_path_factory.mktemp("optuna"))
    program = python_program(house.write("train.py", SCRIPT))
    text = STUDY.replace("PROGRAM", program).replace("PACKAGE", str(ROOT / "python"))
    house.write("study.yaml", text)
    house.run("tune", "study.yaml", "-q")
    house.run("export", "kinds", "--format", "optuna", "-o", "kinds.db")
    yield house
    house.close()


def test_optuna_sees_the_same_trials(tuned):
    study = load(tuned.folder / "kinds.db", "kinds")
    ours = tuned.json("trials", "kinds")
    assert study.direction == optuna.study.StudyDirection.MINIMIZE
    assert study.metric_names == ["loss"]
    assert [trial.number for trial in study.trials] == list(range(24))
    assert {trial["state"] for trial in ours} == set(STATES), "the study has all kinds of trials"
    reports = curves(tuned, "kinds")
    for mine, theirs in zip(ours, study.trials, strict=True):
        assert theirs.state == STATES[mine["state"]]
        assert theirs.params == mine["params"]
        assert all(
            isinstance(theirs.params[name], type(value)) for name, value in mine["params"].items()
        )
        expected = reports.get(mine["trial"], {})
        assert theirs.intermediate_values.keys() == expected.keys()
        assert all(same(theirs.intermediate_values[work], expected[work]) for work in expected)
        if theirs.state == TrialState.FAIL:
            assert theirs.values is None
            assert "trial 5 never works" in theirs.user_attrs["note"]
        else:
            assert theirs.value == mine["best_value"]
            assert theirs.user_attrs["host"] == "here"
            assert theirs.user_attrs["metrics"].keys() == {"loss", "accuracy"}
        assert theirs.duration.total_seconds() == pytest.approx(mine["busy_s"], abs=1e-5)


def test_the_best_is_the_same(tuned):
    study = load(tuned.folder / "kinds.db", "kinds")
    best = tuned.json("best", "kinds")
    assert best["state"] == "complete" and best["best_value"] != best["value"]
    assert study.best_value == best["best_value"]
    assert study.best_trial.number == best["trial"] - 1
    assert study.best_params == best["params"]


def test_distributions(tuned):
    [trial] = load(tuned.folder / "kinds.db", "kinds").get_trials(states=[TrialState.FAIL])
    assert trial.distributions == {
        "lr": FloatDistribution(1e-4, 1.0, log=True),
        "momentum": FloatDistribution(0.0, 0.9, step=0.1),
        "drop": FloatDistribution(0.0, 0.5),
        "width": IntDistribution(16, 128, log=True),
        "layers": IntDistribution(1, 9, step=2),
        "optimizer": CategoricalDistribution(["sgd", 7, 2.5, True]),
        "size": CategoricalDistribution(["small", "medium", "large"]),
    }


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
    trial.suggest_float("momentum", 0.0, 0.9, step=0.1)
    drop = trial.suggest_float("drop", 0.0, 0.5)
    trial.suggest_int("width", 16, 128, log=True)
    trial.suggest_int("layers", 1, 9, step=2)
    trial.suggest_categorical("optimizer", ["sgd", 7, 2.5, True])
    trial.suggest_categorical("size", ["small", "medium", "large"])
    trial.report(lr + drop, 1)
    return lr + drop


def test_optuna_goes_on_with_the_study(tuned, tmp_path):
    path = copy(tuned.folder / "kinds.db", tmp_path / "more.db")
    sampler = optuna.samplers.TPESampler(seed=1, multivariate=True)
    study = optuna.load_study(storage=storage(path), study_name="kinds", sampler=sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study.optimize(objective, n_trials=5)
        asked = study.ask()
        study.tell(asked, objective(asked))
    assert [trial.number for trial in study.trials] == list(range(30))
    again = load(path, "kinds")
    assert [trial.state for trial in again.trials[24:]] == [TrialState.COMPLETE] * 6
    assert again.best_value == min(
        trial.value for trial in again.get_trials(states=[TrialState.COMPLETE])
    )


def test_waiting_trials_are_run_by_optuna(tuned, tmp_path):
    """`retry` makes a failed trial wait, and the study is exported before it is resumed."""
    house = House(tmp_path)
    copy(tuned.store, house.store)
    house.run("retry", 5, "--study", "kinds")
    house.run("export", "kinds", "--format", "optuna", "-o", "kinds.db")
    study = load(tmp_path / "kinds.db", "kinds")
    [waiting] = study.get_trials(states=[TrialState.WAITING])
    params = house.json("trials", "kinds")[4]["params"]
    assert (waiting.number, waiting.params, waiting.intermediate_values) == (4, {}, {})
    study.optimize(objective, n_trials=1)
    assert study.trials[4].state == TrialState.COMPLETE and study.trials[4].params == params


def test_an_export_replaces_nothing(tuned):
    before = (tuned.folder / "kinds.db").read_bytes()
    said = refused(tuned, "export", "kinds", "--format", "optuna", "-o", "kinds.db", code=1)
    assert "kinds.db: exists already" in said
    assert (tuned.folder / "kinds.db").read_bytes() == before
    said = refused(tuned, "export", "kinds", "--format", "optuna", "-o", "no/kinds.db", code=2)
    assert "make the folder first" in said
    assert not list(tuned.folder.glob("*.db.*")), "nothing half-written is left"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "export: expected a file for --format optuna"),
        (["-o", "-"], "export: expected a file for --format optuna"),
        (["-o", "x.db", "--reports"], "expected no --reports with --format optuna"),
    ],
)
def test_wrong_usage_of_export(tuned, words, said):
    assert said in refused(tuned, "export", "kinds", "--format", "optuna", *words, code=2)


def test_export_in_json(tuned):
    told = tuned.json("export", "kinds", "--format", "optuna", "-o", "json.db")
    assert told == {"study": "kinds", "file": "json.db", "rows": 24}


def test_a_thousand_trials_are_exported_at_once(house):
    script = """\
import sluice
for trial in sluice.trials():
    for epoch in range(1, 21):
        trial.report(epoch, loss=trial.params["x"] / epoch)
"""
    program = python_program(house.write("train.py", script))
    house.write(
        "study.yaml",
        f"study: many\nprogram: {program}\nspace: {{x: {{float: [0, 1]}}}}\n"
        f"objective: {{minimize: loss}}\ntrials: 1000\nbudget: {{max: 20}}\n"
        f"environment: {{PYTHONPATH: {ROOT / 'python'}}}\n",
    )
    house.run("tune", "study.yaml", "-q")
    used = os.times()
    begin = time.monotonic()
    house.run("export", "many", "--format", "optuna", "-o", "many.db")
    took = time.monotonic() - begin
    busy = sum(os.times()[2:4]) - sum(used[2:4])
    assert busy < 1.0, f"took {took:.2f} s, {busy:.2f} s of them busy"
    study = load(house.folder / "many.db", "many")
    assert len(study.trials) == 1000 and len(study.trials[-1].intermediate_values) == 20
    house.run("import", "many.db", "--name", "again")
    assert house.json("best", "again")["best_value"] == study.best_value


def test_a_round_trip_gives_the_same_trials(tuned, tmp_path):
    house = House(tmp_path)
    told = house.json("import", tuned.folder / "kinds.db", "--name", "back")
    assert told == {
        "study": "back",
        "file": str(tuned.folder / "kinds.db"),
        "rows": 24,
        "renamed": {},
    }
    keep = ["trial", "state", "params", "value", "best_value", "best_work", "work", "note"]
    ours, theirs = tuned.json("trials", "kinds"), house.json("trials", "back")
    assert [[trial[key] for key in keep] for trial in theirs] == [
        [trial[key] for key in keep] for trial in ours
    ]
    for mine, other in zip(ours, theirs, strict=True):
        assert other["busy_s"] == pytest.approx(mine["busy_s"], abs=1e-5)
        assert other["attributes"].items() >= mine["attributes"].items()
    before, after = curves(tuned, "kinds"), curves(house, "back")
    assert before.keys() == after.keys()
    for trial, curve in before.items():
        assert curve.keys() == after[trial].keys()
        assert all(same(curve[work], after[trial][work]) for work in curve)
    assert house.json("best", "back")["trial"] == tuned.json("best", "kinds")["trial"]
    status = house.json("status", "back")
    assert (status["state"], status["metric"], status["direction"]) == (
        "finished",
        "loss",
        "minimize",
    )
    assert "replays to the same state" in house.run("doctor", "--replay", "back").stdout
    house.run("export", "back", "--format", "optuna", "-o", "again.db")
    first, second = load(tuned.folder / "kinds.db", "kinds"), load(tmp_path / "again.db", "back")
    for a, b in zip(first.trials, second.trials, strict=True):
        assert (a.state, a.values, a.params) == (b.state, b.values, b.params)
        assert a.distributions == b.distributions
