"""Sweeps of W&B, run as they are, by scripts that import wandb."""

import json
import pathlib
import re

import pytest
from house import BINARIES, ROOT
from sweeps import LOGS_ONCE

BASIC = """
program: train.py
method: random
metric:
  name: val_loss
  goal: minimize
parameters:
  lr:
    min: 0.0
    max: 1.0
  batch_size:
    values: [16, 32, 64]
  epochs:
    value: 3
run_cap: 6
"""


def test_a_random_sweep(sweeps):
    sweeps.tune(BASIC)
    house = sweeps.house
    assert set(house.states().values()) == {"complete"} and len(house.states()) == 6
    assert len(house.reports()) == 6
    for trial, work, metrics in house.reports():
        params = sweeps.params()[trial - 1]
        assert work == 1 and metrics["epoch"] == 3
        assert metrics["val_loss"] == pytest.approx((params["lr"] - 0.3) ** 2)
        assert params["batch_size"] in (16, 32, 64) and params["epochs"] == 3
    best = house.json("best")
    assert best["study"] == "sweep"
    assert best["value"] == min(metrics["val_loss"] for _, _, metrics in house.reports())
    house.run("doctor", "--replay", "sweep")
    house.run("resume", "sweep", "--trials", 7, "-q", PATH=sweeps.path)
    assert len(house.states()) == 7


def test_a_grid_runs_all_its_points(sweeps):
    sweeps.tune(
        """
program: train.py
method: grid
metric: {name: val_loss}
parameters:
  lr: {values: [0.1, 0.2]}
  layers: {distribution: int_uniform, min: 1, max: 3}
  momentum: {distribution: q_uniform, min: 0, max: 1, q: 0.5}
  optimizer: {value: sgd}
"""
    )
    points = {(p["lr"], p["layers"], p["momentum"], p["optimizer"]) for p in sweeps.params()}
    assert len(points) == len(sweeps.params()) == 2 * 3 * 3
    assert {point[2] for point in points} == {0, 0.5, 1}


def test_bayes_is_tpe(sweeps):
    sweep = BASIC.replace("method: random", "method: bayes").replace("run_cap: 6", "run_cap: 15")
    sweeps.write(sweep)
    checked = sweeps.run("check", "sweep.yaml", "--json")
    assert json.loads(checked.stdout)["sampler"] == "tpe"
    sweeps.tune(sweep)
    assert len(sweeps.house.states()) == 15


def test_parameters_inside_parameters(sweeps):
    sweeps.tune(
        """
program: train.py
method: grid
metric: {name: val_loss, goal: minimize}
parameters:
  seed: {values: [1, 2]}
  optimizer:
    parameters:
      name: {values: [adam]}
      lr: {values: [0.1, 0.5]}
      schedule:
        parameters:
          warmup: {value: 10}
""",
        """
import sys
import wandb
wandb.init(config={"optimizer": {"eps": 1e-8}})
optimizer = wandb.config.optimizer
assert wandb.config["optimizer"]["lr"] == optimizer.lr
print(wandb.config.seed, optimizer["name"], optimizer.schedule.warmup, optimizer.eps, sys.argv[1:])
wandb.log({"val_loss": optimizer.lr})
""",
    )
    assert {params["optimizer.lr"] for params in sweeps.params()} == {0.1, 0.5}
    assert sweeps.outputs()[0] == [
        "1 adam 10 1e-08 ['--seed=1', '--optimizer.name=adam', '--optimizer.lr=0.1', "
        "'--optimizer.schedule.warmup=10']"
    ]


ARGPARSE = """
import argparse
import wandb
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--batch_size", type=int)
parser.add_argument("--epochs", type=int)
args = parser.parse_args()
wandb.init(config=args)
wandb.log({"val_loss": args.lr})
"""


def test_a_script_with_argparse(sweeps):
    sweeps.tune(BASIC, ARGPARSE)
    assert set(sweeps.house.states().values()) == {"complete"}
    best = sweeps.house.json("best")
    assert best["value"] == best["params"]["lr"]


