import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from house import House  # noqa: E402


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    yield house
    house.close()
