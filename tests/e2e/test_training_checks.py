"""`sluice check` holds a study with `train` against its networks and its data: what would fail in
each trial, or change nothing in any, is found before the first one."""

import os
import subprocess
import sys

import pytest
from house import BINARIES, ROOT

numpy = pytest.importorskip("numpy")

needs_trainer = pytest.mark.skipif(
    not (BINARIES / "sluice-trainer").exists(),
    reason="sluice-trainer is not built: PyTorch was not found",
)

STUDY = """
study: checked
model: {network: "NETWORK", loss: cross_entropy}
data: {path: data}
train:
  optimizer: sgd
  lr: "{lr}"
  batch: BATCH
  MORE
space: {lr: {float: [1e-3, 0.1], log: true}}
objective: {minimize: loss}
budget: {max: 1}
trials: 2
"""
MLP = "zoo:mlp,in=6,hidden=8,layers=1,classes=3"
GPT = "zoo:gpt,vocab=8,tokens=6,width=8,layers=1,heads=2"

EXPORT = """
import sluice, torch
from torch import nn

class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x):
        return self.layer(x.view(8, 2, 3).flatten(1))

for name, layers in {
    "plain": [nn.Linear(6, 3)],
    "drops": [nn.Linear(6, 8), nn.Dropout(0.1), nn.Linear(8, 3), nn.Dropout(0)],
}.items():
    sluice.export(nn.Sequential(*layers), torch.randn(4, 6), name + ".pt2")
sluice.export(Fixed(), torch.randn(8, 6), "fixed.pt2", dynamic_batch=False)
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("archives")
    subprocess.run(
        [sys.executable, "-c", EXPORT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        check=True,
    )
    return folder


def write_part(house, part, examples, dtype="float32"):
    folder = house.folder / "data"
    folder.mkdir(exist_ok=True)
    random = numpy.random.default_rng(1)
    numpy.save(folder / f"{part}_inputs.npy", random.integers(0, 8, (examples, 6)).astype(dtype))
    numpy.save(folder / f"{part}_targets.npy", numpy.arange(examples) % 3)


def write_study(house, network, batch="16", more=""):
    text = STUDY.replace("NETWORK", str(network)).replace("BATCH", batch).replace("MORE", more)
    house.write("study.yaml", text)


def refused(house, *study):
    write_study(house, *study)
    done = house.run("check", "study.yaml", check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr.removeprefix("sluice: ")


def warnings(house, *study):
    write_study(house, *study)
    return house.json("check", "study.yaml")["warnings"]


def test_whole_numbers_are_for_networks_that_take_them(house):
    write_part(house, "val", 40, "int32")
    write_part(house, "train", 40, "int32")
    assert refused(house, MLP).startswith(
        f"study.yaml:4: data: expected floating-point inputs, as the network {MLP} takes them, "
        "found int64: save them with astype('float32')"
    )
    for dtype in ("float32", "uint8"):
        write_part(house, "val", 40, dtype)
        write_part(house, "train", 40, dtype)
        said = refused(house, GPT)
        assert said.startswith("study.yaml:4: data: expected whole numbers as inputs, as the")
        assert f"takes int64, found {dtype}, " in said and "astype('int64')" in said


def test_dropout_that_nothing_has_is_refused(house, archives):
    write_part(house, "train", 40)
    assert refused(house, MLP, "16", "dropout: 0.1").startswith(
        f"study.yaml:9: train.dropout: expected a network with dropout, found none in {MLP}"
    )
    said = refused(house, archives / "drops.pt2", "16", 'dropout: {"1": 0.1, "l.3": 0.2}')
    assert said.startswith("study.yaml:9: train.dropout.l.3: expected a module with dropout in ")
    assert "/drops.pt2, which are 1, 3, found 'l.3'" in said


@needs_trainer
def test_dropout_that_some_networks_have_is_noted(house, archives):
    write_part(house, "train", 40)
    for name in ("drops", "plain"):
        (house.folder / f"{name}.pt2").write_bytes((archives / f"{name}.pt2").read_bytes())
    found = warnings(house, "drops.pt2", "16", 'dropout: {"1": "{lr}", "3": 0}')
    assert not any("train.dropout" in warning for warning in found)
    write_study(house, "{net}.pt2", "16", "dropout: 0.1")
    text = (house.folder / "study.yaml").read_text()
    house.write("study.yaml", text.replace("space: {", "space: {net: {choice: [drops, plain]}, "))
    [found] = [
        warning
        for warning in house.json("check", "study.yaml")["warnings"]
        if "train.dropout" in warning
    ]
    assert found.endswith("it changes nothing in plain.pt2: there is no dropout for it")


@needs_trainer
def test_a_fixed_batch_is_kept_to(house, archives):
    fixed = archives / "fixed.pt2"
    write_part(house, "train", 40)
    write_part(house, "val", 21)
    said = refused(house, fixed)
    assert said.startswith("study.yaml:8: train.batch: expected 8, as the network ")
    assert "was exported with a batch of 8 (dynamic_batch=False), found 16" in said
    found = warnings(house, fixed, "8")
    assert sum("5 of the 21 examples for evaluation are left out" in each for each in found) == 1
    house.run("tune", "study.yaml", "-q")
    assert set(house.states().values()) == {"complete"}
    write_part(house, "val", 24)
    assert not any("left out" in each for each in warnings(house, fixed, "8"))
    write_part(house, "val", 7)
    assert "data: expected at least 8 examples to evaluate on, as" in refused(house, fixed, "8")
    write_part(house, "val", 8)
    write_part(house, "train", 7)
    assert "data: expected at least 8 examples to train on, as" in refused(house, fixed, "8")


@needs_trainer
def test_a_folder_gives_the_parts_that_are_not_named(house):
    write_part(house, "train", 40)
    write_part(house, "holdout", 30)
    write_part(house, "eval", 20)
    write_study(house, MLP)
    text = (house.folder / "study.yaml").read_text()
    files = "{inputs: data/holdout_inputs.npy, targets: data/holdout_targets.npy}"
    named = "{path: data, train: " + files + "}"
    house.write("study.yaml", text.replace("{path: data}", named))
    said = house.run("check", "study.yaml").stdout
    assert "30 training examples" in said and "evaluated on 20 for validation" in said
    house.write("study.yaml", text.replace("{path: data}", named.replace("data,", "study.yaml,")))
    said = house.run("check", "study.yaml", check=False).stderr
    assert "study.yaml:4: data.path: expected a folder beside 'train'" in said
