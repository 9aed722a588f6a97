"""sluice.load takes what a study has trained, from the folder that `sluice best` names."""

import pathlib
import sys

import pytest
from house import BINARIES, ROOT

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "python"))
import sluice  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (BINARIES / "sluice-trainer").exists(),
    reason="sluice-trainer is not built: PyTorch was not found",
)

STUDY = """
study: digits
model: {network: "zoo:mlp,in=64,hidden=16,layers=1", loss: cross_entropy}
data: {path: data}
train: {optimizer: sgd, lr: "{lr}", momentum: 0.9, batch: 16, precision: float64}
space: {lr: {float: [1e-3, 0.1], log: true}}
objective: {minimize: loss}
sampler: random
budget: {max: 3}
trials: 3
seed: 5
"""


class Mlp(torch.nn.Module):
    """The network of the study, with the names of its parameters."""

    def __init__(self, hidden=16):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(64, hidden)])
        self.head = torch.nn.Linear(hidden, 10)

    def forward(self, x):
        return self.head(self.layers[0](x).relu())


def write_data(folder):
    folder.mkdir()
    generator = numpy.random.default_rng(0)
    centres, parts = generator.normal(size=(10, 64)), {}
    for part, examples in (("train", 320), ("val", 100)):
        targets = generator.integers(0, 10, examples)
        inputs = (centres[targets] + generator.normal(size=(examples, 64))).astype("float32")
        numpy.save(folder / f"{part}_inputs.npy", inputs)
        numpy.save(folder / f"{part}_targets.npy", targets)
        parts[part] = torch.from_numpy(inputs).double(), torch.from_numpy(targets)
    return parts["val"]


def test_the_best_trial_is_loaded_from_the_folder_that_is_named(house):
    inputs, targets = write_data(house.folder / "data")
    house.write("study.yaml", STUDY)
    house.run("tune", "study.yaml", "-q")
    best = house.json("best", "digits")
    folder = pathlib.Path(best["checkpoint"])
    module = sluice.load(Mlp().double(), folder)
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(module(inputs), targets).item()
    last = max((work, metrics) for trial, work, metrics in house.reports()
               if trial == best["trial"])
    assert loss == pytest.approx(last[1]["loss"], rel=1e-9)
    with pytest.raises(sluice.LoadError, match="head.weight: the module has float32"):
        sluice.load(Mlp(hidden=8), folder)
