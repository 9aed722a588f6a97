"""Earlier trials as knowledge of a new study (warm_start)."""

import json

import pytest
from points import QUICK, params, prepare, refused

# The loss is the learning rate itself, and widths of 64 fail.
LEARNS = ["sh", "-c", 'test {width} != 64 || exit 1; echo "{{\\"loss\\": {lr}}}"']


def earlier(house, trials=8):
    """A study 'old' of the same space."""
    prepare(house, trials=trials, program=LEARNS, name="old", file="old.yaml", more="retries: 0")
    house.run("tune", "old.yaml", "-q")
    return house.json("trials", "old")


def knowledge(house, study="mine"):
    [(body,)] = house.query(
        "SELECT body FROM events WHERE kind = 'knowledge_given' AND study = "
        "(SELECT id FROM studies WHERE name = ?)",
        study,
    )
    return json.loads(body)["trials"]


def test_warm_start_from_a_study(house):
    old = earlier(house)
    good = [t for t in old if t["state"] == "complete"]
    assert 0 < len(good) < len(old)
    prepare(house, trials=2, more="warm_start: {study: old}")
    checked = house.json("check", "study.yaml")
    failed = len(old) - len(good)
    summary = f"{len(good)} of {len(old)} trials of study 'old'; {failed} ha"
    assert checked["warm_start"].startswith(summary)
    deaf = "the sampler random does not learn from trials: warm_start has no effect on it"
    assert f": warm_start: {deaf}" in "\n".join(checked["warnings"])
    shown = house.run("tune", "study.yaml", "--plain").stdout
    assert "warm start: " + summary in shown
    assert f"warm start: {deaf}" in shown
    known = knowledge(house)
    assert [k["value"] for k in known] == [t["value"] for t in good]
    assert [k["point"][0] for k in known] == [t["params"]["lr"] for t in good]
    # The trials of 'old' are no trials of this study, and it does not need them any more.
    assert len(params(house)) == 2
    house.run("delete", "old", "--yes")
    house.run("resume", "mine", "--trials", 3, "-q")
    assert len(params(house)) == 3
    house.run("doctor", "--replay", "mine")


def test_warm_start_from_another_store(house, tmp_path_factory):
    from house import House

    there = House(tmp_path_factory.mktemp("there"))
    good = [t for t in earlier(there) if t["state"] == "complete"]
    there.close()
    where = json.dumps({"store": str(there.store), "study": "old", "trials": "best 2"})
    prepare(house, trials=1, more=f"warm_start: {where}")
    house.run("tune", "study.yaml", "-q")
    best = sorted(t["value"] for t in good)[:2]
    assert sorted(k["value"] for k in knowledge(house)) == best


def test_warm_start_skips_what_is_outside_and_maps_names(house):
    good = [t for t in earlier(house) if t["state"] == "complete"]
    prepare(house, trials=1, more="warm_start: {study: old, map: {lr: rate}}")
    text = (house.folder / "study.yaml").read_text()
    text = text.replace("lr: {float: [1e-4, 0.1], log: true}", "rate: {float: [1e-4, 5e-3]}")
    house.write("study.yaml", text)
    fits = [t for t in good if t["params"]["lr"] <= 5e-3]
    assert 0 < len(fits) < len(good)
    assert f"{len(good) - len(fits)} ha" in house.json("check", "study.yaml")["warm_start"]
    assert "rate outside [0.0001, 0.005]" in house.run("check", "study.yaml").stdout
    house.run("tune", "study.yaml", "-q")
    assert [k["value"] for k in knowledge(house)] == [t["value"] for t in fits]


BAD_WARM_STARTS = [
    ("{study: odl}", "warm_start: no study 'odl' in", "did you mean 'old'?"),
    ("{store: none.db, study: old}", "warm_start: ", "none.db: no store here yet"),
    ("{store: study.yaml, study: old}", "warm_start: ", "study.yaml"),
    ("{optuna: none.db}", "warm_start: ", "none.db"),
    ("{optuna: study.yaml}", "warm_start: ", "study.yaml"),
    ("{study: old, map: {rl: lr}}", "map: no parameter 'rl' in study 'old'", ""),
]


@pytest.mark.parametrize("wish, first, second", BAD_WARM_STARTS)
def test_bad_warm_starts(house, wish, first, second):
    earlier(house, trials=2)
    prepare(house, trials=1, more=f"warm_start: {wish}")
    for verb in ("check", "tune"):
        done = house.run(verb, "study.yaml", check=False)
        assert done.returncode in (1, 2)
        assert first in done.stderr and second in done.stderr
    assert house.query("SELECT name FROM studies") == [("old",)]


