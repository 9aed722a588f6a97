"""The graph of `sluice model show --evaluation` computes what module.eval() does."""

import json
import os

import modes
import pytest
import torch
import torch.nn.functional as F
import walker
from networks import NETWORKS
from oracle import OTHER_BATCH, SEED, differing, gradients, inputs_of, leaves, tensors_of

TAKEN = [network for network in NETWORKS if not network.refused]
if not os.environ.get("SLUICE_SOAK"):
    TAKEN = TAKEN[::2]
TAKEN += modes.NETWORKS

# Networks whose evaluation is not in the graph of training, and why.
DIFFERS = {
    "stochastic-depth": "Python leaves the random mask out if self.training is false",
    "auxiliary-output": "Python returns a second output only if self.training is true",
    "own-norm": "Python takes other statistics if self.training is false",
}

# Networks whose code drops elements without looking at self.training. So module.eval() drops them
# too, and the graph does not. Without dropout in Python, the two are equal.
DROPS_IN_EVAL = {
    "albert", "attention-fused-slices", "attention-grouped-expand", "attention-grouped-interleave",
    "attention-head-list", "attention-multi-query", "attention-one-head", "attention-separate",
    "cross-attention", "perceiver",
}

# Networks whose evaluation still draws numbers or writes a buffer: words of the notes.
NOTED = {
    "convnext": [f"(aten.rand.default in 'block{place}') draws numbers" for place in (1, 2)],
    "last-mean": ["(aten.mul_.Tensor) writes 'mean', which is read afterwards",
                  "(aten.add_.Tensor) writes 'mean', which is read afterwards"],
    "stochastic-depth": ["(aten.rand.default) draws numbers in evaluation as in training"],
    "own-norm": [],
    "variational": ["(aten.randn_like.default) draws numbers in evaluation as in training"],
}

STEP = 0.02  # of a step of training, against the norm of each parameter


def evaluation_of(case):
    run = case.run("show", "--evaluation")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def trained(case):
    """The module after a step of training: running statistics are no longer the first ones."""
    module = case.build(1)
    parameters = {
        name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad
    }
    torch.manual_seed(SEED)
    outputs = leaves(module(*inputs_of(case.network, case.network.batch)))
    slopes = gradients(outputs, parameters)
    with torch.no_grad():
        for name, tensor in parameters.items():
            slope = slopes[name]
            if slope is not None and slope.norm() > 0:
                tensor -= slope * (STEP * max(tensor.norm().item(), 1) / slope.norm())
    return module


def differences(case, graph):
    module = trained(case)
    state = {**case._tensors, **tensors_of(module)}
    module.eval()
    found = []
    for batch in (case.network.batch, OTHER_BATCH):
        # Before the module runs: it may write its buffers.
        held = walker.state_of(graph, state)
        inputs = inputs_of(case.network, batch)
        torch.manual_seed(SEED)
        theirs = leaves(module(*inputs))
        torch.manual_seed(SEED)
        ours = walker.run(graph, held, inputs)
        if len(ours) != len(theirs):
            return [f"batch {batch}: expected {len(theirs)} outputs, found {len(ours)}"]
        for place, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
            found += [f"batch {batch}: {each}" for each in differing(f"output {place}", mine, its)]
    return found


def by_name(network):
    return network.name


@pytest.fixture
def undropped(monkeypatch):
    """Functions of PyTorch that drop elements do not."""
    attend = F.scaled_dot_product_attention

    def attend_to_all(*arguments, dropout_p=0.0, **keywords):
        return attend(*arguments, **keywords)

    monkeypatch.setattr(F, "dropout", lambda x, *_, **__: x)
    monkeypatch.setattr(F, "scaled_dot_product_attention", attend_to_all)


@pytest.mark.parametrize("network", TAKEN, ids=by_name)
def test_evaluation_is_that_of_the_module(case_of, network, request):
    case = case_of(network)
    assert not case.refusal, case.refusal
    graph = evaluation_of(case)
    found = differences(case, graph)
    if network.name in DIFFERS:
        assert found, f"it is listed, because {DIFFERS[network.name]}; but nothing differs"
    elif network.name in DROPS_IN_EVAL:
        assert found, "it is listed, because module.eval() drops elements; but nothing differs"
        request.getfixturevalue("undropped")
        found = differences(case, graph)
        assert not found, "\n".join(found)
    else:
        assert not found, "\n".join(found)
    names = [[each["name"] for each in made["parameters"]] for made in (graph, case.graph)]
    assert names[0] == names[1]
    notes = graph["notes"][len(case.graph["notes"]):]
    expected = NOTED.get(network.name, [])
    assert len(notes) == len(expected), notes
    assert all(words in note for words, note in zip(expected, notes, strict=True)), notes
