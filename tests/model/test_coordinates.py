"""Coordinate checks: after the first steps of training, the values in a surrogate are as large as
those in the network itself, whatever the scale.

This is necessary for hyperparameters to carry over, but not sufficient. bench/transfer.py shows by
training whether they do.
"""

import json
import math
import statistics
import subprocess

import pytest
import torch
import training
import walker
from oracle import SLUICE

SCALES = (1, 2, 4, 8)
STEPS = 3
SEEDS = 3
BATCH = 4
RATES = {"adam": 2**-8, "sgd": 2**-4}
# The largest exponent with which sizes may follow the scale. If a table is also the readout, the
# logits begin larger in narrow networks, because the table cannot begin at 0.
MOST = 0.2
MOST_IF_TIED = 0.35

NETWORKS = {
    "mlp": "zoo:mlp,in=16,hidden=512,layers=3",
    "resnet": "zoo:resnet18,image=8",
    "vit": "zoo:vit-tiny,image=8,patch=4,classes=10,width=512,layers=2,heads=8",
    "gpt": "zoo:gpt,vocab=64,tokens=4,width=512,layers=2,heads=8,dropout=no",
    "lstm": "zoo:lstm-lm,vocab=64,tokens=4,width=256,hidden=512,layers=2",
    "transformer": "zoo:transformer-lm,vocab=64,tokens=4,width=512,heads=8,hidden=512,layers=2",
}


def shrunk(network, scale, rule):
    words = ["model", "shrink", network, "--scale", str(scale), "--min-width", "1", "--rule", rule]
    told = subprocess.run([SLUICE, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


def batch_for(graph, seed):
    generator = torch.Generator().manual_seed(seed)
    [each] = graph["inputs"]
    shape = [BATCH, *(int(size) for size in each["shape"][1:])]
    if each["dtype"] == "int64":
        inputs = torch.randint(64, shape, generator=generator)
        return [inputs], torch.randint(64, shape, generator=generator)
    inputs = torch.randn(shape, generator=generator)
    return [inputs], torch.randint(10, (BATCH,), generator=generator)


def sizes_after_training(surrogate, optimizer, lr, seed):
    """The mean absolute value of what each node computes after a few steps on one batch."""
    graph = surrogate["graph"]
    state = training.draw(graph, seed)
    inputs, targets = batch_for(graph, seed)
    torch.manual_seed(seed)  # for dropout
    training.train(surrogate, state, optimizer, lr, [(inputs, targets)] * STEPS)
    values = {}
    with torch.no_grad():
        walker.run(graph, state, inputs, values)
    return {
        name: value.abs().mean().item() for name, value in values.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }


def exponents(network, rule, optimizer):
    """For each value of the network, how its size follows the scale: size ~ scale^exponent."""
    found = []
    for scale in SCALES:
        surrogate = shrunk(network, scale, rule)
        held = {each["value"] for each in surrogate["graph"]["parameters"]}
        runs = [
            sizes_after_training(surrogate, optimizer, RATES[optimizer], seed)
            for seed in range(SEEDS)
        ]
        found.append({
            name: math.log(statistics.fmean(run[name] for run in runs) + 1e-12)
            for name in runs[0] if name not in held and "_scaled_" not in name
        })
    names = set.intersection(*(set(each) for each in found))
    assert len(names) > 5
    scales = [math.log(scale) for scale in SCALES]
    return {
        name: statistics.linear_regression(scales, [each[name] for each in found]).slope
        for name in names
    }


@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_do_not_follow_the_scale(name, optimizer):
    most = MOST_IF_TIED if name == "gpt" else MOST
    found = exponents(NETWORKS[name], "mup", optimizer)
    assert {name: slope for name, slope in found.items() if abs(slope) > most} == {}


def test_without_the_rule_they_do():
    assert min(exponents(NETWORKS["mlp"], "standard", "adam").values()) < -0.5
