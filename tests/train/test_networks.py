"""Every network of tests/model: a step of several trials at once is a step of PyTorch for each."""

import copy
import math
import os

import driver
import pytest
import torch
import walker
from draws import Drawing
from networks import NETWORKS
from oracle import SEED, inputs_of
from writing_networks import NETWORKS as WRITING

TAKEN = [network for network in NETWORKS if not network.refused]
if not os.environ.get("SLUICE_SOAK"):
    TAKEN = TAKEN[::2]  # each one is exported, which takes longest
TAKEN += WRITING
TRIALS = 3
BOUND = 1e-10
# Of real numbers alone; complex ones as they are.
WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def widened(tensor):
    return tensor.detach().clone().to(WIDER.get(tensor.dtype, tensor.dtype))


def in_double(graph):
    """The graph with float64 where it names float32, as a program in double precision takes it."""
    graph = copy.deepcopy(graph)
    for node in graph["nodes"]:
        for argument in node["arguments"]:
            if argument["value"] == {"dtype": "float32"}:
                argument["value"] = {"dtype": "float64"}
    return graph


def trials_of(graph, tensors):
    """A state for each trial: parameters differ, buffers do not."""
    generator = torch.Generator().manual_seed(SEED)
    states = []
    for trial in range(TRIALS):
        state = {}
        for each in graph["parameters"]:
            if each["tied_to"] is not None:
                continue
            tensor = widened(tensors[each["name"]])
            if trial and each["trainable"] and tensor.is_floating_point():
                noise = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
                tensor = tensor * (1 + noise / 10)
            state[each["name"]] = tensor
        for each in graph["parameters"]:
            if each["tied_to"] is not None:
                state[each["name"]] = state[each["tied_to"]]
        states.append(state)
    return states


def expected(graph, state, inputs, seed):
    """Outputs, gradients and state after a step, by walker.py."""
    state = walker.state_of(graph, state)
    with Drawing(graph, seed):
        outputs = walker.run(graph, state, [each.clone() for each in inputs])
    measure = sum(each.square().mean() for each in outputs if each.is_floating_point())
    trained = {
        each["name"]: state[each["name"]] for each in graph["parameters"]
        if each["trainable"] and each["tied_to"] is None
    }
    found = torch.autograd.grad(measure, list(trained.values()), allow_unused=True)
    return outputs, dict(zip(trained, found, strict=True)), state


def difference(ours, theirs):
    if ours.shape != theirs.shape:
        return math.inf
    if ours.dtype != theirs.dtype:
        return math.inf
    ours, theirs = (
        (torch.view_as_real(each) if each.is_complex() else each).detach().double()
        for each in (ours, theirs)
    )
    if theirs.numel() == 0:
        return 0.0
    if not torch.equal(ours.isfinite(), theirs.isfinite()):
        return math.inf
    ours, theirs = ours.nan_to_num(0, 0, 0), theirs.nan_to_num(0, 0, 0)
    size = max(theirs.norm().item(), math.sqrt(theirs.numel()) / 10)
    return (ours - theirs).norm().item() / size


def differences(results, trial, outputs, gradients, state):
    found = []

    def hold(what, ours, theirs):
        by = difference(ours, theirs)
        if by > BOUND:
            found.append(f"trial {trial}: {what}: differs by {by:.3g}")

    if len(results.outputs) != len(outputs):
        return [f"expected {len(outputs)} outputs, found {len(results.outputs)}"]
    for place, (ours, theirs) in enumerate(zip(results.outputs, outputs, strict=True)):
        hold(f"output {place}", ours[trial], theirs)
    for name, theirs in gradients.items():
        ours = results.gradients.get(name)
        if ours is None or theirs is None:
            # A gradient of zeros may be none.
            other = theirs if ours is None else ours[trial]
            if other is not None and other.abs().max() > 0:
                found.append(f"trial {trial}: gradient of {name}: one has none")
            continue
        hold(f"gradient of {name}", ours[trial], theirs)
    for name, ours in results.written.items():
        hold(f"buffer {name}", ours[trial], state[name])
    return found


@pytest.mark.parametrize("network", TAKEN, ids=lambda network: network.name)
def test_trials_at_once_are_each_as_in_pytorch(case_of, network, tmp_path):
    torch.set_default_dtype(torch.float32)  # it is exported as users do
    case = case_of(network)
    assert not case.refusal, case.refusal
    tensors = case._tensors
    given = inputs_of(network, network.batch)
    torch.set_default_dtype(torch.float64)
    graph = in_double(case.graph)
    states = trials_of(graph, tensors)
    inputs = [widened(each) for each in given]
    seeds = [SEED + trial for trial in range(TRIALS)]
    stacked = {name: torch.stack([state[name] for state in states]) for name in states[0]}
    results = driver.run(case.subject, seeds, inputs, stacked, tmp_path)
    found = []
    for trial in range(TRIALS):
        found += differences(
            results, trial, *expected(graph, states[trial], inputs, seeds[trial]))
    assert not found, "\n".join(found)
    first = {name: tensor[:1] for name, tensor in stacked.items()}
    alone = driver.run(case.subject, seeds[:1], inputs, first, tmp_path)
    found = differences(alone, 0, *expected(graph, states[0], inputs, seeds[0]))
    assert not found, "alone:\n" + "\n".join(found)
