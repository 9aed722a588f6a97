"""What a user meets in the first hour with Sluice, after years with other tuners."""

import csv
import json
import pathlib
import signal

import pytest
from first_study import edit, prepare
from house import python_program, wait_until


def trials(house, columns="state, launch"):
    return house.query(f"SELECT {columns} FROM trials ORDER BY trial")


OWN_END = """
import csv
import json
import pathlib
for epoch in range(1, 11):
    print(json.dumps({"epoch": epoch, "loss": 1 / epoch}), flush=True)
"""


@pytest.mark.parametrize("with_package", [False, True])
def test_a_program_that_ends_before_its_target_runs_once(house, with_package):
    script = OWN_END
    if with_package:
        script = "import sluice\nfor epoch in range(1, 11): sluice.report(epoch, loss=1 / epoch)\n"
    prepare(house, script, trials=3, more="stopper: asha\nbudget: {max: 27}\nparallelism: 1")
    house.run("tune", "study.yaml", "-q")
    assert trials(house, "state, launch, work")[0] == ("complete", 1, 10)
    assert {launch for (launch,) in trials(house, "launch")} == {1}


def test_a_program_that_is_told_its_budget_goes_on(house):
    script = """
import json, sys
for epoch in range(1, int(sys.argv[1]) + 1):
    print(json.dumps({"epoch": epoch, "loss": 1 / epoch}), flush=True)
"""
    prepare(house, script, more="stopper: asha\nbudget: {max: 9}", args="{budget}")
    house.run("tune", "study.yaml", "-q")
    assert trials(house, "state, launch, work") == [("complete", 3, 9)]


def test_nan_as_python_prints_it_is_a_report(house):
    script = """
import csv
import json
import pathlib
print(json.dumps({"epoch": 1, "loss": float("nan")}))
print(json.dumps({"epoch": 2, "loss": 0.5, "gap": float("inf")}))
"""
    prepare(house, script)
    house.run("tune", "study.yaml", "-q")
    assert [(work, metrics) for _, work, metrics in house.reports()] == [
        (1, {"loss": "NaN"}),
        (2, {"loss": 0.5, "gap": "Infinity"}),
    ]


def test_columns_are_of_all_trials(house):
    space = "{opt: {choice: [sgd, adam]}, momentum: {float: [0, 1], when: opt == 'sgd'}}"
    prepare(
        house,
        'print(\'{"loss": 1}\')',
        trials=8,
        space=space,
        more="sampler: random\nenqueue: [{opt: adam}, {opt: sgd, momentum: 0.5}]",
    )
    house.run("tune", "study.yaml", "-q")
    for words in (["trials"], ["best", "--top", 8]):
        head, *rows = house.run(*words).stdout.splitlines()
        assert head.split()[5:7] == ["opt", "momentum"]
        assert any(" sgd " in row and "0.5" in row for row in rows)


BROKEN = """
def load():
    raise FileNotFoundError("no data at /data/imagenet")
load()
"""


def test_a_study_that_comes_to_nothing_stops_and_says_why(house):
    prepare(house, BROKEN, trials=50, more="retries: 0")
    done = house.run("tune", "study.yaml", "-q", code=1)
    assert "too many trials failed" in done.stdout
    assert "FileNotFoundError: no data at /data/imagenet" in done.stdout
    assert "in load" in done.stdout, "the lines before it, too"
    assert len(trials(house)) < 10
    summary = house.run("status", "first").stdout
    assert "too many trials failed" in summary
    house.write("train.py", 'print(\'{"loss": 1}\')\n')
    house.run("resume", "first", "-q")
    states = [state for (state,) in trials(house, "state")]
    assert states.count("complete") == 50 - states.count("failed")


def test_max_failures(house):
    script = """
import sys
print('{"loss": 1}', flush=True)
sys.exit(float(sys.argv[1].split("=")[1]) < 0.5)
"""
    prepare(house, script, trials=60, more="retries: 0\nmax_failures: 2\nsampler: random")
    house.run("tune", "study.yaml", "-q", code=1)
    states = [state for (state,) in trials(house, "state")]
    assert states.count("failed") in (2, 3), "two at once may end together"
    assert len(states) < 30


def test_all_failed_is_a_failure(house):
    prepare(house, "raise SystemExit(3)", trials=2, more="retries: 0")
    assert "trial 1 and 1 more: exit code 3" in house.run("tune", "study.yaml", "-q", code=1).stdout


def test_a_wrong_metric_is_told_with_those_that_were_seen(house):
    prepare(house, 'print(\'{"accuracy": 0.9, "val_loss": 0.1}\')')
    house.run("tune", "study.yaml", "-q", code=1)
    assert trials(house, "note") == [
        ("ended without reporting 'loss', but it printed accuracy, val_loss",)
    ]


