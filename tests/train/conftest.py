import pathlib
import sys

import pytest
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "model")]

from oracle import Case  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def case_of(tmp_path_factory):
    """The case of a network of tests/model, exported once."""
    folder, cases = tmp_path_factory.mktemp("models"), {}

    def find(network):
        if network.name not in cases:
            cases[network.name] = Case(network, folder)
        return cases[network.name]

    return find
