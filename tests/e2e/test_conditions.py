"""Parameters that are active only sometimes, and constraints: what reaches the programs."""

import csv
import json

STUDY = """
study: cond
program: [sh, train.sh, --momentum, "{momentum}", "{args}", "--m={momentum}", end]
space:
  optimizer: {choice: [sgd, adam]}
  momentum: {float: [0, 1], step: 0.5, when: {optimizer: sgd}}
  nesterov: {choice: [true, false], when: momentum > 0}
  layers: {int: [1, 2]}
constraints: momentum * layers < 2
objective: {minimize: loss}
sampler: grid
environment: {MOMENTUM: "{momentum}"}
"""
SCRIPT = 'echo "args:$*:env:${MOMENTUM-none}:$(cat $SLUICE_PARAMS)"; echo "{\\"loss\\": $#}"\n'


def test_programs_get_what_is_active_and_nothing_else(house):
    house.write("study.yaml", STUDY)
    house.write("train.sh", SCRIPT)
    house.run("tune", "study.yaml", "-q")
    params = [
        json.loads(text) for (text,) in house.query("SELECT params FROM trials ORDER BY trial")
    ]
    assert [list(p.values()) for p in params] == [
        ["sgd", 0.0, 1],
        ["sgd", 0.0, 2],
        ["sgd", 0.5, True, 1],
        ["sgd", 0.5, True, 2],
        ["sgd", 0.5, False, 1],
        ["sgd", 0.5, False, 2],
        ["sgd", 1.0, True, 1],
        ["sgd", 1.0, False, 1],
        ["adam", 1],
        ["adam", 2],
    ]
    said = house.run("logs", 9).stdout
    assert 'args:--optimizer=adam --layers=1 end:env:none:{"optimizer":"adam","layers":1}' in said
    said = house.run("logs", 3).stdout
    assert "args:--momentum 0.5 --optimizer=sgd --momentum=0.5 --nesterov=true" in said
    assert "--m=0.5 end:env:0.5:" in said
    house.run("export", "-o", "trials.csv")
    rows = list(csv.DictReader((house.folder / "trials.csv").open()))
    assert [row["params_momentum"] for row in rows][-3:] == ["1.0", "", ""]
    best = house.json("best")
    # Trials 9 and 10 have as many arguments, so the same loss: the first to report is the best.
    assert best["params"]["optimizer"] == "adam" and set(best["params"]) == {"optimizer", "layers"}
    assert "momentum" not in house.run("best").stdout.split("what mattered")[0]
    house.run("trials")


def test_a_restart_knows_what_is_not_active(house):
    house.write("study.yaml", STUDY + "trials: 9\n")
    house.write("train.sh", SCRIPT)
    house.run("tune", "study.yaml", "-q")
    house.run("resume", "cond", "--trials", 10, "-q")
    assert len(house.states()) == 10
    [(last,)] = house.query("SELECT params FROM trials WHERE trial = 10")
    assert json.loads(last) == {"optimizer": "adam", "layers": 2}


def test_check_says_what_is_left_of_the_space(house):
    house.write("train.sh", SCRIPT)
    house.write(
        "study.yaml",
        "program: sh train.sh {args}\n"
        "space:\n"
        "  a: {int: [0, 99]}\n"
        "  b: {int: [0, 99]}\n"
        "  c: {float: [0, 1], when: a > 99}\n"
        "  d: {choice: [x, y], weights: [3, 1]}\n"
        "  e: {float: [0, 1], law: normal, mean: 0.5, sigma: 0.1}\n"
        "constraints: [b / a > 40]\n"
        "objective: {minimize: loss}\ntrials: 5\n",
    )
    shown = house.run("check", "study.yaml").stdout
    assert "c: float from 0 to 1; when a > 99" in shown
    assert "d: choice of x (75 %), y (25 %)" in shown
    assert "e: float from 0 to 1, normal around 0.5, sigma 0.1" in shown
    assert "where b / a > 40" in shown
    assert "warning: study.yaml:8: constraints: only 0." in shown
    assert "warning: study.yaml:5: c: is never active" in shown
    assert "warning: study.yaml:8: constraints: 'b / a > 40' cannot be computed at" in shown
    assert house.json("check", "study.yaml")["constraints"] == ["b / a > 40"]


def test_tune_says_what_is_odd_about_a_space_unless_quiet(house):
    house.write(
        "study.yaml",
        "program: ['true', '{a}']\nspace:\n  a: {int: [1, 9]}\n"
        "  b: {int: [1, 9], when: a > 9}\nobjective: {minimize: loss}\ntrials: 1\nretries: 0\n",
    )
    said = house.run("tune", "study.yaml", check=False).stderr
    assert "study.yaml:4: b: is never active among all 9 points" in said
    quiet = house.run("tune", "study.yaml", "-q", "--name", "quiet", check=False).stderr
    assert "never active" not in quiet


def test_bad_conditions_and_constraints_are_refused_before_the_first_trial(house):
    def said(space, more=""):
        text = f"program: sh train.sh {{args}}\nspace:\n{space}objective: {{minimize: loss}}\n"
        house.write("study.yaml", text + "trials: 5\n" + more)
        done = house.run("tune", "study.yaml", check=False)
        assert done.returncode == 2 and not house.states()
        return done.stderr

    a = "  a: {int: [1, 9]}\n"
    assert "study.yaml:4: b.when: 'aa > 1': column 1: expected a parameter, found aa (did" in said(
        a + "  b: {int: [1, 9], when: aa > 1}\n"
    )
    assert "study.yaml:4: b: when 'b > 1': expected a condition on other parameters" in said(
        a + "  b: {int: [1, 9], when: b > 1}\n"
    )
    assert "found a -> b -> a" in said(
        "  a: {int: [1, 9], when: b > 1}\n  b: {int: [1, 9], when: a > 1}\n"
    )
    assert "study.yaml:6: constraints: 'a': column 1: expected something true" in said(
        a, "constraints: a\n"
    )
    assert "'a > 9' never holds" in said(a, "constraints: a > 9\n")
    assert "nearly unsatisfiable" in said(
        "  x: {float: [0, 1]}\n  y: {float: [0, 1]}\n", "constraints: x + y < 0.005\n"
    )
    house.write("study.yaml", STUDY.replace("sh, train.sh", '"{momentum}"'))
    assert "program that is there in every trial" in house.run(
        "check", "study.yaml", check=False
    ).stderr
