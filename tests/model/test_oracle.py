"""For every network of the corpus, what Sluice finds agrees with what PyTorch and mup know."""

import pytest
from networks import NETWORKS
from oracle import SHRUNK_BY

TAKEN = [network for network in NETWORKS if not network.refused]
REFUSED = [network for network in NETWORKS if network.refused]


def by_name(network):
    return network.name


def told(differences):
    return "\n".join(differences)


@pytest.mark.parametrize("network", TAKEN, ids=by_name)
def test_a_step_of_the_graph_equals_a_step_of_the_module(case_of, network):
    case = case_of(network)
    assert not case.refusal
    assert not case.forward_differences, told(case.forward_differences)


@pytest.mark.parametrize("network", TAKEN, ids=by_name)
def test_widths_are_the_infinite_dimensions_of_mup(case_of, network):
    case = case_of(network)
    assert not case.refusal
    assert not case.mup_differences, told(case.mup_differences)


@pytest.mark.parametrize("network", TAKEN, ids=by_name)
def test_kinds_and_rates_follow_from_the_infinite_dimensions_of_mup(case_of, network):
    case = case_of(network)
    assert not case.refusal
    assert not case.rate_differences, told(case.rate_differences)


@pytest.mark.parametrize("network", TAKEN, ids=by_name)
def test_shrunk_shapes_are_those_of_the_narrower_module(case_of, network):
    case = case_of(network)
    assert not case.refusal
    for by in SHRUNK_BY:
        found = case.shape_differences[by]
        assert not found, f"shrunk by {by}:\n{told(found)}"


@pytest.mark.parametrize("network", TAKEN, ids=by_name)
def test_a_step_of_the_surrogate_equals_a_step_of_the_narrower_module(case_of, network):
    case = case_of(network)
    assert not case.refusal
    if network.baked:
        assert case.surrogate_differences
    else:
        assert not case.surrogate_differences, told(case.surrogate_differences)


@pytest.mark.parametrize("network", REFUSED, ids=by_name)
def test_what_cannot_be_taken_is_refused_in_words(case_of, network):
    assert network.refused in case_of(network).refusal