@pytest.mark.parametrize(
    "space, direction, message",
    [
        ("lr: {float: [0, 1]}", "maximize", "'old' minimizes loss and this one maximizes loss"),
        ("lr: {float: [1, 2]}", "minimize", "have lr outside [1, 2]"),
        ("x: {float: [1, 2]}", "minimize", "found none of them in study 'old', which has act, lr"),
        ("lr: {float: [0, 1]}, x: {int: [1, 2]}", "minimize", "found 3: 3 have no x"),
    ],
)
def test_studies_that_do_not_go_together(house, space, direction, message):
    earlier(house, trials=3)
    house.write(
        "study.yaml",
        f"program: {json.dumps(QUICK)}\nspace: {{{space}}}\nobjective: {{{direction}: loss}}\n"
        "trials: 1\nwarm_start: {study: old}\n",
    )
    assert message in refused(house, "tune", "study.yaml")


def test_a_study_of_another_metric_and_unit_is_noted(house):
    earlier(house, trials=3)
    prepare(
        house, trials=1, more="warm_start: {study: old, missing: fill}\nbudget: {unit: step}"
    )
    text = (house.folder / "study.yaml").read_text().replace("minimize: loss", "minimize: error")
    house.write("study.yaml", text + "\n")
    warnings = "\n".join(house.json("check", "study.yaml")["warnings"])
    assert "warm_start: its loss is taken for error" in warnings
    assert "warm_start: its work is counted in epoch, taken for step" in warnings


def test_warm_start_from_optuna(house):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=f"sqlite:///{house.folder / 'optuna.db'}",
        study_name="theirs",
        sampler=optuna.samplers.RandomSampler(seed=1),
    )

    def objective(trial):
        lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
        width = trial.suggest_int("width", 16, 64, step=16)
        act = trial.suggest_categorical("act", ["relu", "tanh"])
        trial.suggest_float("momentum", 0, 1)
        if width == 64:
            raise RuntimeError("no")
        if act == "tanh":
            trial.report(lr + 1, step=4)
            raise optuna.TrialPruned
        return lr

    study.optimize(objective, n_trials=30, catch=(RuntimeError,))
    states = optuna.trial.TrialState
    fits = [
        t
        for t in study.get_trials(deepcopy=False)
        if t.state != states.FAIL and t.params["lr"] <= 0.1
    ]
    assert 0 < len(fits) < 30
    prepare(house, trials=1, more="warm_start: {optuna: optuna.db}")
    checked = house.json("check", "study.yaml")
    assert checked["warm_start"].startswith(f"{len(fits)} of 30 trials of study 'theirs' in ")
    assert "have lr outside [0.0001, 0.1]" in checked["warm_start"]
    said = "warm_start: its momentum is not in this space and ignored"
    assert said in "\n".join(checked["warnings"])
    house.run("tune", "study.yaml", "-q")
    known = knowledge(house)
    assert [k["point"] for k in known] == [
        [t.params["lr"], t.params["width"], ["relu", "tanh"].index(t.params["act"])] for t in fits
    ]
    assert [k["value"] for k in known] == [t.value for t in fits]
    assert {k["work"] for k in known} == {1, 4}
    (house.folder / "optuna.db").unlink()
    house.run("resume", "mine", "--trials", 2, "-q")


BOWL = """
import sluice

for trial in sluice.trials():
    p = trial.params
    trial.report(1, loss=(p["a"] - 0.3) ** 2 + (p["b"] - 0.7) ** 2)
"""


def test_tpe_begins_where_an_earlier_study_ended(house):
    text = (
        "program: python bowl.py\nspace: {a: {float: [0, 1]}, b: {float: [0, 1]}}\n"
        "objective: {minimize: loss}\nparallelism: 1\nseed: 3\n"
    )
    house.write("bowl.py", BOWL)
    house.write("old.yaml", text + "sampler: random\ntrials: 60\n")
    house.write("new.yaml", text + "sampler: tpe\ntrials: 12\nwarm_start: {study: old}\n")
    house.run("tune", "old.yaml", "-q")
    assert "does not learn" not in house.run("check", "new.yaml").stdout
    house.run("tune", "new.yaml", "-q")
    old = sorted(trial["value"] for trial in house.json("trials", "old"))
    new = sorted(trial["value"] for trial in house.json("trials", "new"))
    assert new[len(new) // 2] < old[len(old) // 2] / 3