PRINTS = """
import json, os, sys
import wandb
wandb.init()
for word in sys.argv[1:]:
    print(json.load(open(word)) if word.endswith(".json") else word)
wandb.log({"val_loss": 0})
"""


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (
            '["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]',
            ["debug=True", "quiet=False", "lr=1.0", "layers=[64, 32]", "drop=None"],
        ),
        (
            '[python, -u, "${program}", "${args_no_boolean_flags}"]',
            ["--debug", "--lr=1.0", "--layers=[64, 32]", "--drop=None"],
        ),
        (
            '[python, "${program}", "--home=${envvar:HOME_OF}/x", "{literal}", "${args_json}"]',
            [
                "--home=/data/x",
                "{literal}",
                '{"debug":true,"quiet":false,"lr":1.0,"layers":[64,32],"drop":null}',
            ],
        ),
        (
            '[python, "${program}", "${args_json_file}"]',
            ["{'debug': True, 'quiet': False, 'lr': 1.0, 'layers': [64, 32], 'drop': None}"],
        ),
        (
            '[python, "${program}", "${args_no_equals}"]',
            ["--debug", "True", "--quiet", "False", "--lr", "1.0"]
            + ["--layers", "[64, 32]", "--drop", "None"],
        ),
    ],
)
def test_commands_and_their_macros(sweeps, command, printed):
    sweeps.tune(
        f"""
program: train.py
command: {command}
method: grid
metric: {{name: val_loss}}
parameters:
  debug: {{value: true}}
  quiet: {{value: false}}
  lr: {{value: 1.0}}
  layers: {{value: [64, 32]}}
  drop: {{value: null}}
""",
        PRINTS,
        HOME_OF="/data",
    )
    assert sweeps.outputs() == [printed]
    if "json" not in command:
        assert "python" in sweeps.house.run("best").stdout


def test_probabilities_and_distributions(sweeps):
    sweeps.tune(
        """
program: train.py
method: random
metric: {name: val_loss}
run_cap: 40
parameters:
  kind: {values: [a, b], probabilities: [0.9, 0.1]}
  units: {distribution: q_uniform, min: 10, max: 60, q: 8}
  size: {distribution: q_log_uniform_values, min: 16, max: 64, q: 16}
  decay: {distribution: log_uniform_values, min: 0.0001, max: 0.1}
  rate: {distribution: log_uniform, min: -7, max: -2}
  gap: {distribution: inv_log_uniform_values, min: 0.001, max: 0.1}
  noise: {distribution: normal, mu: 1, sigma: 0.1}
  width: {distribution: q_log_normal, mu: 4, sigma: 0.5}
  mix: {distribution: beta, a: 2, b: 5}
""",
        'import wandb\nwandb.init()\nwandb.log({"val_loss": wandb.config.rate})\n',
    )
    params = sweeps.params()
    assert len(params) == 40
    for point in params:
        assert point["kind"] in ("a", "b")
        assert point["units"] in range(16, 57, 8) and point["size"] in (16, 32, 48, 64)
        assert 0.0001 <= point["decay"] <= 0.1 and 0.001 <= point["gap"] <= 0.1
        assert 0.00091 < point["rate"] < 0.1354
        assert 0.2 <= point["noise"] <= 1.8 and 0 <= point["mix"] <= 1
        assert isinstance(point["width"], int) and point["width"] > 0


EPOCHS = """
import wandb
wandb.init()
for epoch in range(12):
    wandb.log({"train": epoch})
    wandb.log({"val_loss": wandb.config.rank + 1 / (epoch + 1)})
print("saved")
"""


def test_hyperband_from_min_iter_stops_the_worse(sweeps):
    sweeps.tune(
        """
program: train.py
method: grid
metric: {name: val_loss, goal: minimize}
early_terminate: {type: hyperband, min_iter: 2, eta: 2}
parameters:
  rank: {values: [1, 2, 3, 4, 5, 6]}
parallelism: 1
""",
        EPOCHS,
    )
    states = sweeps.house.states()
    assert states[1] == "complete" and set(states.values()) == {"complete", "stopped"}
    assert sweeps.outputs()[0] == ["saved"] and sweeps.outputs()[5] == []
    works = {trial: work for trial, work, _ in sweeps.house.reports()}
    assert works[1] == 12 and works[6] == 2


def test_hyperband_from_max_iter_and_s(sweeps):
    sweep = """
program: train.py
method: grid
metric: {name: val_loss, goal: minimize}
early_terminate: {type: hyperband, max_iter: 9, s: 2, eta: 3}
parameters:
  rank: {values: [1, 2, 3]}
parallelism: 1
"""
    sweeps.write(sweep)
    assert sweeps.house.json("check", "sweep.yaml", PATH=sweeps.path)["rungs"] == [1, 3]
    sweeps.tune(sweep, EPOCHS)
    works = {trial: work for trial, work, _ in sweeps.house.reports()}
    assert works == {1: 9, 2: 1, 3: 1}
    assert sweeps.house.states() == {1: "complete", 2: "stopped", 3: "stopped"}
    # A trial that has done its work ends as its script likes: here it saves its model.
    assert sweeps.outputs() == [["saved"], [], []]


