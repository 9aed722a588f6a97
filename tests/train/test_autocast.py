"""Networks of the zoo under autocast: a step of several trials at once is as near to the exact step
as PyTorch's own is for each trial.

Both round the same numbers to bfloat16, but may add up in another order. Two roundings of one
number are at most as far apart as both are from it. So ours may be off by twice what PyTorch is
off, and by one rounding of the result.
"""

import json
import subprocess

import driver
import pytest
import torch
import walker
from draws import Drawing
from oracle import SEED, SLUICE
from test_networks import difference, in_double

NETWORKS = [
    "mlp,in=12,hidden=8",
    "lenet",
    "resnet18",
    "mobilenetv3",
    "vit-tiny,classes=10,image=32,patch=8,width=24,layers=2",
    "dcgan-generator,latent=6,width=4",
    "lstm-lm,vocab=30,tokens=5,width=8,hidden=8,layers=2",
    "transformer-lm,vocab=30,tokens=6,width=8,hidden=16,layers=2",
    "gpt,vocab=30,tokens=6,width=8,layers=2,heads=2",
    "pythia-14m,vocab=30,tokens=6,width=16,layers=2,heads=2",
    "bert-tiny,vocab=30,tokens=6,positions=8,width=8,layers=2,heads=2",
]
TRIALS = 2
BATCH = 4
ROUNDING = 2.0**-8


def graph_of(network):
    ran = subprocess.run(
        [SLUICE, "model", "show", f"zoo:{network}", "--json"],
        capture_output=True, text=True, timeout=60, check=True)
    return json.loads(ran.stdout)


def tensors_of(graph, generator):
    """Every parameter by its law, and buffers that a network may start with."""
    tensors = {}
    for each in graph["parameters"]:
        law, dtype = each["law"], getattr(torch, each["dtype"])
        if not dtype.is_floating_point:
            tensors[each["name"]] = torch.full(each["shape"], int(law["mean"]), dtype=dtype)
            continue
        noise = torch.randn(each["shape"], generator=generator)
        tensor = noise * (law["deviation"] or 0.05) + law["mean"]
        tensors[each["name"]] = tensor if each["role"] == "parameter" else tensor.abs()
    return tensors


def inputs_of(graph, generator):
    inputs = []
    for each in graph["inputs"]:
        shape = [BATCH if size == "batch" else int(size) for size in each["shape"]]
        inputs.append(torch.randint(0, 2, shape, generator=generator)
                      if each["dtype"] == "int64" else torch.randn(shape, generator=generator))
    return inputs


def stepped(graph, state, inputs, seed):
    """Outputs and gradients of PyTorch, as they are set up when this is called."""
    state = walker.state_of(graph, state)
    with Drawing(graph, seed):
        outputs = walker.run(graph, state, [each.clone() for each in inputs])
    with torch.autocast("cpu", enabled=False):
        measure = sum(each.double().square().mean() for each in outputs)
        trained = {each["name"]: state[each["name"]] for each in graph["parameters"]
                   if each["trainable"] and each["tied_to"] is None}
        found = torch.autograd.grad(measure, list(trained.values()), allow_unused=True)
    return outputs, dict(zip(trained, found, strict=True))


def exactly(graph, state, inputs, seed):
    def wide(tensor):
        return tensor.double() if tensor.is_floating_point() else tensor

    torch.set_default_dtype(torch.float64)
    try:
        return stepped(in_double(graph), {name: wide(each) for name, each in state.items()},
                       [wide(each) for each in inputs], seed)
    finally:
        torch.set_default_dtype(torch.float32)


def too_far(what, ours, theirs, exact):
    if ours.dtype != theirs.dtype:
        return [f"{what}: expected {theirs.dtype}, found {ours.dtype}"]
    off, allowed = difference(ours.double(), exact), difference(theirs.double(), exact)
    if off <= 2 * allowed + ROUNDING:
        return []
    return [f"{what}: is off by {off:.3g}, PyTorch's by {allowed:.3g}"]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda text: text.partition(",")[0])
def test_a_step_is_as_exact_as_pytorch_under_autocast(network, tmp_path):
    graph = graph_of(network)
    generator = torch.Generator().manual_seed(SEED)
    states = [tensors_of(graph, generator) for _ in range(TRIALS)]
    for each in graph["parameters"]:
        for state in states:
            # Buffers do not differ unless they are written.
            if each["tied_to"] is not None or not each["trainable"]:
                source = each["tied_to"] or each["name"]
                state[each["name"]] = (state if each["tied_to"] else states[0])[source]
    inputs = inputs_of(graph, generator)
    seeds = [SEED + trial for trial in range(TRIALS)]
    stacked = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    results = driver.run(f"zoo:{network}", seeds, inputs, stacked, tmp_path, autocast="bfloat16")
    found = []
    for trial, state in enumerate(states):
        exact = exactly(graph, state, inputs, seeds[trial])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            theirs = stepped(graph, state, inputs, seeds[trial])
        for place, output in enumerate(theirs[0]):
            found += too_far(f"trial {trial}: output {place}", results.outputs[place][trial],
                             output, exact[0][place])
        for name, gradient in theirs[1].items():
            if gradient is not None:
                assert results.gradients[name].dtype == torch.float32
                found += too_far(f"trial {trial}: gradient of {name}",
                                 results.gradients[name][trial], gradient, exact[1][name])
    assert not found, "\n".join(found)
