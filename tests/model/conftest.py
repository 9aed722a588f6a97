import functools
import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from oracle import Case  # noqa: E402
from zoo_case import ZooCase  # noqa: E402

torch.set_num_threads(1)  # the networks are small


@pytest.fixture(scope="session")
def case_of(tmp_path_factory):
    """The case of a network, made once."""
    folder, cases = tmp_path_factory.mktemp("models"), {}

    def find(network):
        if network.name not in cases:
            cases[network.name] = Case(network, folder)
        return cases[network.name]

    return find


@pytest.fixture(scope="session")
def zoo_case_of():
    """The case of a network of the zoo, made once."""
    return functools.cache(ZooCase)
