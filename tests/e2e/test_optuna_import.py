"""Studies come from Optuna, which the real package has made."""

import json
import sqlite3
import warnings

import optuna
import pytest
from optuna.trial import TrialState
from optuna_files import STATES, curves, edited, load, refused, storage


def conditional(trial):
    kind = trial.suggest_categorical("kind", ["tree", "net", None])
    x = trial.suggest_float("x", -1, 1)
    trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    trial.suggest_float("grid", 0, 1, step=0.25)
    trial.suggest_int("seed", 3, 3)  # one value; the name means something in our templates
    if kind == "tree":
        trial.suggest_int("depth", 1, 2 + trial.number)  # a range that grows
    if kind == "net":
        trial.suggest_int("units per layer", 16, 256, log=True)
    trial.set_user_attr("odd", [float("nan"), {"a": "NaN"}])
    for step in range(3):
        trial.report(x - 3 + step, step)
    if trial.number % 5 == 1:
        raise optuna.TrialPruned
    if trial.number % 5 == 2:
        raise RuntimeError("no")
    if trial.number == 3:
        return float("nan")
    return x


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A file that Optuna made, with one study."""
    path = tmp_path_factory.mktemp("theirs") / "theirs.db"
    sampler = optuna.samplers.RandomSampler(seed=7)
    study = optuna.create_study(
        storage=storage(path), study_name="their study", direction="maximize", sampler=sampler
    )
    study.enqueue_trial({"x": -1.5})  # outside of what will be its range
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(conditional, n_trials=15, catch=(RuntimeError,))
        study.enqueue_trial({"x": 0.25, "kind": "net"})
    return path


def test_import_of_a_study_that_optuna_made(house, theirs):
    said = house.run("import", theirs, "--name", "theirs").stdout
    assert "theirs: 16 trials from" in said
    assert "parameter 'units per layer' is called 'units_per_layer' here" in said
    study = load(theirs, "their study")
    trials = house.json("trials", "theirs")
    back = {state: name for name, state in STATES.items()}
    renamed = {"units per layer": "units_per_layer", "seed": "seed_2"}
    for mine, other in zip(trials, study.trials, strict=True):
        state = TrialState.PRUNED if other.state == TrialState.WAITING else other.state
        assert mine["state"] == back[state]
        params = other.params or other.system_attrs["fixed_params"]
        assert mine["params"] == {
            renamed.get(name, name): "None" if value is None else value
            for name, value in params.items()
        }
        if other.state == TrialState.COMPLETE:
            assert mine["best_value"] == mine["value"] == other.value
            assert mine["attributes"] == {"odd": ["NaN", {"a": "NaN"}]}
    assert len({frozenset(trial["params"]) for trial in trials}) >= 3, "some are conditional"
    assert trials[2]["note"] == "failed in Optuna"
    assert trials[15]["note"] == "was waiting in Optuna when it was imported"
    # Steps from 0 are work from 1, and what was returned, being better, comes after them.
    assert list(curves(house, "theirs")[1]) == [1, 2, 3, 4]
    best = house.json("best", "theirs")
    assert (best["trial"] - 1, best["best_value"]) == (study.best_trial.number, study.best_value)
    assert "replays to the same state" in house.run("doctor", "--replay", "theirs").stdout
    assert house.json("status")["name"] == "theirs", "it is the study that was changed last"


def test_what_a_trial_returned_counts_not_what_it_passed_on_the_way(house, tmp_path):
    path = tmp_path / "peak.db"
    study = optuna.create_study(storage=storage(path), study_name="peak", direction="maximize")

    def overfitted(trial):
        x = trial.suggest_float("x", 0, 1)
        for step, value in enumerate([5.0 - trial.number, x]):
            trial.report(value, step)
        return x

    study.optimize(overfitted, n_trials=6)
    house.run("import", path)
    best = house.json("best", "peak")
    assert (best["trial"] - 1, best["best_value"]) == (study.best_trial.number, study.best_value)
    rows = house.run("export", "peak", "--reports", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(row)["metrics"] for row in rows[:3]] == [
        {"intermediate": 5.0},
        {"intermediate": study.trials[0].value},
        {"value": study.trials[0].value},
    ]
    assert all(trial["note"] is None for trial in house.json("trials", "peak"))


def test_an_imported_study_does_not_run(house, theirs):
    house.run("import", theirs, "--name", "theirs")
    before = house.json("trials", "theirs")
    for words in (["resume", "theirs", "--trials", 50], ["retry", 3, "--study", "theirs"]):
        said = refused(house, *words, code=1)
        assert "was imported from Optuna and has no program to run" in said
        assert "warm_start" in said
    assert house.json("trials", "theirs") == before
    assert house.json("status", "theirs")["state"] == "finished"
    house.run("delete", "theirs", "--yes")
    assert house.json("studies") == []


def test_names(house, theirs):
    said = refused(house, "import", theirs, code=2)
    assert "found 'their study' (such as their-study): choose what to call it here" in said
    assert "with --name" in said
    said = refused(house, "import", theirs, "--study", "their studi", "--name", "a", code=2)
    assert "no study 'their studi' (did you mean 'their study'?): it has their study" in said
    assert not house.store.exists(), "nothing is made for a study that is not taken in"
    house.run("import", theirs, "--name", "a")
    said = refused(house, "import", theirs, "--name", "a", code=1)
    assert "a study 'a' is in" in said and "--name" in said
    assert "expected an Optuna storage" in refused(house, "import", code=2)


def test_several_studies_in_a_file(house, tmp_path):
    path = tmp_path / "two.db"
    for name in ("one", "two"):
        study = optuna.create_study(storage=storage(path), study_name=name)
        study.optimize(lambda trial: trial.suggest_int("n", 1, 5), n_trials=3)
    said = refused(house, "import", path, code=2)
    assert "expected one study, found 2: one, two: say which one (--study NAME" in said
    house.run("import", path, "--study", "two")
    assert house.json("trials", "two")[2]["params"].keys() == {"n"}
    optuna.create_study(storage=storage(path), study_name="none")
    said = refused(house, "import", path, "--study", "none", code=2)
    assert "expected a trial with parameters, found none" in said


def test_several_objectives_are_refused(house, tmp_path):
    path = tmp_path / "multi.db"
    study = optuna.create_study(
        storage=storage(path), study_name="multi", directions=["minimize", "maximize"]
    )
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=2)
    said = refused(house, "import", path, code=2)
    assert "expected a study with one objective, found 'multi' with 2" in said


def test_the_direction_comes_along(house, theirs, tmp_path):
    house.run("import", theirs, "--name", "up")
    down = edited(theirs, tmp_path / "d.db", "UPDATE study_directions SET direction = 'MINIMIZE'")
    house.run("import", down, "--name", "down")
    assert house.json("status", "up")["direction"] == "maximize"
    assert house.json("status", "down")["direction"] == "minimize"
    assert house.json("best", "down")["best_value"] < house.json("best", "up")["best_value"]


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("UPDATE version_info SET schema_version = 11", 1, "found schema 11: bring it forward"),
        ("UPDATE alembic_version SET version_num = 'v2.6.0.a'", 1, "found schema 12 (v2.6.0.a)"),
        ("DROP TABLE alembic_version", 1, "found an older one: bring it forward with 'optuna sto"),
        ("DROP TABLE version_info", 2, "found an SQLite file of something else"),
        ("ALTER TABLE trials RENAME COLUMN state TO mood", 2, "expected the tables of Optuna"),
        ("UPDATE trials SET state = 'LOST'", 1, "trial 0: expected a state such as COMPLETE"),
        ("UPDATE study_directions SET direction = 'NOT_SET'", 1, "found 'NOT_SET'"),
        ("UPDATE trial_params SET distribution_json = '[[' ", 1, "kind: expected JSON, found"),
        ("UPDATE trial_params SET distribution_json = '{}' ", 1, "kind: expected a distribution"),
        ("UPDATE trial_params SET param_value = 7.5 WHERE param_name = 'kind'", 1, "trial 0: kind"),
        ("UPDATE trial_params SET param_value = NULL", 1, "expected a value of its distribution"),
        ("UPDATE trial_intermediate_values SET step = step - 9", 1, "expected rising steps from 0"),
        ("UPDATE trial_user_attributes SET value_json = 'x'", 1, "its user attributes: expected J"),
        (
            "UPDATE trial_params SET distribution_json = replace(distribution_json, "
            "'\"log\": false', '\"log\": true'), param_value = 0.5 WHERE trial_id = 3 AND "
            "param_name = 'x'",
            1,
            "x: expected low > 0 with log",
        ),
        (
            "UPDATE trial_params SET distribution_json = (SELECT distribution_json FROM "
            "trial_params WHERE param_name = 'lr') WHERE trial_id = 3 AND param_name = 'x'",
            2,
            "x: expected one distribution in all trials, found float and log float",
        ),
        (
            "UPDATE trial_params SET distribution_json = "
            "'{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [1, \"1\"]}}', "
            "param_value = 0 WHERE param_name = 'lr'",
            2,
            "lr: expected each choice once",
        ),
    ],
)
def test_what_optuna_would_not_write(house, theirs, tmp_path, sql, code, said):
    path = edited(theirs, tmp_path / "bad.db", sql)
    assert said in refused(house, "import", path, "--name", "bad", code=code)
    assert not house.store.exists() or house.json("studies") == []


def test_files_of_others(house, tmp_path):
    assert "no such file" in refused(house, "import", "nowhere.db", code=2)
    said = refused(house, "import", tmp_path, code=2)
    assert "found something that is not a regular file" in said
    for content in ("", "SQLite format", "x" * 5000):
        path = house.write("other.db", content)
        assert "this file is not an SQLite file" in refused(house, "import", path, code=2)
    with sqlite3.connect(tmp_path / "mine.db") as database:
        database.execute("CREATE TABLE trials (a)")
    database.close()
    said = refused(house, "import", tmp_path / "mine.db", code=2)
    assert "expected an Optuna storage, found an SQLite file of something else" in said


def test_damaged_files_are_refused_or_read(house, theirs, tmp_path):
    """Pages overwritten here and there: whatever is left of the file, nothing crashes or hangs."""
    whole = theirs.read_bytes()
    page = 4096
    seen = set()
    for number in range(len(whole) // page):
        broken = bytearray(whole)
        begin = number * page + (100 if number == 0 else 0)
        broken[begin : begin + 200] = bytes((7 * i + number) % 256 for i in range(200))
        path = tmp_path / "broken.db"
        path.write_bytes(broken)
        done = house.run("import", path, "--name", f"n{number}", check=False, seconds=20)
        assert done.returncode in (0, 1, 2), done.stderr
        seen.add("the file is damaged" in done.stderr)
    cut = tmp_path / "cut.db"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "the file is damaged" in refused(house, "import", cut, "--name", "cut", code=1)
    assert True in seen