def test_a_target_ends_the_sweep(sweeps):
    sweeps.tune(
        BASIC.replace("goal: minimize", "goal: maximize\n  target: 0").replace(
            "run_cap: 6", "run_cap: 1000\nparallelism: 1"
        )
    )
    assert len(sweeps.house.states()) < 1000


def test_without_run_cap_the_number_of_trials_is_asked_for(sweeps):
    endless = BASIC.replace("run_cap: 6", "")
    message = (
        "sluice: sweep.yaml: run_cap: expected how many trials, since the method random goes on "
        "without end, found nothing; add 'run_cap: 24' to the file, or give --trials 24\n"
    )
    assert sweeps.refused(endless) == message
    assert sweeps.refused(endless, verb="check") == message
    sweeps.tune(endless, LOGS_ONCE, "--trials", 3)
    assert len(sweeps.house.states()) == 3
    sweeps.house.run("doctor", "--replay", "sweep")
    sweeps.run("resume", "sweep", "--trials", 4, "-q")
    assert len(sweeps.house.states()) == 4


def test_keys_without_effect_are_told(sweeps):
    sweep = BASIC + "project: demo\nname: My sweep\nentity: me\ndescription: what\n"
    sweeps.write(sweep)
    checked = json.loads(sweeps.run("check", "sweep.yaml", "--json").stdout)
    assert checked["study"] == "My-sweep"
    assert checked["warnings"] == [
        "sweep.yaml:17: name: the study is called My-sweep",
        "sweep.yaml:16: project: has no effect here",
        "sweep.yaml:18: entity: has no effect here",
    ]
    told = sweeps.run("tune", "sweep.yaml", "--plain").stderr
    assert "sluice: sweep.yaml:16: project: has no effect here\n" in told


REAL = 'import wandb\nprint(wandb.__file__)\nprint("{\\"val_loss\\": 1}")\n'


@pytest.mark.parametrize(
    ("key", "environment"), [("wandb: real", {}), ("", {"SLUICE_WANDB": "real"})]
)
def test_the_real_package_can_be_asked_for(sweeps, key, environment):
    package = sweeps.house.folder / "site" / "wandb"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    sweeps.tune(BASIC + key + "\n", REAL, PYTHONPATH=str(package.parent), **environment)
    assert {pathlib.Path(lines[0]) for lines in sweeps.outputs()} == {package / "__init__.py"}


def test_the_stand_in_goes_before_what_is_installed(sweeps):
    package = sweeps.house.folder / "site" / "wandb"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('the real one')")
    (sweeps.house.folder / "wandb").mkdir()  # where wandb keeps its runs
    sweeps.tune(BASIC, LOGS_ONCE, PYTHONPATH=str(package.parent))
    assert set(sweeps.house.states().values()) == {"complete"}


def test_the_package_is_found_where_the_study_sets_its_own_path(sweeps):
    (sweeps.house.folder / "src").mkdir()
    (sweeps.house.folder / "src" / "mine.py").write_text("")
    script = "import mine, sluice" + LOGS_ONCE
    sweeps.tune(BASIC + "environment: {PYTHONPATH: src}\n", script)
    assert set(sweeps.house.states().values()) == {"complete"}


def test_a_study_has_no_stand_in(sweeps):
    sweeps.house.write("train.py", "import wandb, sluice\nprint(wandb.__version__)")
    sweeps.house.write(
        "study.yaml",
        "program: python train.py\nspace: {x: {int: [0, 1]}}\nobjective: {minimize: l}\n"
        "trials: 1\nretries: 0\n",
    )
    sweeps.run("tune", "study.yaml", "-q", code=1)
    assert not any("+sluice" in line for lines in sweeps.outputs() for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "method: random",
            "method: randon",
            "sweep.yaml:3: method: expected one of grid, random, bayes, found randon "
            "(did you mean 'random'?)",
        ),
        (
            "    values: [16, 32, 64]",
            "    distribution: unifrom\n    min: 1\n    max: 2",
            "(did you mean 'uniform'?)",
        ),
        (
            "    max: 1.0",
            "    max: -1.0",
            "sweep.yaml:8: lr: expected min < max, found min 0 and max -1",
        ),
        (
            "program: train.py\n",
            "",
            "sweep.yaml:2: program: expected the script to run, found nothing; "
            "add 'program: train.py'",
        ),
        (
            "method: random\nmetric:\n  name: val_loss\n  goal: minimize\n",
            "method: bayes\n",
            "metric: expected the metric to improve, since bayes needs one",
        ),
        (
            "run_cap: 6",
            'run_cap: 6\ncommand: [python, "${progam}"]',
            "sweep.yaml:16: command[1]: expected one of the macros env, interpreter, program,",
        ),
        ("run_cap: 6", "run_cup: 6", "run_cup: unknown key (did you mean 'run_cap'?)"),
    ],
)
def test_bad_input(sweeps, old, new, message):
    assert old in BASIC
    for verb in ("check", "tune"):
        assert message in sweeps.refused(BASIC.replace(old, new), verb=verb)


