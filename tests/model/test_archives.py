"""Archives that sluice.export wrote with other versions of PyTorch."""

import json
import pathlib
import subprocess

import pytest
import torch
import walker
from oracle import SLUICE
from safetensors.torch import load_file

ARCHIVES = pathlib.Path(__file__).parent / "archives"


def told(verb, name, *options):
    command = [SLUICE, "model", verb, str(ARCHIVES / name), *options, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def shapes(surrogate):
    return {each["name"]: each["shape"] for each in surrogate["parameters"]}


# The archive states wrong shapes for the LSTM's last states. No node uses these states.
def test_an_lstm_of_2_11_is_read():
    graph = told("show", "lstm-torch-2.11.pt2")
    assert graph["made_by"].startswith("torch 2.11")
    assert [node["op"] for node in graph["nodes"]].count("aten.lstm.input") == 1
    before = {each["name"]: each["shape"] for each in graph["parameters"]}
    small = shapes(told("shrink", "lstm-torch-2.11.pt2", "--scale", "2", "--min-width", "1"))
    [name] = [each for each in before if each.endswith("weight_hh_l0")]
    assert small[name] == [size // 2 for size in before[name]]


@pytest.mark.parametrize("rule", ["mup", "spectral", "standard"])
def test_a_network_on_a_gpu_is_read(rule):
    words = "shrink", "cuda-torch-2.11.pt2", "--scale", "4", "--rule", rule
    assert shapes(told(*words))["0.weight"] == [16, 6]


def test_a_network_of_2_12_computes_what_it_did_there():
    """Attention, a tied table, batch norm, a region without gradients, and a loss."""
    graph = told("show", "attention-torch-2.12.pt2")
    assert graph["made_by"].startswith("torch 2.12")
    tensors = torch.export.load(ARCHIVES / "attention-torch-2.12.pt2").state_dict
    examples = load_file(ARCHIVES / "attention-torch-2.12.pt2.examples")
    inputs = [examples["input.0"], examples["input.1"]]
    [loss] = walker.run(graph, walker.state_of(graph, tensors), inputs)
    torch.testing.assert_close(loss, examples["output.0"])
    small = shapes(told("shrink", "attention-torch-2.12.pt2", "--scale", "2", "--min-width", "1"))
    assert small["qkv.weight"] == [24, 8] and small["table.weight"] == [11, 8]
