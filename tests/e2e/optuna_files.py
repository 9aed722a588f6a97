"""What the tests of exports to Optuna and of imports from it share."""

import json
import math
import sqlite3

import optuna
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)

STATES = {
    "complete": TrialState.COMPLETE,
    "stopped": TrialState.PRUNED,
    "failed": TrialState.FAIL,
}


def storage(path):
    return f"sqlite:///{path}"


def load(path, name):
    return optuna.load_study(storage=storage(path), study_name=name)


def curves(house, name):
    """(work, objective) of every report, by trial."""
    metric = house.json("status", name)["metric"]
    rows = house.run("export", name, "--reports", "--format", "jsonl").stdout.splitlines()
    found = {}
    for row in map(json.loads, rows):
        if metric in row["metrics"]:
            found.setdefault(row["trial"], {})[row["work"]] = float(row["metrics"][metric])
    return found


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def copy(source, target):
    target.write_bytes(source.read_bytes())
    return target


def edited(source, target, sql):
    with sqlite3.connect(copy(source, target)) as database:
        database.executescript(sql)
    database.close()
    return target


def refused(house, *words, code):
    done = house.run(*words, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("sluice: ")
    return done.stderr