def test_nested_too_deep(sweeps):
    deep = "{parameters: {a: " * 20 + "{value: 3}" + "}}" * 20
    sweep = BASIC.replace("  epochs:\n    value: 3", f"  epochs: {deep}")
    message = sweeps.refused(sweep)
    assert "expected at most 16 parameters inside each other, found more" in message


@pytest.mark.parametrize("verb", ["check", "tune"])
def test_a_script_that_is_not_there_is_an_error(sweeps, verb):
    message = sweeps.refused(BASIC.replace("train.py", "no_such.py"), verb=verb)
    missing = sweeps.house.folder.resolve() / "no_such.py"
    assert f"program: expected a script, found no {missing}" in message


def test_an_interpreter_that_is_not_there(sweeps):
    sweeps.path = f"{BINARIES}:{sweeps.house.folder}"
    message = sweeps.refused(BASIC)
    assert "program: expected a program on PATH, found no 'python'" in message


def test_a_script_that_makes_sweeps_itself_is_told_what_to_do(sweeps):
    sweeps.write(BASIC + "retries: 0\n", "import wandb\nwandb.agent('id', function=print)\n")
    sweeps.run("tune", "sweep.yaml", "-q", code=1)
    [(note,)] = sweeps.house.query("SELECT DISTINCT note FROM trials WHERE state = 'failed'")
    assert "run 'sluice tune sweep.yaml'" in note


def test_the_examples_of_the_documentation(sweeps):
    text = (ROOT / "docs/sweeps.md").read_text()
    first, *others = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    [script] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    commands = re.findall(r"^    \$ (?:SLUICE_WANDB=real )?sluice (.*)$", text, re.MULTILINE)
    assert len(commands) == 4 and others
    for other in others:
        sweeps.write(other)
        done = sweeps.run("check", "sweep.yaml", "--json", check=False)
        assert json.loads(done.stdout)["sampler"] == "grid"
    sweeps.write(first, script)
    for command in commands[:3]:
        sweeps.run(*command.split(), "-q" if command.startswith("tune") else "--json")
    states = sweeps.house.states()
    assert len(states) == 8 and set(states.values()) <= {"complete", "stopped"}
    assert all("momentum" in metrics for _, _, metrics in sweeps.house.reports())
    assert max(work for _, work, _ in sweeps.house.reports()) == 9
    assert sweeps.house.json("best")["params"]["epochs"] == 9


def test_every_macro_and_distribution_is_documented():
    text = (ROOT / "docs/sweeps.md").read_text()
    code = (ROOT / "src/engine/read/sweep/sweep_distribution.cc").read_text()
    names = re.findall(r'\{"(\w+)", Family::', code)
    code = (ROOT / "src/engine/read/sweep/sweep_command.cc").read_text()
    names += [f"${{{name}}}" for name in re.findall(r'\{"(\w+)", "[^"]+"\}', code)]
    assert len(names) > 20
    assert [name for name in names if f"`{name}`" not in text] == []


def test_a_sweep_without_a_metric_runs(sweeps):
    sweep = BASIC.replace("metric:\n  name: val_loss\n  goal: minimize\n", "")
    sweeps.tune(sweep)
    assert set(sweeps.house.states().values()) == {"complete"}
    assert all({"_runtime", "val_loss"} <= set(metrics) for *_, metrics in sweeps.house.reports())


def test_a_sweep_without_a_metric_whose_script_logs_nothing_runs(sweeps):
    sweep = BASIC.replace("metric:\n  name: val_loss\n  goal: minimize\n", "")
    sweeps.tune(sweep, "import wandb\nwandb.init()\nwandb.summary['note'] = 'fine'\n")
    assert set(sweeps.house.states().values()) == {"complete"}


def test_a_repeated_value_is_drawn_as_often(sweeps):
    sweep = BASIC.replace("values: [16, 32, 64]", "values: [16, 16, 16, 64]")
    sweeps.tune(sweep.replace("run_cap: 6", "run_cap: 12"))
    drawn = [params["batch_size"] for params in sweeps.params()]
    assert set(drawn) <= {16, 64} and drawn.count(16) > 6
