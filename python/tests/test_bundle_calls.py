"""Wrong calls of a bundle, and a bundle without a controller."""

import json

import pytest
from controller import member


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sluice.bundle(capacity=0)", "ValueError: capacity: expected a number from 1 to 4096"),
        ("sluice.bundle(capacity='4')", "TypeError: capacity: expected an integer, found '4'"),
        ("sluice.bundle(5000)", "ValueError: capacity: expected a number from 1 to 4096"),
        ("sluice.bundle(2)\nsluice.bundle(2)", "expected one bundle in a process"),
        ("sluice.report(1, a=1)\nsluice.bundle(2)", "expected before the first report"),
        ("for _ in sluice.trials(): sluice.bundle(2)", "not beside sluice.trials()"),
        ("sluice.bundle(2)\nlist(sluice.trials())", "this process has a bundle"),
        ("sluice.bundle(2)\nsluice.report(1, a=1)", "call the methods of its trials"),
        ("for step in sluice.bundle(2): pass", "expected `with sluice.bundle(...) as bundle:`"),
    ],
)
@pytest.mark.parametrize("is_by_hand", [False, True])
def test_wrong_calls(controller, launch, script, words, is_by_hand):
    environment = {"SLUICE_TRIAL_FILE": ""} if is_by_hand else {}
    process = launch(f"import sluice\n{script}", **environment)
    process.end(status=1)
    assert words in process.errors


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("trial.report(1, a=1)", "RuntimeError: trial 7 is over: it takes no more report"),
        ("trial.checkpoint(1).__enter__()", "RuntimeError: trial 7 is over: it takes no check"),
        ("bundle.finish(trial)", "RuntimeError: trial 7 has left the bundle already"),
        ("bundle.fail(trial, 'why')", "RuntimeError: trial 7 has left the bundle already"),
        ("bundle.fail(7, 'why')", "TypeError: trial: expected a trial of the bundle, found 7"),
        ("bundle.profile(trial, trials=1)", "RuntimeError: trial 7 has left the bundle already"),
    ],
)
def test_a_trial_that_has_left_takes_nothing_more(controller, launch, script, words):
    process = launch(
        f"""
import sluice
with sluice.bundle(2) as bundle:
    for step in bundle:
        [trial] = step.trials
        bundle.finish(trial)
        {script}
"""
    )
    process.end(status=1)
    assert words in process.errors


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("bundle.shrink(0)", "ValueError: capacity: expected a number from 1 to 4096, found 0"),
        ("bundle.shrink(3)", "ValueError: capacity: expected at most the present 2, found 3"),
        ("bundle.grow(1)", "ValueError: capacity: expected at least the present 2, found 1"),
        ("bundle.profile(trial, trials=0)", "trials: expected a number from 1 to 4096, found 0"),
        ("bundle.profile(trial, trials=1, bytes=-1)", "bytes: expected 0 <= bytes < 2**53"),
        ("bundle.profile(trial, trials=1, bytes=0.5)", "bytes: expected an integer, found 0.5"),
        (
            "bundle.profile(trial, trials=1, work_per_second=float('nan'))",
            "work_per_second: expected a finite number of at least 0, found nan",
        ),
        ("trial.report(1, a='b')", "a: expected a number, found 'b'"),
    ],
)
def test_wrong_arguments(controller, launch, script, words):
    process = launch(
        f"""
import sluice
with sluice.bundle(2) as bundle:
    for step in bundle:
        [trial] = step.trials
        {script}
"""
    )
    process.end(status=1)
    assert words in process.errors


def test_defaults_lie_under_the_parameters(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8, params={"momentum": 0.5})]
    process = launch(
        """
import sluice
with sluice.bundle(2, lr=1.0, momentum=0.9) as bundle:
    for step in bundle:
        for trial in step.joined:
            print(trial.params["lr"], trial.params["momentum"])
        if len(step.trials) == 2:
            break
"""
    )
    assert sorted(process.end()) == ["0.1 0.9", "1.0 0.5"]


BY_HAND = """
import sluice
with sluice.bundle(capacity=16, lr=0.1) as bundle:
    for step in bundle:
        for trial in step.joined:
            epoch = 0
            print(trial.params, trial.latest_checkpoint(), bundle.capacity)
        epoch += 1
        for trial in step.trials:
            trial.report(epoch, loss=1 / epoch)
            with trial.checkpoint(epoch) as folder:
                (folder / "epoch").write_text(str(epoch))
            bundle.profile(trial, trials=1)
            bundle.shrink(3)
            if epoch == 2:
                bundle.finish(trial)
print(json.dumps(step.changed))
"""


def test_by_hand_the_bundle_has_one_trial(launch):
    process = launch("import json" + BY_HAND, SLUICE_TRIAL_FILE="")
    assert process.end() == [
        "{'lr': 0.1} None 16",
        "epoch 1  loss=1",
        "epoch 2  loss=0.5",
        json.dumps(False),
    ]


def test_by_hand_an_error_of_a_trial_is_raised(launch):
    process = launch(
        """
import sluice
with sluice.bundle(capacity=16) as bundle:
    for step in bundle:
        bundle.fail(step.trials[0], ValueError("diverged"))
""",
        SLUICE_TRIAL_FILE="",
    )
    process.end(status=1)
    assert "ValueError: diverged" in process.errors


def test_another_rank_steps_on_until_it_is_told_to_stop(controller, launch):
    process = launch(
        """
import sluice
with sluice.bundle(capacity=16) as bundle:
    for number, step in enumerate(bundle):
        for trial in step.trials:
            trial.report(1, loss=1)
        if number == 3:
            break
print(number)
""",
        RANK="1",
    )
    assert process.end() == ["3"]
    assert controller.connections == 0