def test_a_wrong_metric_of_the_package_is_told_too(house):
    prepare(house, "import sluice\nsluice.report(1, accuracy=0.9)\n")
    house.run("tune", "study.yaml", "-q", code=1)
    [(note,)] = trials(house, "note")
    assert "no 'loss' in the report at epoch 1, which has accuracy" in note


READS_BY_PACKAGE = """
import sluice
trial = sluice.trial()
sluice.report(1, loss=trial.params["x"], seed=trial.seed)
print("x is", trial.params["x"], flush=True)
"""


def test_the_best_trial_can_be_run_again_where_no_argument_has_its_parameters(house):
    prepare(house, READS_BY_PACKAGE, trials=5, args=None)
    house.run("tune", "study.yaml", "-q")
    best = house.json("best")
    assert best["command"].startswith(f"sluice run first --trial {best['trial']}")
    assert best["command"] in house.run("best").stdout
    before = house.reports()
    [seed] = [metrics["seed"] for trial, _, metrics in before if trial == best["trial"]]
    for words in ([], ["--best"], ["--trial", best["trial"]]):
        out = house.run("run", "first", *words).stdout
        assert f"x is {best['params']['x']}" in out
        assert f"seed={int(seed)}" in out
    assert house.reports() == before, "the study does not hear of it"


def test_a_program_that_reads_the_file_of_parameters_can_be_run_again(house):
    script = """
import json, os
params = json.load(open(os.environ["SLUICE_PARAMS"]))
print(json.dumps({"loss": params["x"]}))
raise SystemExit(0 if "SLUICE_TRIAL_FILE" in os.environ else 7)
"""
    prepare(house, script, trials=3, args=None)
    house.run("tune", "study.yaml", "-q")
    done = house.run("run", code=7)
    assert json.loads(done.stdout) == {"loss": house.json("best")["params"]["x"]}


def test_run_without_a_result(house):
    prepare(house, "raise SystemExit(3)", trials=1, more="retries: 0")
    house.run("tune", "study.yaml", "-q", code=1)
    assert "no trial of 'first' has reported loss yet" in house.run("run", code=1).stderr
    assert house.run("run", "--trial", 1, code=3)
    both = house.run("run", "--best", "--trial", 1, code=2).stderr
    assert "expected either --best or --trial" in both


def test_help_of_a_verb_that_there_is_not(house):
    done = house.run("tnue", "--help", code=2)
    assert "no verb 'tnue' (did you mean 'tune'?)" in done.stderr
    assert done.stdout == ""


def test_one_trial_is_stopped(house):
    script = """
import time, sluice
trial = sluice.trial()
for epoch in range(1, 10000):
    trial.report(epoch, loss=1)
    if trial.should_stop(): break
    time.sleep(0.02)
"""
    prepare(house, script, trials=2, more="parallelism: 2")
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: len({trial for trial, _, _ in house.reports()}) == 2, what="two trials")
    house.run("stop", "first", "--trial", 1)
    wait_until(lambda: house.states()[1] == "stopped", what="the first to be stopped")
    assert house.states()[2] == "running"
    assert "there is nothing to stop" in house.run("stop", "--trial", 1, code=1).stderr
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    house.run("stop", "--trial", 2)  # no controller runs the study
    assert house.states() == {1: "stopped", 2: "stopped"}
    assert trials(house, "note") == [("stopped by hand",)] * 2
    assert "has no trial 9" in house.run("stop", "--trial", 9, code=2).stderr


def test_check_takes_the_flag_that_it_advises(house):
    house.write("train.py", "import wandb\n")
    house.write(
        "sweep.yaml",
        "program: train.py\nmethod: random\nmetric: {name: l}\nparameters: {x: {min: 0, max: 1}}\n"
        f"command: [{python_program('')[2:].split(chr(34))[0]}, '${{program}}', '${{args}}']\n",
    )
    assert "--trials 24" in house.run("check", "sweep.yaml", code=2).stderr
    assert "24 trials" in house.run("check", "sweep.yaml", "--trials", 24).stdout


def test_check_does_not_warn_of_a_script_that_uses_the_package(house):
    prepare(house, READS_BY_PACKAGE, args=None)
    assert "warning" not in house.run("check", "study.yaml").stdout
    house.write("train.py", "print(1)\n")
    assert "no parameter is passed to it" in house.run("check", "study.yaml").stdout


PAUSED = """
import sluice
trial = sluice.trial()
sluice.report(1, loss=trial.params["x"])
trial.should_stop()
"""


