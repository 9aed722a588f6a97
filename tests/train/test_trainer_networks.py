"""Every network of tests/model, trained in a bundle and by plain loops, as in test_trainer.py. It
takes many minutes, so it is run in `make soak` alone.

A module that draws numbers itself, or that turns numbers into float32, cannot be trained by a plain
loop in float64 that has the same draws. Its graph is trained instead, by walker.py."""

import os

import pytest
import torch
from networks import NETWORKS
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
from trainer import FORMS, graph_without_dropout, operator_of, train, walked

TAKEN = [network for network in NETWORKS if not network.refused]
DRAWING = ("rand", "randn", "bernoulli", "rrelu", "multinomial", "normal", "uniform")

pytestmark = [
    pytest.mark.skipif(not os.environ.get("SLUICE_SOAK"), reason="it takes many minutes"),
    pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*"),
]


@pytest.fixture(autouse=True)
def double():
    with as_default(torch.float64):
        yield


def needs_walker(graph):
    return any(
        operator_of(node).startswith(DRAWING)
        or any(each["value"] == {"dtype": "float32"} for each in node["arguments"])
        for node in graph["nodes"])


def walked_differences(case, bundle, trained):
    graph = graph_without_dropout(in_double(case.graph))
    stored = {name: widened(tensor) for name, tensor in case._tensors.items()}
    return {
        (place, name): difference for place in range(len(bundle.trials))
        for name, difference in walked(graph, bundle, place, trained, stored).items()
    }


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
