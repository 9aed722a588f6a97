"""What mattered: the shares that `sluice best` and `sluice status` show, beside Optuna's fANOVA."""

import csv
import io

import pytest
from house import python_program

optuna = pytest.importorskip("optuna")
pytest.importorskip("sklearn")

UNIT = optuna.distributions.FloatDistribution(0, 1)
TRIALS = 200

STUDY = """
study: known
program: {program}
space:
{space}
objective: {{{objective}: loss}}
sampler: random
trials: {trials}
parallelism: 1
seed: 7
resources: {{cpus: 1}}
"""

PROGRAM = """
import math
import sluice
for trial in sluice.trials():
    p = trial.params
    trial.report(1, loss={formula})
"""


def units(count):
    return {f"x{i}": ("{float: [0, 1]}", UNIT) for i in range(count)}


MIXED = {
    "lr": (
        "{float: [1e-5, 1], log: true}",
        optuna.distributions.FloatDistribution(1e-5, 1, log=True),
    ),
    "width": (
        "{int: [16, 1024], log: true}",
        optuna.distributions.IntDistribution(16, 1024, log=True),
    ),
    "depth": ("{int: [1, 8]}", optuna.distributions.IntDistribution(1, 8)),
    "optimizer": (
        "{choice: [sgd, adam, lion]}",
        optuna.distributions.CategoricalDistribution(["sgd", "adam", "lion"]),
    ),
    "nothing": (
        "{choice: [1, 2, 3]}",
        optuna.distributions.CategoricalDistribution(["1", "2", "3"]),
    ),
}

# What is tuned, the function, and the parameters that matter, the most important first.
FUNCTIONS = {
    "additive": (units(6), "6*p['x2'] + 4*p['x0'] + 2.5*p['x4'] + p['x1']", ["x2", "x0", "x4"]),
    "quadratic": (
        units(6),
        "8*(p['x0']-.2)**2 + 5*(p['x3']-.8)**2 + 2.5*(p['x5']-.1)**2",
        ["x0", "x3", "x5"],
    ),
    "interactions": (units(6), "4*p['x0']*p['x1']*(1+p['x2']) + .1*p['x3']", ["x0", "x1"]),
    "mixed": (
        MIXED,
        "(math.log10(p['lr'])+2.5)**2*.6 + {'sgd': 2, 'adam': 0, 'lion': .5}[p['optimizer']]"
        " + .35*(10-math.log2(p['width']))",
        ["lr", "optimizer", "width"],
    ),
}


def tune(house, space, formula, trials=TRIALS, objective="minimize"):
    program = house.write("known.py", PROGRAM.format(formula=formula))
    lines = "\n".join(f"  {name}: {text}" for name, (text, _) in space.items())
    house.write(
        "known.yaml",
        STUDY.format(
            program=python_program(program), space=lines, trials=trials, objective=objective
        ),
    )
    house.run("tune", "known.yaml", "-q")


def fanova(house, space):
    def cast(distribution, text):
        kind = type(distribution).__name__
        return (
            text if kind.startswith("Cat") else int(text) if kind.startswith("Int") else float(text)
        )

    rows = csv.DictReader(io.StringIO(house.run("export", "known").stdout))
    study = optuna.create_study()
    study.add_trials(
        optuna.trial.create_trial(
            params={name: cast(kind, row[f"params_{name}"]) for name, (_, kind) in space.items()},
            distributions={name: kind for name, (_, kind) in space.items()},
            value=float(row["best_value"]),
        )
        for row in rows
    )
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_is_that_of_fanova(house, name):
    space, formula, matters = FUNCTIONS[name]
    tune(house, space, formula)
    ours = house.json("best", "known")["importance"]
    theirs = fanova(house, space)
    assert list(ours) == list(space)
    assert sum(ours.values()) == pytest.approx(1, abs=1e-3)
    clear = [
        (a, b)
        for a in space
        for b in space
        if theirs[a] > 1.5 * theirs[b] and theirs[a] - theirs[b] > 0.03
    ]
    assert len(clear) >= 5
    for more, less in clear:
        assert ours[more] > ours[less], (ours, theirs)
    if name != "interactions":  # x0 and x1 are alike there
        assert sorted(ours, key=ours.get, reverse=True)[: len(matters)] == matters
    for parameter, share in ours.items():
        if f"p['{parameter}']" not in formula:
            assert share < 0.02, ours
    assert house.json("status", "known")["importance"] == ours


def test_what_people_read(house):
    space, formula, _ = FUNCTIONS["mixed"]
    tune(house, space, formula)
    best = house.run("best", "known").stdout
    block = best.split("what mattered:\n")[1].split("\n\n")[0].splitlines()
    lr, optimizer, width = (line.split() for line in block[:3])
    assert lr[0] == "lr" and lr[2] == "%" and 50 < int(lr[1]) < 90
    low, high = float(lr[5]), float(lr[7])
    assert 3e-4 < low < 10**-2.5 < high < 3e-2
    assert optimizer[0] == "optimizer" and optimizer[-2:] == ["best", "adam"]
    assert width[0] == "width" and " ".join(width).endswith(", higher is better")
    assert block[-1] == "  (2 under 1 %)"
    status = house.run("status", "known").stdout
    [line] = [line for line in status.splitlines() if line.startswith("what mattered")]
    assert f"lr {lr[1]} %, optimizer {optimizer[1]} %, width {width[1]} %" in line


def test_higher_is_better_when_maximizing(house):
    space, formula, _ = FUNCTIONS["additive"]
    tune(house, space, formula, trials=100, objective="maximize")
    [line] = [line for line in house.run("best", "known").stdout.splitlines() if "  x2 " in line]
    assert line.endswith("higher is better")


def test_too_few_trials_say_nothing(house):
    tune(house, units(2), "p['x0']", trials=9)
    assert "what mattered" not in house.run("best", "known").stdout
    assert "what mattered" not in house.run("status", "known").stdout
    assert house.json("best", "known")["importance"] is None
    assert house.json("status", "known")["importance"] is None
    house.run("resume", "known", "--trials", 30, "-q")
    assert house.json("best", "known")["importance"]["x0"] > 0.8


def test_results_that_vary_by_nothing_or_by_chance_say_nothing(house):
    tune(house, units(2), "3", trials=20)
    assert house.json("best", "known")["importance"] is None


def test_diverged_trials_do_not_hide_the_rest(house):
    tune(
        house,
        units(4),
        "float('nan') if p['x0'] > .95 else 1e9 if p['x0'] > .9 else 4*p['x1']+p['x2']",
    )
    shares = house.json("best", "known")["importance"]
    assert min(shares["x0"], shares["x1"]) > 5 * shares["x3"] and shares["x1"] > 0.2, shares
