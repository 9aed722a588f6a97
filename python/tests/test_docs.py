"""The examples of docs/python.md and docs/models.md run as they stand."""

import re
from pathlib import Path

import pytest
import torch
from checkpoints import write_checkpoint
from controller import run_outside
from torch import nn

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "python.md"


def examples_of(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


EXAMPLES = examples_of(PAGE)
MODELS = examples_of(DOCS / "models.md")


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, tmp_path):
    if "import torch" not in EXAMPLES[number]:
        run_outside(EXAMPLES[number])
        return
    # This one loads a trial's checkpoint.
    model = nn.Sequential(nn.Linear(28 * 28, 64), nn.ReLU(), nn.Linear(64, 10))
    with torch.no_grad():
        model[2].weight.zero_()
        model[2].bias.copy_(torch.arange(10).remainder(8))
    write_checkpoint(tmp_path / "trials/7/checkpoint/latest", model)
    assert run_outside(EXAMPLES[number], cwd=tmp_path, limit_s=120) == ["7"]


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_example_with_models(number, tmp_path):
    """These examples write files, and import PyTorch, which takes long."""
    run_outside(MODELS[number], cwd=tmp_path, limit_s=120)


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
    assert len(MODELS) >= 1


def test_every_public_name_is_described():
    import sluice

    for name in sluice.__all__:
        assert f"`sluice.{name}" in PAGE.read_text(), name
