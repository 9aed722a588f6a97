"""Every network of the zoo equals that of PyTorch, torchvision, timm or transformers."""

import pytest
import torch
import transformers
from oracle import SHRUNK_BY
from zoo import ZOO, usual_options

STEPPING = [network for network in ZOO if network.steps]


def by_name(network):
    return network.name


def told(differences):
    return "\n".join(differences)


def test_every_network_is_here_as_it_is_by_default_and_as_one_that_steps():
    names = list(usual_options())
    assert names == list(dict.fromkeys(network.name.partition(",")[0] for network in ZOO))
    assert set(names) <= {network.name for network in ZOO}
    assert set(names) == {network.name.partition(",")[0] for network in STEPPING}


def test_the_usual_activation_of_gpt_is_the_operator_that_stands_for_it():
    assert transformers.GPT2Config().activation_function == "gelu_new"
    x = torch.linspace(-8, 8, 1001, dtype=torch.float64)
    functions = transformers.activations.ACT2FN
    ours, usual = functions["gelu_pytorch_tanh"], functions["gelu_new"]
    torch.testing.assert_close(ours(x), usual(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("network", ZOO, ids=by_name)
def test_tensors_are_those_of_the_module(zoo_case_of, network):
    case = zoo_case_of(network)
    assert not case.refusal
    assert not case.tensor_differences, told(case.tensor_differences)


@pytest.mark.parametrize("network", ZOO, ids=by_name)
def test_tensors_are_drawn_by_their_fan_in(zoo_case_of, network):
    case = zoo_case_of(network)
    assert not case.law_differences, told(case.law_differences)


@pytest.mark.parametrize(
    "network", [network for network in STEPPING if not network.wide], ids=by_name
)
def test_a_step_of_the_graph_equals_a_step_of_the_module(zoo_case_of, network):
    case = zoo_case_of(network)
    assert not case.forward_differences, told(case.forward_differences)


@pytest.mark.parametrize("network", ZOO, ids=by_name)
def test_widths_are_the_infinite_dimensions_of_mup(zoo_case_of, network):
    case = zoo_case_of(network)
    assert not case.mup_differences, told(case.mup_differences)


@pytest.mark.parametrize("network", ZOO, ids=by_name)
def test_kinds_and_rates_follow_from_the_infinite_dimensions_of_mup(zoo_case_of, network):
    case = zoo_case_of(network)
    assert not case.rate_differences, told(case.rate_differences)


@pytest.mark.parametrize("network", ZOO, ids=by_name)
def test_shrunk_shapes_are_those_of_the_narrower_module(zoo_case_of, network):
    case = zoo_case_of(network)
    assert case.even == network.even
    for by in SHRUNK_BY:
        found = case.shape_differences[by]
        assert not found, f"shrunk by {by}:\n{told(found)}"


@pytest.mark.parametrize("network", STEPPING, ids=by_name)
def test_a_step_of_the_surrogate_equals_a_step_of_the_narrower_module(zoo_case_of, network):
    case = zoo_case_of(network)
    assert not case.surrogate_differences, told(case.surrogate_differences)
