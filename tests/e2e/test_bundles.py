"""Scripts with sluice.bundle(), run by the real binary."""

import json
import re
import shutil
import sys

import pytest
from house import ROOT, kill_if_alive, python_program, wait_until

STUDY = """
study: bundled
program: {program}
space: {{lr: {{float: [0.1, 0.9]}}}}
objective: {{minimize: loss}}
sampler: random
budget: {{min: 1, max: 4, unit: epoch}}
trials: 12
seed: 3
{more}
"""

# Trials report how many others were beside them at most.
SCRIPT = """
import sluice
epochs, beside = {}, {}
with sluice.bundle(capacity=4) as bundle:
    for step in bundle:
        for trial in step.left:
            if trial.should_save():
                with trial.checkpoint(epochs[trial]) as folder:
                    (folder / "epoch").write_text(str(epochs[trial]))
        for trial in step.joined:
            saved = trial.latest_checkpoint()
            epochs[trial] = int((saved / "epoch").read_text()) if saved else 0
        for trial in step.trials:
            epochs[trial] += 1
            beside[trial] = max(beside.get(trial, 0), len(step.trials))
            trial.set_attribute("beside", beside[trial])
            trial.report(epochs[trial], loss=trial.params["lr"] ** epochs[trial])
"""


def tune(house, more):
    script = house.write("trial.py", SCRIPT)
    house.write("study.yaml", STUDY.format(program=python_program(script), more=more))
    house.run("tune", "study.yaml", "-q", PYTHONPATH=str(ROOT / "python"))
    works = {}
    for trial, work, metrics in house.reports():
        works.setdefault(trial, []).append(work)
        assert metrics["loss"] > 0
    assert works == {trial: [1, 2, 3, 4] for trial in range(1, 13)}
    assert set(house.states().values()) == {"complete"}
    found = house.query("SELECT max(json_extract(attributes, '$.beside')) FROM trials")
    return found[0][0]


@pytest.mark.parametrize("policy", ["", "policy: fifo", "policy: confluence", "policy: hydro"])
def test_without_fuse_a_bundle_has_one_trial_at_a_time(house, policy):
    assert tune(house, policy) == 1


def test_with_fuse_a_bundle_has_several(house):
    assert 1 < tune(house, "policy: hydro\nfuse: 4") <= 4


def test_a_later_study_begins_with_what_the_program_measured(house):
    measured = "bundle.profile(trial, trials=4, work_per_second=7)"
    measures = f"        if step.joined:\n            {measured}\n"
    script = house.write("trial.py", SCRIPT + measures)
    text = STUDY.format(program=python_program(script), more="policy: hydro\nfuse: 4")
    house.write("study.yaml", text)
    python = {"PYTHONPATH": str(ROOT / "python")}
    first = house.run("tune", "study.yaml", **python)
    assert "has measured this program" not in first.stdout + first.stderr
    later = house.run("tune", "study.yaml", "--name", "later", **python)
    said = "study 'bundled' has measured this program: plans use its figures"
    assert said in later.stdout + later.stderr
    given = "SELECT body FROM events WHERE study = 2 AND kind = 'measurements_given'"
    [[body]] = house.query(given)
    [measured] = json.loads(body)["measured"]
    assert (measured["shape"], measured["trials"]) == ("later", 4)
    assert measured["work_per_second"] == 7
    house.run("doctor", "--replay", "later")
    house.write("other.py", script.read_text())
    house.write("study.yaml", text.replace("trial.py", "other.py"))
    other = house.run("tune", "study.yaml", "--name", "other", **python)
    assert "has measured this program" not in other.stdout + other.stderr


def prepare_example(house, name, changes):
    """Its study file is changed: (what to replace, by what)."""
    example = ROOT / "examples" / name
    shutil.copy(example / "train.py", house.folder / "train.py")
    study = (example / "study.yaml").read_text()
    program = ("program: python", f"program: {sys.executable}")
    for old, new in (*changes, program):
        study, count = re.subn(old, new, study)
        assert count == 1, old
    house.write("study.yaml", study)


def run_example(house, name, changes):
    """The reports of an example, after prepare_example(): (trial, work) -> metrics."""
    prepare_example(house, name, changes)
    house.run("tune", "study.yaml", "-q", seconds=600, PYTHONPATH=str(ROOT / "python"))
    return {(trial, work): metrics for trial, work, metrics in house.reports()}


SHORT = [("trials: 64", "trials: 12"), ("sampler: tpe", "sampler: random"), ("stopper: asha\n", "")]


def test_the_numpy_example_finds_the_same_with_and_without_bundles(house, tmp_path_factory):
    fused = run_example(house, "bundle-numpy", SHORT)
    other = type(house)(tmp_path_factory.mktemp("alone"))
    alone = run_example(other, "bundle-numpy", [*SHORT, ("fuse: 16\n", "")])
    other.close()
    assert len(fused) == 12 * 27
    assert fused == alone


@pytest.mark.parametrize("killed", ["bundle", "controller", "both"])
def test_whatever_is_killed_the_numpy_example_finds_the_same(house, tmp_path_factory, killed):
    other = type(house)(tmp_path_factory.mktemp("undisturbed"))
    undisturbed = run_example(other, "bundle-numpy", SHORT)
    other.close()
    prepare_example(house, "bundle-numpy", SHORT)
    slow = "for step in bundle:\n            __import__('time').sleep(0.02)"
    script = (house.folder / "train.py").read_text()
    house.write("train.py", script.replace("for step in bundle:", slow))
    tuning = house.start("tune", "study.yaml", "-q", PYTHONPATH=str(ROOT / "python"))
    for count in (30, 150):
        wait_until(lambda count=count: len(house.reports()) > count, what=f"{count} reports")
        if killed != "controller":
            for record in house.files.glob("studies/*/trials/*/launch-*/program"):
                kill_if_alive(record)
        if killed != "bundle":
            tuning.kill()
            tuning.communicate()
            words = ("resume", "bundle-numpy", "-q")
            tuning = house.start(*words, PYTHONPATH=str(ROOT / "python"))
    _, errors = tuning.communicate(timeout=120)
    assert tuning.returncode == 0, errors
    reports = house.reports()
    assert {(trial, work): metrics for trial, work, metrics in reports} == undisturbed
    assert len(reports) == len(undisturbed)


def test_the_torch_example_learns(house):
    reports = run_example(
        house,
        "bundle-fashion",
        [("trials: 64", "trials: 4"), ("max: 9", "max: 1"), ("min: 1, ", "")],
    )
    assert max(metrics["accuracy"] for metrics in reports.values()) > 0.7