def test_progress_counts_paused_trials_alike_everywhere(house):
    more = "stopper: asha-promotion\nbudget: {min: 1, max: 9}\nsampler: random"
    prepare(house, PAUSED, trials=4, more=more)
    done = house.run("tune", "study.yaml", "--plain")
    assert "4/4 trials (100%)" in done.stdout
    assert "4/4 trials (100%)" in house.run("status").stdout
    assert "4/4" in house.run("studies").stdout
    assert house.json("status")["trials"]["done"] == 4
    assert "paused" in house.states().values()


NETWORK = """
import json, sluice
trial = sluice.trial()
width = trial.params["width"]
latest = sluice.latest_checkpoint()
state = json.loads((latest / "state").read_text()) if latest else {"epoch": 0, "width": width}
if state["width"] != width:
    raise RuntimeError(f"size mismatch: {state['width']} saved, {width} wanted")
for epoch in range(state["epoch"] + 1, 9):
    with sluice.checkpoint(epoch) as folder:
        (folder / "state").write_text(json.dumps({"epoch": epoch, "width": width}))
    trial.report(epoch, loss=trial.params["lr"])
    if trial.should_stop():
        break
"""


def prepare_population(house, mutate=""):
    more = f"stopper: {{name: pbt, interval: 2{mutate}}}\nbudget: {{max: 8}}\nretries: 0"
    space = "{lr: {float: [0.01, 1]}, width: {int: [1, 1000]}}"
    prepare(house, NETWORK, trials=4, space=space, more=more + "\nsampler: random")


def test_forks_change_what_a_checkpoint_can_bear(house):
    prepare_population(house)
    told = house.run("check", "study.yaml").stdout
    assert "forks change floats alone, and keep width" in told
    assert "and change lr" in told
    house.run("tune", "study.yaml", "-q")
    assert "failed" not in house.states().values(), trials(house, "note")
    assert len(house.states()) > 4


def test_a_fork_that_cannot_load_its_checkpoint_is_named_as_that(house):
    prepare_population(house, ", mutate: [width]")
    house.run("tune", "study.yaml", "-q", check=False)
    notes = [note for (note,) in trials(house, "note")]
    named = [note for note in notes if "a fork that could not go on from trial" in note]
    assert named and all("size mismatch" in note for note in named), notes


def test_a_population_that_has_nothing_to_change_is_refused(house):
    prepare(house, NETWORK, space="{width: {int: [1, 9]}}", more="stopper: pbt\nbudget: {max: 8}")
    message = house.run("tune", "study.yaml", code=2).stderr
    assert "study.yaml:8: stopper: expected a parameter that forks may change" in message
    assert "mutate: [width]" in message


FALLS_BACK = """
import json, sluice
trial = sluice.trial()
for epoch in range(1, 6):
    loss = trial.params["x"] + abs(epoch - 3)
    if trial.number == 2: loss = 0.5 + epoch / 100
    trial.report(epoch, loss=loss)
    with trial.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    if trial.should_stop(): break
print("best", trial.best_checkpoint())
"""


def test_the_best_of_all_reports_counts_and_its_checkpoint_is_kept(house):
    prepare(house, FALLS_BACK, trials=3, more="enqueue: [{x: 0.1}]")
    house.run("tune", "study.yaml", "-q")
    best = house.json("best")
    assert (best["trial"], best["best_value"], best["best_work"]) == (1, 0.1, 3)
    assert pathlib.Path(best["best_checkpoint"], "epoch").read_text() == "3"
    assert pathlib.Path(best["checkpoint"], "latest", "epoch").read_text() == "5"
    assert f"of its best  {best['best_checkpoint']}" in house.run("best").stdout
    (size,) = house.query("SELECT saved_bytes FROM trials WHERE trial = 1")[0]
    assert size == 2 * len("5" + "5\n"), "both count in checkpoint_cap"
    assert house.json("check", "study.yaml")["of"] == "best"


def test_the_last_report_counts_where_that_is_wanted(house):
    prepare(house, FALLS_BACK, trials=3, more="enqueue: [{x: 0.1}]")
    edit(house, "{minimize: loss}", "{minimize: loss, of: last}")
    house.run("tune", "study.yaml", "-q")
    best = house.json("best")
    assert (best["trial"], best["best_value"], best["best_work"]) == (2, 0.55, 5)
    assert best["best_checkpoint"] is None
    assert [row["trial"] for row in house.json("trials", "--sort", "value")][0] == 2
    rows = list(csv.DictReader(house.run("export", "--format", "csv").stdout.splitlines()))
    assert all(row["value"] == row["best_value"] and row["best_work"] == "5" for row in rows)
    assert "as reported last" in house.run("check", "study.yaml").stdout
    house.run("doctor", "--replay", "first")
