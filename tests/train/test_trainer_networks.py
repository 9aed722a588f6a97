"""Every network of tests/model, trained in a bundle and by plain loops, as in test_trainer.py. It
takes many minutes, so it is run in `make soak` alone.

A module that draws numbers itself, or that turns numbers into float32, cannot be trained by a plain
loop in float64 that has the same draws. Its graph is trained instead, by walker.py."""

import copy
import os

import pytest
import torch
import walker
from draws import Drawing
from networks import NETWORKS
from sluice._safetensors import TensorFile
from test_networks import in_double, widened
from test_trainer import (
    BOUND,
    STEPS,
    as_default,
    double_of,
    drawn_bundle,
    exported,
    found_differences,
    too_different,
)
from trainer import DRAWN_PER_EPOCH, FORMS, difference, plain_loop, squares, train

TAKEN = [network for network in NETWORKS if not network.refused]
# What drops by a rate. Other operators that draw cannot be told not to.
RATES = {
    "dropout": "p", "alpha_dropout": "p", "feature_dropout": "p", "feature_alpha_dropout": "p",
    "lstm": "dropout", "gru": "dropout", "rnn_tanh": "dropout", "rnn_relu": "dropout",
    "scaled_dot_product_attention": "dropout_p",
}
DRAWING = ("rand", "randn", "bernoulli", "rrelu", "multinomial", "normal", "uniform")

pytestmark = [
    pytest.mark.skipif(not os.environ.get("SLUICE_SOAK"), reason="it takes many minutes"),
    pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*"),
]


@pytest.fixture(autouse=True)
def double():
    with as_default(torch.float64):
        yield


def operator_of(node):
    return node["op"].split(".")[1].strip("_")


def needs_walker(graph):
    return any(
        operator_of(node).startswith(DRAWING)
        or any(each["value"] == {"dtype": "float32"} for each in node["arguments"])
        for node in graph["nodes"])


def without_dropout(graph):
    graph = copy.deepcopy(graph)
    for node in graph["nodes"]:
        for argument in node["arguments"]:
            if RATES.get(operator_of(node)) == argument["name"]:
                argument["value"] = {"float": 0.0}
    return graph


def tensors_in(folder, graph):
    """The tensors of a checkpoint by name."""
    types = {each["name"]: each["dtype"] for each in graph["parameters"]}
    with TensorFile(folder / "model.safetensors") as file:
        tensors = {name: file.read(name) for name in file.tensors}
    return {name: torch.view_as_complex(tensor) if types[name].startswith("complex") else tensor
            for name, tensor in tensors.items()}


def walked_differences(case, bundle, trained):
    graph = without_dropout(in_double(case.graph))
    stored = {name: widened(tensor) for name, tensor in case._tensors.items()}
    found = {}
    for place, trial in enumerate(bundle.trials):
        state = walker.state_of(graph, {**stored, **tensors_in(trained.first(place), graph)})
        steps = iter(range(STEPS))

        def loss_of(inputs, _, state=state, seed=trial.seed, steps=steps):
            with Drawing(graph, seed, next(steps)):
                return squares(walker.run(graph, state, inputs))

        trained_tensors = [state[each["name"]] for each in graph["parameters"]
                           if each["trainable"] and each["tied_to"] is None]
        plain_loop(bundle, trial, trained, loss_of, trained_tensors, STEPS, DRAWN_PER_EPOCH)
        for name, tensor in tensors_in(trained.last(place), graph).items():
            found[place, name] = difference(tensor, state[name])
    return found


@pytest.mark.parametrize("place", range(len(TAKEN)), ids=lambda place: TAKEN[place].name)
def test_each_trial_is_a_plain_loop(case_of, tmp_path, place):
    network, form = TAKEN[place], list(FORMS)[place % len(FORMS)]
    case = exported(case_of, network)
    bundle = drawn_bundle(case.subject, network.name, form)
    bundle.trials = bundle.trials[place % 3::3]
    trained = train(bundle, STEPS, tmp_path / "trained")
    if needs_walker(case.graph):
        found = walked_differences(case, bundle, trained)
    else:
        found = found_differences(double_of(case), bundle, trained)
    assert not too_different(found, BOUND)
