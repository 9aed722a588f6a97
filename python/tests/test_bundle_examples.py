"""The examples that train a bundle: a trial's results do not depend on the trials beside it."""

import gzip
import os
from pathlib import Path

import pytest
from controller import Controller, Launch, member

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
TRIALS = range(7, 15)
COMPLETE = {"type": "stop", "why": "complete"}
LIMIT_S = 300


def numbered(home, number, params_of, **more):
    return member(home, number, seed=1000 + number, params=params_of(number), **more)


def script_of(example):
    path = str(EXAMPLES / example / "train.py")
    return f"import runpy; runpy.run_path({path!r}, None, '__main__')"


def run(home, example, params_of, most, verdicts, environment=None, **assign):
    """Has the example train TRIALS, at most `most` at the same time. Returns the controller."""
    home.mkdir(exist_ok=True)
    controller = Controller(home / "controller.sock", lease_ms=60_000)
    controller.most = most
    controller.verdicts = verdicts
    first, *controller.assignments = [
        numbered(home, number, params_of, **assign) for number in TRIALS
    ]
    process = Launch(home, controller, script_of(example), assign=first, **(environment or {}))
    try:
        process.end(limit_s=LIMIT_S)
    finally:
        process.kill()
        controller.go_away()
    return controller


def values(controller, metric, launch=1):
    """The reported values of the metric: (trial, work) -> value."""
    return {
        (trial, message["work"]): message["values"][metric]
        for (trial, number), results in controller.results.items()
        for message in results.values()
        if number == launch and message["type"] == "report"
    }


def numpy_params(number):
    return {"lr": 0.02 * (number - 6), "momentum": 0.1 * (number - 7), "decay": 1e-4}


def test_numpy_is_the_same_to_the_bit_in_every_bundle(tmp_path):
    runs = [
        values(
            run(tmp_path / str(most), "bundle-numpy", numpy_params, most, {3: COMPLETE}, target=3),
            "loss",
        )
        for most in (1, 3, 8)
    ]
    assert sorted(runs[0]) == [(trial, work) for trial in TRIALS for work in (1, 2, 3)]
    assert runs[0] == runs[1] == runs[2]
    assert len(set(runs[0].values())) == len(runs[0])


def test_numpy_goes_on_from_its_checkpoint(tmp_path):
    """Trials that are paused after two epochs get the same results as trials that are not."""
    whole = run(tmp_path / "whole", "bundle-numpy", numpy_params, 8, {4: COMPLETE}, target=4)
    home = tmp_path / "paused"
    paused = run(home, "bundle-numpy", numpy_params, 8, {2: {"type": "pause"}}, target=2)
    assert all(paused.kinds(trial)[-2:] == ["saved", "paused"] for trial in TRIALS)
    again = {"launch": 2, "work": 2, "target": 4}
    resumed = run(home, "bundle-numpy", numpy_params, 3, {4: COMPLETE}, **again)
    first_half, second_half = values(paused, "loss"), values(resumed, "loss", launch=2)
    assert {**first_half, **second_half} == values(whole, "loss")
    assert not first_half.keys() & second_half.keys()


def test_by_hand_numpy_trains_to_its_end(launch):
    lines = launch(script_of("bundle-numpy"), SLUICE_TRIAL_FILE="").end(limit_s=LIMIT_S)
    losses = [float(line.split("=")[1]) for line in lines]
    assert len(losses) == 27
    assert losses[-1] < losses[0] / 4


@pytest.fixture(scope="module")
def few_images(tmp_path_factory):
    """The first images of Fashion-MNIST."""
    folder = tmp_path_factory.mktemp("fashion")
    for name, count in (("train", 2560), ("t10k", 1000)):
        for kind, header, size in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
            file = f"{name}-{kind}-ubyte.gz"
            with gzip.open(DATA / file) as whole, gzip.open(folder / file, "wb", 1) as part:
                part.write(whole.read(header + count * size))
    return str(folder)


def torch_params(number):
    return {"lr": 0.02 * (number - 6), "momentum": 0.05 * (number - 7), "smoothing": 0.01}


def test_torch_is_nearly_the_same_in_every_bundle(tmp_path, few_images):
    """PyTorch may add up in another order. Then a few images may be classified differently."""
    runs = [
        values(
            run(
                tmp_path / str(most),
                "bundle-fashion",
                torch_params,
                most,
                {2: COMPLETE},
                {"FASHION_MNIST": few_images, "OMP_NUM_THREADS": "1"},
                target=2,
            ),
            "accuracy",
        )
        for most in (1, 3, 8)
    ]
    assert sorted(runs[0]) == [(trial, work) for trial in TRIALS for work in (1, 2)]
    for other in runs[1:]:
        assert other == pytest.approx(runs[0], abs=0.01)
    assert max(runs[0].values()) > 0.6
